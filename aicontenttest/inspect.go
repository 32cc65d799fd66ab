package aicontenttest

import (
	"encoding/json"
	"net/http"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/mask"
)

// inspectPath is below the base path.
const inspectPath = "/inspect"

// Inspect serves [Server.Records], [Server.Requests] and [Server.Violations] as JSON at GET URL/inspect, without a key,
// for tests in other languages. It masks API keys and does not record these requests.
//
//	{
//	  "records": [{"collection": "images", "id": "1", "name": "Whale", "request": 1, "deleted_by": 2}],
//	  "requests": [{
//	    "number": 1, "operation": "images.store", "method": "POST", "path": "/api/v1/images",
//	    "query": {}, "header": {"Accept": ["application/json"]},
//	    "form": {"name": ["Whale"], "description": ["A whale"], "resolution": ["256x256"]}, "file": null,
//	    "received": 52, "fault": "lose-response", "acted": true, "record_id": "1", "status": 0
//	  }],
//	  "violations": ["request 3: GET /api/v1/images?style=baroque: value: style=\"baroque\""]
//	}
//
// The members are the fields of [Request] and [Record], and always present. A file has the members name, content_type,
// size and sha256.
func Inspect() Option {
	return optionFunc(func(c *config) { c.inspect = true })
}

type inspection struct {
	Records    []Record  `json:"records"`
	Requests   []Request `json:"requests"`
	Violations []string  `json:"violations"`
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
	hide := mask.New(s.config.keys...)
	seen := inspection{Records: s.Records(), Requests: s.Requests(), Violations: s.Violations()}
	for i := range seen.Records {
		r := &seen.Records[i]
		r.ID, r.Name = aicontent.ID(hide.Text(string(r.ID))), hide.Text(r.Name)
	}
	for i := range seen.Requests {
		r := &seen.Requests[i]
		r.Path, r.RecordID = hide.Text(r.Path), aicontent.ID(hide.Text(string(r.RecordID)))
		r.Query, r.Header, r.Form = hide.Values(r.Query), hide.Values(r.Header), hide.Values(r.Form)
		if r.File != nil {
			r.File.Name, r.File.ContentType = hide.Text(r.File.Name), hide.Text(r.File.ContentType)
		}
	}
	for i, v := range seen.Violations {
		seen.Violations[i] = hide.Text(v)
	}
	return seen
}
