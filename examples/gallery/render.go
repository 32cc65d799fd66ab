package main

import (
	"bytes"
	"embed"
	"net/http"

	"github.com/aicontent/aicontent-go"
)

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
