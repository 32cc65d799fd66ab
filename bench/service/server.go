package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// ReceivedPath returns the number of uploads and the number of bytes that came with them.
const ReceivedPath = "/received"

// server is what all routes share.
type server struct {
	records        int
	uploads, bytes atomic.Int64
}

// Handler serves the five calls of every wire format, over that many records. An upload is read to its end and counted,
// and nothing is made of its form: what a server does with a form would hide what a client does with a file.
func Handler(records int) http.Handler {
	s := &server{records: records}
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.pattern, s.serve(r))
	}
	mux.HandleFunc("GET "+ReceivedPath, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, s.uploads.Load(), s.bytes.Load())
	})
	return mux
}

// route is one call of one format.
type route struct {
	pattern string
	wire    Wire
	call    call
}

// call is what a route does.
type call int

const (
	show call = iota
	list
	create
	upload
)

var routes = []route{
	{"GET /tenant/api/v1/images/7", Native, show},
	{"GET /tenant/api/v1/images", Native, list},
	{"POST /tenant/api/v1/images", Native, create},
	{"POST /tenant/api/v1/transcriptions", Native, upload},
	{"GET /v1/batches/batch_7", OpenAI, show},
	{"GET /v1/batches", OpenAI, list},
	{"POST /v1/batches", OpenAI, create},
	{"POST /v1/audio/transcriptions", OpenAI, upload},
	{"GET /repos/o/r/milestones/7", GitHub, show},
	{"GET /repos/o/r/milestones", GitHub, list},
	{"POST /repos/o/r/milestones", GitHub, create},
	{"POST /repos/o/r/releases/1/assets", GitHub, upload},
	{"GET /images/7", Hetzner, show},
	{"GET /images", Hetzner, list},
	{"POST /ssh_keys", Hetzner, create},
	{"POST /uploads", Hetzner, upload},
}

func (s *server) serve(r route) http.HandlerFunc {
	record := Record(r.wire, 7)
	return func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		header["Content-Type"] = []string{"application/json"}
		switch r.call {
		case show:
			send(w, http.StatusOK, record)
		case list:
			body, link := Page(r.wire, first(req), s.records)
			if link != "" {
				header.Set("Link", link)
			}
			send(w, http.StatusOK, body)
		case create:
			_, _ = io.Copy(io.Discard, req.Body)
			send(w, http.StatusCreated, Created(r.wire, 8, false))
		case upload:
			n, err := swallow(req.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			s.uploads.Add(1)
			s.bytes.Add(n)
			send(w, http.StatusCreated, Created(r.wire, 8, true))
		}
	}
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// first is the number of the first record on the page that is asked for.
func first(req *http.Request) int {
	query := req.URL.Query()
	if number, err := strconv.Atoi(query.Get("page")); err == nil {
		return (number-1)*PageSize + 1
	}
	after, err := strconv.Atoi(strings.TrimPrefix(query.Get("after"), "batch_"))
	if err != nil {
		return 1
	}
	return after + 1
}

// buffers are large, so that reading costs the server little of the two cores.
var buffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

func swallow(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var total int64
	for {
		n, err := r.Read(*buf)
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// nameOf is the name in a create's body, wherever the format has it.
func nameOf(w Wire, req *http.Request, body []byte) string {
	if w == Native {
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		return req.PostFormValue("name")
	}
	var fields struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		InputFileID string `json:"input_file_id"`
	}
	_ = json.Unmarshal(body, &fields)
	return fields.Name + fields.Title + fields.InputFileID
}
