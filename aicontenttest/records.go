package aicontenttest

import (
	"slices"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// An Image is a record of the images collection. Some personalities send only part.
type Image struct {
	// ID is assigned by the service if empty.
	ID          string
	Name        string
	Description string
	Resolution  string
	Style       string
	Medium      string
	Filter      string
	Quality     string // only with [NewerValues]
	Favorite    bool
	// CreatedAt is the current time if zero.
	CreatedAt time.Time
}

// A Transcription is a record of the transcriptions collection.
type Transcription struct {
	// ID is assigned by the service if empty.
	ID          string
	Name        string
	Description string
	Language    string
	Result      string
	Favorite    bool
	// Upload is the file; zero for a record added by [Server.AddTranscription].
	Upload Upload
	// CreatedAt is the current time if zero.
	CreatedAt time.Time
}

// An Upload describes a received file.
type Upload struct {
	Name        string `json:"name"`         // as sent, with its path
	ContentType string `json:"content_type"` // of the part
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"` // in hex
	Format      string `json:"format"` // MP3, MP4, MPEG, WAV or WebM; empty for any other
	Data        []byte `json:"-"`      // only with [KeepUploads]
}

// AddImage adds an image, or replaces the one with its ID, and returns it. An undocumented value ends the test, unless
// the server is [Lenient] or [Allow] names its field.
func (s *Server) AddImage(i Image) Image {
	return imageOf(s.add(s.service.Images, service.Record{
		ID: i.ID, Favorite: i.Favorite, CreatedAt: i.CreatedAt,
		Text: map[string]string{
			"name": i.Name, "description": i.Description, "resolution": i.Resolution,
			"style": i.Style, "medium": i.Medium, "filter": i.Filter, "quality": i.Quality,
		},
	}))
}

// AddTranscription is [Server.AddImage] for transcriptions.
func (s *Server) AddTranscription(t Transcription) Transcription {
	return transcriptionOf(s.add(s.service.Transcriptions, service.Record{
		ID: t.ID, Favorite: t.Favorite, Upload: service.Upload(t.Upload), CreatedAt: t.CreatedAt,
		Text: map[string]string{
			"name": t.Name, "description": t.Description, "language": t.Language, "result": t.Result,
		},
	}))
}

func (s *Server) add(c *service.Collection, r service.Record) *service.Record {
	for _, f := range c.Store {
		value := r.Text[f.Name]
		known := value == "" || f.Kind != contract.Choice || slices.Contains(f.Values, value)
		if !known && !s.config.service.Lenient && !s.config.service.Allowed[f.Name] {
			s.fatalf("added record: unknown %s %q; Allow(%[1]q) permits it", f.Name, value)
		}
	}
	added := c.Add(r)
	s.book.created(c, added, 0)
	return added
}

// Images returns the current images, oldest first.
func (s *Server) Images() []Image { return service.All(s.service.Images, imageOf) }

// Transcriptions returns the current transcriptions, oldest first.
func (s *Server) Transcriptions() []Transcription {
	return service.All(s.service.Transcriptions, transcriptionOf)
}

func imageOf(r *service.Record) Image {
	return Image{
		ID: r.ID, Name: r.Text["name"], Description: r.Text["description"], Resolution: r.Text["resolution"],
		Style: r.Text["style"], Medium: r.Text["medium"], Filter: r.Text["filter"], Quality: r.Text["quality"],
		Favorite: r.Favorite, CreatedAt: r.CreatedAt,
	}
}

func transcriptionOf(r *service.Record) Transcription {
	return Transcription{
		ID: r.ID, Name: r.Text["name"], Description: r.Text["description"], Language: r.Text["language"],
		Result: r.Text["result"], Favorite: r.Favorite, Upload: Upload(r.Upload), CreatedAt: r.CreatedAt,
	}
}
