package main

import (
	"os"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// connect returns a client of the deployment named by the environment. If there is none, it starts the service in
// memory, which the caller must close.
func connect() (*aicontent.Client, *aicontenttest.Server, error) {
	if os.Getenv("AICONTENT_BASE_URL") != "" || os.Getenv("AICONTENT_API_KEY") != "" {
		client, err := aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-gallery"))
		return client, nil, err
	}
	// It reads uploads slowly, so that their progress can be seen.
	service, err := aicontenttest.Start(aicontenttest.FullRecords, aicontenttest.SlowUpload(4<<20))
	if err != nil {
		return nil, nil, err
	}
	addDemo(service)
	return service.Client(), service, nil
}

// addDemo adds enough records for more than one page.
func addDemo(service *aicontenttest.Server) {
	places := []string{"Lighthouse", "Harbor", "Pine forest", "Salt marsh", "Old town", "High pasture"}
	styles, mediums := aicontent.Styles(), aicontent.Mediums()
	const pictures = 42
	for n := range pictures {
		place, style := places[n%len(places)], styles[n%len(styles)]
		made := time.Now().Add(time.Duration(n-pictures) * time.Hour)
		service.AddImage(aicontenttest.Image{
			Name: place + ", " + strings.ToLower(style.Label()), Description: place + " in the evening",
			Resolution: "512x512", Style: string(style), Medium: string(mediums[n%len(mediums)]),
			Favorite: n%5 == 0, CreatedAt: made, UpdatedAt: made,
		})
	}
	for name, result := range map[string]string{
		"Interview with the keeper": "I came here in the autumn of eighty-one, for one winter, they said. The light " +
			"was turned by hand then, and you had to wind it every three hours. You get used to sleeping in pieces.",
		"Harbor master, morning notice": "Wind south-west, five to six, rising in the afternoon. Berths four and " +
			"five are closed.",
	} {
		service.AddTranscription(aicontenttest.Transcription{Name: name, Language: "GB", Result: result})
	}
}
