package main

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
)

// server is the gallery. The API key stays in its client: browsers never see it.
type server struct {
	client    *aicontent.Client
	log       *slog.Logger
	host      string // the name that browsers use, beside localhost and IP addresses
	maxUpload int64  // bytes of an upload
	inMemory  bool   // the service is the one in memory

	templates  map[string]*template.Template
	forms      sentForms
	uploads    uploads
	pictureKey []byte // signs the addresses of pictures
}

func newServer(client *aicontent.Client, log *slog.Logger) *server {
	s := &server{client: client, log: log, maxUpload: 1 << 30, pictureKey: make([]byte, 32)}
	rand.Read(s.pictureKey)
	s.templates = parseTemplates(template.FuncMap{
		"picturePath":   picturePath,
		"recordingPath": recordingPath,
		"pictureSource": s.pictureSource,
		"resolutions":   aicontent.Resolutions,
		"styles":        aicontent.Styles,
		"mediums":       aicontent.Mediums,
		"filters":       aicontent.Filters,
		"newForm":       rand.Text,
	})
	return s
}

//go:embed web
var web embed.FS

// parseTemplates parses each page together with the layout around it.
func parseTemplates(funcs template.FuncMap) map[string]*template.Template {
	layout := template.Must(template.New("").Funcs(funcs).ParseFS(web, "web/layout.html"))
	templates := make(map[string]*template.Template)
	pages, err := fs.Glob(web, "web/pages/*.html")
	if err != nil {
		panic(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(path.Base(page), ".html")
		templates[name] = template.Must(template.Must(layout.Clone()).ParseFS(web, page))
	}
	return templates
}

func (s *server) handler() http.Handler {
	static, err := fs.Sub(web, "web/static")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/pictures", http.StatusFound))
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	mux.HandleFunc("GET /pictures", s.listPictures)
	mux.HandleFunc("GET /new-picture", s.newPicture)
	mux.HandleFunc("POST /new-picture", s.makePicture)
	mux.HandleFunc("GET /picture-file", s.pictureFile)
	mux.HandleFunc("GET /pictures/{id}", s.showPicture)
	mux.HandleFunc("POST /pictures/{id}", s.changePicture)
	mux.HandleFunc("POST /pictures/{id}/delete", s.deletePicture)
	mux.HandleFunc("GET /recordings", s.listRecordings)
	mux.HandleFunc("GET /new-recording", s.newRecording)
	mux.HandleFunc("POST /new-recording", s.makeRecording)
	mux.HandleFunc("GET /upload-progress", s.uploadProgress)
	mux.HandleFunc("GET /recordings/{id}", s.showRecording)
	mux.HandleFunc("POST /recordings/{id}", s.changeRecording)
	mux.HandleFunc("POST /recordings/{id}/delete", s.deleteRecording)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, problem{
			Status: http.StatusNotFound, Title: "There is no such page", Advice: "Check the address, or start from the pictures.",
		})
	})

	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, problem{
			Status: http.StatusForbidden, Title: "Another site tried to use the gallery",
			Advice: "Nothing was done. Open the gallery itself and press the button there.",
		})
	}))
	return s.guard(crossOrigin.Handler(mux))
}

// guard sets the headers that confine a page to the gallery, and refuses host names that it does not know: any site
// can point its name at this address, and would then count as the same origin.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; "+
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		// Not no-referrer, with which a form is sent with the origin "null".
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.knownHost(r.Host) {
			http.Error(w, "The gallery does not go by this name: see its flag -host.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) knownHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	_, err = netip.ParseAddr(host)
	return err == nil || host == "localhost" || s.host != "" && strings.EqualFold(host, s.host)
}

// view is what a page is rendered from.
type view struct {
	Title    string
	Section  string // picture or recording: which collection the page belongs to
	Notice   string // what was just done
	Problem  *problem
	InMemory bool
	Data     any
}

// Wrong returns what is wrong with a field of the form, or nil.
func (v view) Wrong(field string) *aicontent.FieldProblem {
	if v.Problem == nil || v.Problem.Fields[field] == "" {
		return nil
	}
	return &aicontent.FieldProblem{Field: field, Reason: v.Problem.Fields[field]}
}

// notices are shown after a redirect, which names one of them.
var notices = map[string]string{
	"made":    "Here it is.",
	"saved":   "Saved.",
	"deleted": "Deleted.",
}

func (s *server) render(w http.ResponseWriter, r *http.Request, page string, v view) {
	for _, section := range []string{"picture", "recording"} {
		if strings.Contains(r.URL.Path, section) {
			v.Section = section
		}
	}
	v.Notice = notices[r.URL.Query().Get("done")]
	v.InMemory = s.inMemory
	var out bytes.Buffer
	if err := s.templates[page].ExecuteTemplate(&out, "layout", v); err != nil {
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

// fail shows a page with nothing but the problem.
func (s *server) fail(w http.ResponseWriter, r *http.Request, p problem) {
	s.render(w, r, "problem", view{Title: p.Title, Problem: &p})
}

// maxForm bounds a form without a file. A day of speech is less than a million characters.
const maxForm = 4 << 20

// readForm reads a form without a file into r.PostForm, or shows why it cannot.
func (s *server) readForm(w http.ResponseWriter, r *http.Request) bool {
	controller := http.NewResponseController(w)
	controller.SetReadDeadline(time.Now().Add(time.Minute))
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, s.explain(r, errors.Join(errMalformedForm, err), changing))
		return false
	}
	controller.SetReadDeadline(time.Time{})
	return true
}

// posted returns a pointer to a field of the form, nil where the form has no such field.
func posted(form url.Values, field string) *string {
	if !form.Has(field) {
		return nil
	}
	return aicontent.Ptr(form.Get(field))
}

// postedFavorite is posted for the button that marks favorites.
func postedFavorite(form url.Values) *bool {
	if !form.Has("favorite") {
		return nil
	}
	return aicontent.Ptr(form.Get("favorite") == "1")
}
