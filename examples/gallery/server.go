package main

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

// server is the gallery. The API key stays in its client; browsers never see it.
type server struct {
	client    *aicontent.Client
	fetcher   *aicontent.Client // of pictures; it has no API key
	log       *slog.Logger
	host      string         // host name that browsers may use besides localhost and IP addresses; may be empty
	maxUpload int64          // limit of an upload, in bytes
	inMemory  bool           // whether the service runs in memory
	private   []netip.Prefix // networks that are not public, from which pictures may come

	templates *template.Template
	key       signingKey
	forms     *sentForms
}

func newServer(client *aicontent.Client, log *slog.Logger) (*server, error) {
	s := &server{client: client, log: log, maxUpload: 1 << 30, key: newSigningKey()}
	s.forms = &sentForms{
		ctx: context.Background(), key: s.key, opened: time.Now(), sent: make(map[string]*creation),
	}
	var err error
	s.fetcher, err = aicontent.NewClient(client.BaseURL(), "none", aicontent.WithUserAgent(userAgent),
		aicontent.WithInsecureHTTP(), aicontent.WithHTTPClient(&http.Client{Transport: s.publicTransport()}))
	if err != nil {
		return nil, err
	}
	s.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"contains":      strings.Contains,
		"recordPath":    recordPath,
		"pictureSource": s.pictureSource,
		"resolutions":   aicontent.Resolutions,
		"styles":        aicontent.Styles,
		"mediums":       aicontent.Mediums,
		"filters":       aicontent.Filters,
	}).ParseFS(web, "web/layout.html", "web/pages/*.html"))
	return s, nil
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/pictures", http.StatusFound))
	mux.HandleFunc("GET /static/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/static/"+r.PathValue("file"))
	})
	s.pictures().addTo(mux)
	mux.HandleFunc("GET /picture-file", s.pictureFile)
	s.recordings().addTo(mux)
	mux.HandleFunc("POST /check-recording", s.checkRecording)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, problem{
			Status: http.StatusNotFound, Title: "There is no such page",
			Advice: "Check the address, or start from the pictures.",
		})
	})
	return s.guard(mux)
}
