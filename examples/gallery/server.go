package main

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"golang.org/x/sync/singleflight"
)

// server is the gallery. The API key stays in its client; browsers never see it.
type server struct {
	client    *aicontent.Client
	names     *once.Client // which knows the keys of forms in the ledger
	ledger    once.Ledger
	opts      []once.Option
	log       *slog.Logger
	creating  context.Context // of create requests, which a visitor who leaves does not end
	host      string          // host name that browsers may use besides localhost and IP addresses; may be empty
	maxUpload int64           // limit of an upload, in bytes
	templates *template.Template
	presses   singleflight.Group // of buttons that create, by collection and token
}

// maxPause limits how long a visitor waits for the record of an earlier request. Pressed again, the button goes on
// looking.
const maxPause = 30 * time.Second

// newServer returns a gallery that remembers its forms in the ledger.
func newServer(client *aicontent.Client, ledger once.Ledger, log *slog.Logger, opts ...once.Option) (*server, error) {
	opts = append([]once.Option{once.WithLogger(log), once.WithMaxWait(maxPause)}, opts...)
	names, err := once.New(client, ledger, opts...)
	if err != nil {
		return nil, err
	}
	s := &server{
		client: client, names: names, ledger: ledger, opts: opts, log: log, creating: context.Background(),
		maxUpload: 1 << 30,
	}
	s.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"contains":    strings.Contains,
		"title":       title,
		"recordPath":  recordPath,
		"resolutions": aicontent.Resolutions,
		"styles":      aicontent.Styles,
		"mediums":     aicontent.Mediums,
		"filters":     aicontent.Filters,
	}).ParseFS(web, "web/layout.html", "web/pages/*.html"))
	return s, nil
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/pictures", http.StatusFound))
	mux.HandleFunc("GET /static/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, web, "web/static/"+r.PathValue("file"))
	})
	s.addPictures(mux)
	s.addRecordings(mux)
	return s.guard(mux)
}

//go:embed web
var web embed.FS

// view is the data of a page.
type view struct {
	Title    string // empty for the name of the record
	Path     string // of the address
	Notice   string // of the last action; may be empty
	Problem  *problem
	Action   string // address of the form that creates, with its token
	MaxBytes int64  // of that form
	Data     any
}

// notices are the messages that a redirect can ask for.
var notices = map[string]string{
	"created": "Here it is.",
	"found":   "This form was sent before. Here is what it created.",
	"saved":   "Saved.",
	"deleted": "Deleted.",
}

func (s *server) render(w http.ResponseWriter, r *http.Request, page string, v view) {
	v.Path, v.Notice = r.URL.Path, notices[r.URL.Query().Get("done")]
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
func (s *server) fail(w http.ResponseWriter, r *http.Request, p *problem) {
	s.render(w, r, "problem", view{Title: p.Title, Problem: p})
}

// guard refuses requests from other sites and sets the headers that keep foreign content out of the pages. It also
// refuses unknown host names: any site can point its name at this address, and would then count as the same origin.
func (s *server) guard(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self' https: http:; style-src 'self'; "+
			"script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		// With no-referrer, browsers would send forms with the origin "null".
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		// The end of the program aborts uploads.
		defer context.AfterFunc(r.Context(), func() { http.NewResponseController(w).SetReadDeadline(time.Now()) })()
		if s.knownHost(r.Host) {
			next.ServeHTTP(w, r)
		} else {
			http.Error(w, "The gallery does not use this name: see its flag -host.", http.StatusMisdirectedRequest)
		}
	})
}

func (s *server) knownHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	_, err = netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") || s.host != "" && strings.EqualFold(host, s.host)
}
