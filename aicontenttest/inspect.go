package aicontenttest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/mask"
)

// inspectPath is below the base path.
const inspectPath = "/inspect"

// Inspect serves [Server.Records], [Server.Requests] and [Server.Violations] as JSON to GET URL/inspect, without a key,
// for tests in other languages. API keys in it are replaced by ***. Such requests are not recorded themselves.
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
// Lists are in the order of [Server.Requests] and [Server.Records]; the members mean what the fields of [Request],
// [Record] and [Violation] mean, and none is ever missing. A file has the members name, content_type, size, sha256,
// format and seconds.
func Inspect() Option {
	return optionFunc(func(c *config) { c.inspect = true })
}

type inspection struct {
	Records    []inspectedRecord    `json:"records"`
	Requests   []inspectedRequest   `json:"requests"`
	Violations []inspectedViolation `json:"violations"`
}

type inspectedRecord struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Name       string `json:"name"`
	Request    int    `json:"request"`
	Deleted    bool   `json:"deleted"`
	DeletedBy  int    `json:"deleted_by"`
}

type inspectedRequest struct {
	Number     int                 `json:"number"`
	Connection int                 `json:"connection"`
	Operation  Operation           `json:"operation"`
	Method     string              `json:"method"`
	Path       string              `json:"path"`
	Query      map[string][]string `json:"query"`
	Header     map[string][]string `json:"header"`
	Form       map[string][]string `json:"form"`
	File       *inspectedFile      `json:"file"`
	Received   int64               `json:"received"`
	Fault      string              `json:"fault"`
	Acted      bool                `json:"acted"`
	RecordID   string              `json:"record_id"`
	Status     int                 `json:"status"`
	Responded  bool                `json:"responded"`
}

type inspectedFile struct {
	Name        string  `json:"name"`
	ContentType string  `json:"content_type"`
	Size        int64   `json:"size"`
	SHA256      string  `json:"sha256"`
	Format      string  `json:"format"`
	Seconds     float64 `json:"seconds"`
}

type inspectedViolation struct {
	Rule    string `json:"rule"`
	Request int    `json:"request"`
	Line    string `json:"line"`
	Field   string `json:"field"`
	Value   string `json:"value"`
}

// serveInspection responds to the path of Inspect, and reports whether the request was for it.
func (s *Server) serveInspection(w http.ResponseWriter, r *http.Request, path string) bool {
	if !s.config.inspect || path != inspectPath || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	body, err := json.Marshal(s.inspect())
	if err != nil {
		panic("aicontenttest: Inspect: " + err.Error()) // plain data can be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
	return true
}

func (s *Server) inspect() inspection {
	hide := mask.New(slices.Concat(s.keys()...)...)
	seen := inspection{Records: []inspectedRecord{}, Requests: []inspectedRequest{}, Violations: []inspectedViolation{}}
	for _, r := range s.Records() {
		r.ID, r.Name = hide.Text(r.ID), hide.Text(r.Name)
		seen.Records = append(seen.Records, inspectedRecord(r))
	}
	for _, r := range s.Requests() {
		request := inspectedRequest{
			Number: r.Number, Connection: r.Connection, Operation: r.Operation,
			Method: r.Method, Path: hide.Text(r.Path), Query: hide.Values(r.Query),
			Header: hide.Values(r.Header), Form: hide.Values(r.Form),
			Received: r.Received, Fault: r.Fault, Acted: r.Acted, RecordID: hide.Text(r.RecordID),
			Status: r.Status, Responded: r.Responded,
		}
		if f := r.File; f != nil {
			request.File = &inspectedFile{
				Name: hide.Text(f.Name), ContentType: hide.Text(f.ContentType), Size: f.Size, SHA256: f.SHA256,
				Format: f.Format, Seconds: f.Duration.Seconds(),
			}
		}
		seen.Requests = append(seen.Requests, request)
	}
	for _, v := range s.Violations() {
		v.Line, v.Field, v.Value = hide.Text(v.Line), hide.Text(v.Field), hide.Text(v.Value)
		seen.Violations = append(seen.Violations, inspectedViolation(v))
	}
	return seen
}
