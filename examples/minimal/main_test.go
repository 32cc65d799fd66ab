package main

import (
	"log"
	"os"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

func Example() {
	withURL := aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		url := "https://pictures.example.com/" + r.Request.Form.Get("resolution") + ".png"
		r.SetJSON(map[string]any{"data": map[string]any{"id": r.Request.RecordID, "url": url}})
	})
	srv, err := aicontenttest.Start(aicontenttest.BasePath("/tenant"), withURL)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	os.Setenv("AICONTENT_BASE_URL", srv.URL)
	os.Setenv("AICONTENT_API_KEY", srv.APIKey)
	main()
	// Output: 1 https://pictures.example.com/1024x1024.png
}
