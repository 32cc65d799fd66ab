package service

import (
	"io"
	"net/http"
	"sync/atomic"
)

// Down responds to each request with a status, 502 as a gateway does and anything else in the format of the client, and
// counts it in requests. It asks for no wait.
func Down(w Wire, status int, requests *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, req.Body)
		rw.Header().Set("Content-Type", "application/json")
		if status == http.StatusBadGateway {
			rw.Header().Set("Content-Type", "text/html")
		}
		send(rw, status, []byte(Refusal(w, status)))
	})
}
