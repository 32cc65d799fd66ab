package main

import (
	"crypto/rand"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/aicontent/aicontent-go"
)

// server is the gallery. The API key stays in its client; browsers never see it.
type server struct {
	client    *aicontent.Client
	log       *slog.Logger
	host      string // host name that browsers may use besides localhost and IP addresses; may be empty
	maxUpload int64  // limit of an upload, in bytes
	inMemory  bool   // whether the service runs in memory

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
	mux.HandleFunc("POST /new-picture", s.createPicture)
	mux.HandleFunc("GET /picture-file", s.pictureFile)
	mux.HandleFunc("GET /pictures/{id}", s.showPicture)
	mux.HandleFunc("POST /pictures/{id}", s.updatePicture)
	mux.HandleFunc("POST /pictures/{id}/delete", s.deletePicture)
	mux.HandleFunc("GET /recordings", s.listRecordings)
	mux.HandleFunc("GET /new-recording", s.newRecording)
	mux.HandleFunc("POST /new-recording", s.createRecording)
	mux.HandleFunc("GET /upload-progress", s.uploadProgress)
	mux.HandleFunc("GET /recordings/{id}", s.showRecording)
	mux.HandleFunc("POST /recordings/{id}", s.updateRecording)
	mux.HandleFunc("POST /recordings/{id}/delete", s.deleteRecording)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, problem{
			Status: http.StatusNotFound, Title: "There is no such page", Advice: "Check the address, or start from the pictures.",
		})
	})

	return s.guard(mux)
}
