package main

import (
	"bytes"
	"context"
	"embed"
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
		ctx: context.Background(), key: s.key, opened: time.Now(), sent: make(map[string]creation),
	}
	var err error
	s.fetcher, err = aicontent.NewClient(client.BaseURL(), "none", aicontent.WithUserAgent(userAgent),
		aicontent.WithInsecureHTTP(), aicontent.WithHTTPClient(&http.Client{Transport: s.publicTransport()}))
	if err != nil {
		return nil, err
	}
	s.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"contains":        strings.Contains,
		"recordPath":      recordPath,
		"pictureSource":   s.pictureSource,
		"recordingSource": s.recordingSource,
		"resolutions":     aicontent.Resolutions,
		"styles":          aicontent.Styles,
		"mediums":         aicontent.Mediums,
		"filters":         aicontent.Filters,
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

//go:embed web
var web embed.FS

// view is the data of a page.
type view struct {
	Title    string // empty for the name of the record
	Path     string // of the address
	Notice   string // what was just done
	Problem  *problem
	InMemory bool
	List     string // query of the list that the page of a record was reached from
	Back     string // address of that list
	MaxBytes int64  // of an upload
	Data     any
}

// Wrong returns what is wrong with a field of the form, or nil.
func (v view) Wrong(field string) *aicontent.FieldProblem {
	if v.Problem == nil || v.Problem.Fields[field] == "" {
		return nil
	}
	return &aicontent.FieldProblem{Field: field, Reason: v.Problem.Fields[field]}
}

// notices are the messages that a redirect can ask for.
var notices = map[string]string{
	"created": "Here it is.",
	"saved":   "Saved.",
	"deleted": "Deleted.",
}

func (s *server) render(w http.ResponseWriter, r *http.Request, page string, v view) {
	v.Path, v.Notice = r.URL.Path, notices[r.URL.Query().Get("done")]
	v.InMemory, v.MaxBytes = s.inMemory, s.maxUpload
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, page+".html", v); err != nil {
		s.log.Error("render", "page", page, "error", err)
		http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.Problem != nil {
		w.WriteHeader(v.Problem.Status)
	}
	w.Write(out.Bytes())
}

// fail renders a page that shows only the problem.
func (s *server) fail(w http.ResponseWriter, r *http.Request, p problem) {
	s.render(w, r, "problem", view{Title: p.Title, Problem: &p})
}
