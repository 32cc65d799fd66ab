package aicontenttest

import (
	"encoding/json"
	"slices"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// AddImage adds an image, or replaces the one with its ID, and returns it. The service assigns a missing ID and a
// missing CreatedAt, and ignores Result, URL and UpdatedAt. An undocumented value ends the test, unless the server is
// [Lenient] or [Allow] names its field.
func (s *Server) AddImage(i aicontent.Image) aicontent.Image {
	return add[aicontent.Image](s, s.service.Images, i.ID, i.Favorite, i.CreatedAt, map[string]string{
		"name": i.Name, "description": i.Description, "resolution": string(i.Resolution),
		"style": string(i.Style), "medium": string(i.Medium), "filter": string(i.Filter),
	})
}

// AddTranscription is [Server.AddImage] for transcriptions. It keeps the Result.
func (s *Server) AddTranscription(t aicontent.Transcription) aicontent.Transcription {
	return add[aicontent.Transcription](s, s.service.Transcriptions, t.ID, t.Favorite, t.CreatedAt, map[string]string{
		"name": t.Name, "description": t.Description, "language": string(t.Language), "result": t.Result,
	})
}

func add[T any](
	s *Server, c *service.Collection, id aicontent.ID, favorite bool, created time.Time, text map[string]string,
) T {
	for _, f := range c.Store {
		value := text[f.Name]
		known := value == "" || f.Kind != contract.Choice || slices.Contains(f.Values, value)
		if !known && !s.config.service.Lenient && !s.config.service.Allowed[f.Name] {
			s.fatalf("added record: unknown %s %q; Allow(%[1]q) permits it", f.Name, value)
		}
	}
	r := c.Add(service.Record{ID: string(id), Favorite: favorite, CreatedAt: created, Text: text})
	s.book.created(c, r, nil)
	return received[T](s, c)(r)
}

// Images returns the current images, oldest first. Their descriptions are set on every server.
func (s *Server) Images() []aicontent.Image {
	return service.All(s.service.Images, received[aicontent.Image](s, s.service.Images))
}

// Transcriptions returns the current transcriptions, oldest first. Their descriptions and languages are set on every
// server. [Server.Records] has their files.
func (s *Server) Transcriptions() []aicontent.Transcription {
	return service.All(s.service.Transcriptions, received[aicontent.Transcription](s, s.service.Transcriptions))
}

// received returns a function that returns a record as a client receives it, with all members.
func received[T any](s *Server, c *service.Collection) func(*service.Record) T {
	w := s.responses
	w.Style = response.Style{Full: true, Newer: w.Style.Newer}
	return func(r *service.Record) (record T) {
		if err := json.Unmarshal(w.Record(c, r), &record); err != nil {
			panic("aicontenttest: " + err.Error())
		}
		return record
	}
}
