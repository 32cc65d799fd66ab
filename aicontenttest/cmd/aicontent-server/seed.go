package main

import (
	"fmt"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

var places = []string{
	"a lighthouse at dusk", "a harbor in the morning", "old roofs in the rain", "a forest after the storm",
	"a station at night", "terraces above the sea", "a frozen river",
}

// seed adds n images, in all styles, and n transcriptions.
func seed(srv *aicontenttest.Server, n int) {
	styles, mediums, resolutions := aicontent.Styles(), aicontent.Mediums(), aicontent.Resolutions()
	for i := range n {
		place := places[i%len(places)]
		srv.AddImage(aicontent.Image{
			Name: fmt.Sprintf("Picture %d, %s", i+1, place), Description: fmt.Sprintf("%s, number %d", place, i+1),
			Resolution: resolutions[i%len(resolutions)], Style: styles[i%len(styles)],
			Medium: mediums[i%len(mediums)], Favorite: i%5 == 0,
		})
		srv.AddTranscription(aicontent.Transcription{
			Name: fmt.Sprintf("Recording %d", i+1), Language: "GB",
			Result: "We met at " + place + ".", Favorite: i%5 == 0,
		})
	}
}
