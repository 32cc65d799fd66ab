package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// uploadEvent tells a page how far its upload is, or that it failed.
type uploadEvent struct {
	Sent  int64  `json:"sent"`          // bytes of the file sent to the service
	Total int64  `json:"total"`         // size of the file; -1 if unknown
	End   string `json:"end,omitempty"` // in the last event of a failed upload: what to do now
}

// uploads passes events on from the uploads to the pages that watch them. The zero value is ready to use.
type uploads struct {
	mu      sync.Mutex
	watched map[string]chan uploadEvent // by the token of the form
}

// maxWatched limits how many streams are open at a time.
const maxWatched = 1000

// watch returns the events of a form's upload, or nil if it is already watched or too many are.
func (u *uploads) watch(form string) chan uploadEvent {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !isToken(form) || u.watched[form] != nil || len(u.watched) >= maxWatched {
		return nil
	}
	if u.watched == nil {
		u.watched = make(map[string]chan uploadEvent)
	}
	u.watched[form] = make(chan uploadEvent, 1)
	return u.watched[form]
}

func (u *uploads) unwatch(form string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.watched, form)
}

// report passes on an event without waiting: it replaces one that has not been read yet.
func (u *uploads) report(form string, e uploadEvent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	events := u.watched[form]
	if events == nil {
		return
	}
	select {
	case <-events:
	default:
	}
	events <- e
}

// uploadProgress streams the events of an upload until the upload fails or the page is left.
func (s *server) uploadProgress(w http.ResponseWriter, r *http.Request) {
	form := r.URL.Query().Get("form")
	events := s.uploads.watch(form)
	if events == nil {
		http.Error(w, "This upload cannot be watched.", http.StatusConflict)
		return
	}
	defer s.uploads.unwatch(form)
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	// While the service transcribes nothing else is sent, and proxies close idle connections.
	alive := time.NewTicker(15 * time.Second)
	defer alive.Stop()
	fmt.Fprint(w, ":\n\n")
	for flush() == nil {
		select {
		case <-r.Context().Done():
			return
		case <-alive.C:
			fmt.Fprint(w, ":\n\n")
		case e := <-events:
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
			if e.End != "" {
				flush()
				return
			}
		}
	}
}
