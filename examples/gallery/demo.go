package main

import (
	"fmt"
	"os"
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
	moments := []struct{ name, description, style, medium, filter string }{
		{"at noon", "in bright sun, under a high sky", "pop_art", "acrylic", ""},
		{"in the fog", "in thick fog, hardly to be seen", "sketch", "charcoal", "grayscale"},
		{"in winter", "under the first snow", "illustration", "watercolor", ""},
		{"at night", "lit by the moon alone", "vaporwave", "spray_paint", ""},
		{"in spring", "among flowering trees", "origami", "pastel", ""},
		{"at dusk", "in the last light of the day", "retro", "canvas", ""},
		{"remembered", "as on an old postcard", "photography", "", "sepia"},
	}
	for n := range len(places) * len(moments) {
		place, moment := places[n%len(places)], moments[n%len(moments)]
		made := time.Now().Add(time.Duration(n-len(places)*len(moments)) * time.Hour)
		service.AddImage(aicontenttest.Image{
			Name:        place + " " + moment.name,
			Description: fmt.Sprintf("%s, %s", place, moment.description),
			Resolution:  "512x512", Style: moment.style, Medium: moment.medium, Filter: moment.filter,
			Favorite: n%5 == 0, CreatedAt: made, UpdatedAt: made,
		})
	}
	for _, recording := range []aicontenttest.Transcription{{
		Name: "Interview with the keeper", Description: "On the balcony, with wind", Language: "GB", Favorite: true,
		Result: "I came here in the autumn of eighty-one, for one winter, they said. The light was turned by hand " +
			"then, and you had to wind it every three hours, all night. You get used to sleeping in pieces.",
	}, {
		Name: "Harbor master, morning notice", Language: "GB",
		Result: "Wind south-west, five to six, rising in the afternoon. Berths four and five are closed.",
	}, {
		Name:   "Note to self",
		Result: "Ask about the second staircase. The drawing shows it, and nobody remembers it.",
	}} {
		service.AddTranscription(recording)
	}
}
