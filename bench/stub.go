package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/aicontent/aicontent-go/bench/service"
)

// stub responds at once from memory, so that only the client's work is measured.
type stub struct {
	show, list []byte
	link       string
}

func newStub(w service.Wire) *stub {
	s := &stub{show: service.Record(w, 7)}
	s.list, s.link = service.Page(w, 1, records)
	return s
}

// RoundTrip tells a list from a show by its query, which only lists have.
func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	body := s.show
	if strings.Contains(req.URL.RawQuery, "100") {
		body = s.list
		if s.link != "" {
			header["Link"] = []string{s.link}
		}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}, nil
}
