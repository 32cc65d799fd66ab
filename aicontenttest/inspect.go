package aicontenttest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/mask"
)

// inspectPath is below the base path.
const inspectPath = "/inspect"

// Inspect serves [Server.Records], [Server.Requests] and [Server.Violations] as JSON at GET URL/inspect, without a key,
// for tests in other languages. It masks API keys and does not record these requests.
//
//	{
//	  "records": [{
//	    "collection": "images", "id": "1", "name": "Whale", "request": 1,
//	    "deleted": true, "deleted_by": 2
//	  }],
//	  "requests": [{
//	    "number": 1, "connection": 1, "operation": "images.store", "method": "POST", "path": "/api/v1/images",
//	    "query": {}, "header": {"Accept": ["application/json"]},
//	    "form": {"name": ["Whale"], "description": ["A whale"], "resolution": ["256x256"]}, "file": null,
//	    "received": 52, "fault": "lose-response", "acted": true, "record_id": "1", "status": 0, "responded": false
//	  }],
//	  "violations": [{
//	    "rule": "value", "request": 3, "line": "GET /api/v1/images?style=baroque",
//	    "field": "style", "value": "baroque"
//	  }]
//	}
//
// The members are the fields of [Request], [Record] and [Violation], and always present. A file has the members name,
// content_type, size, sha256, format and seconds.
func Inspect() Option {
	return optionFunc(func(c *config) { c.inspect = true })
}

type inspection struct {
	Records    []Record           `json:"records"`
	Requests   []inspectedRequest `json:"requests"`
	Violations []Violation        `json:"violations"`
}

type inspectedRequest struct {
	Request
	File *inspectedFile `json:"file"` // instead of the request's
}

type inspectedFile struct {
	Upload
	Seconds float64 `json:"seconds"`
}

// serveInspection serves the path of Inspect. It reports whether the request was for this path.
func (s *Server) serveInspection(w http.ResponseWriter, r *http.Request, path string) bool {
	if !s.config.inspect || path != inspectPath || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	body, err := json.Marshal(s.inspect())
	if err != nil {
		panic("aicontenttest: Inspect: " + err.Error()) // impossible for plain data
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
	return true
}

func (s *Server) inspect() inspection {
	hide := mask.New(slices.Concat(s.keys()...)...)
	seen := inspection{Records: s.Records(), Requests: []inspectedRequest{}, Violations: []Violation{}}
	for i, r := range seen.Records {
		seen.Records[i].ID, seen.Records[i].Name = hide.Text(r.ID), hide.Text(r.Name)
	}
	for _, r := range s.Requests() {
		r.Path, r.RecordID = hide.Text(r.Path), hide.Text(r.RecordID)
		r.Query, r.Header, r.Form = hide.Values(r.Query), hide.Values(r.Header), hide.Values(r.Form)
		request := inspectedRequest{Request: r}
		if f := r.File; f != nil {
			f.Name, f.ContentType = hide.Text(f.Name), hide.Text(f.ContentType)
			request.File = &inspectedFile{Upload: *f, Seconds: f.Duration.Seconds()}
		}
		seen.Requests = append(seen.Requests, request)
	}
	for _, v := range s.Violations() {
		v.Line, v.Field, v.Value = hide.Text(v.Line), hide.Text(v.Field), hide.Text(v.Value)
		seen.Violations = append(seen.Violations, v)
	}
	return seen
}
