package main

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/aicontent/aicontent-go"
)

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

// view is the data of a page.
type view struct {
	Title    string // empty for the name of the record
	Section  string // the collection that the page belongs to: picture or recording
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
	if v.Problem == nil {
		return nil
	}
	i := slices.IndexFunc(v.Problem.Fields, func(p aicontent.FieldProblem) bool { return p.Field == field })
	if i < 0 {
		return nil
	}
	return &v.Problem.Fields[i]
}

// notices are the messages that a redirect can ask for.
var notices = map[string]string{
	"created": "Here it is.",
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
	v.InMemory, v.MaxBytes = s.inMemory, s.maxUpload
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

// fail renders a page that shows only the problem.
func (s *server) fail(w http.ResponseWriter, r *http.Request, p problem) {
	s.render(w, r, "problem", view{Title: p.Title, Problem: &p})
}
