package fakes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go/internal/names"
)

// Ledger is a transport that acts as a service with records. A create request may add its record late or lose its
// response.
type Ledger struct {
	Names   []string // of the records; the first has the ID 1
	More    string   // further JSON members of each shown record
	PerPage int      // 0 means all on one page
	// Store answers the nth create request, counted from 1. It calls add to create the record.
	Store func(n int, add func()) (*http.Response, error)
	// Show may replace the response to the nth show. Nil results keep it.
	Show func(n int) (*http.Response, error)
	// List may replace the response to the nth list. Nil results keep it.
	List func(n int) (*http.Response, error)

	Searches      []time.Time // times of the list requests
	Queries       []url.Values
	Stores, Shows int

	mu sync.Mutex
}

// RoundTrip executes a request.
func (l *Ledger) RoundTrip(r *http.Request) (*http.Response, error) {
	var resp *http.Response
	var err error
	switch _, notID := strconv.Atoi(path.Base(r.URL.Path)); {
	case r.Method == http.MethodPost:
		resp, err = l.store(r)
	case notID == nil:
		resp, err = l.show(r)
	default:
		resp, err = l.list(r)
	}
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// Add adds a record, like a create request that acts late.
func (l *Ledger) Add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Names = append(l.Names, name)
}

func (l *Ledger) store(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	l.mu.Lock()
	l.Stores++
	n := l.Stores
	l.mu.Unlock()
	return l.Store(n, func() { l.Add(names.Trim(form.Get("name"))) })
}

func (l *Ledger) show(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Shows++
	if l.Show != nil {
		if resp, err := l.Show(l.Shows); resp != nil || err != nil {
			return resp, err
		}
	}
	id, _ := strconv.Atoi(path.Base(r.URL.Path))
	if id > len(l.Names) {
		return Respond(http.StatusNotFound, `{"message":"Not found."}`)(r)
	}
	return OK(fmt.Sprintf(`{"data":{"id":%d,"name":%q%s}}`, id, l.Names[id-1], l.More))(r)
}

func (l *Ledger) list(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Searches = append(l.Searches, time.Now())
	l.Queries = append(l.Queries, r.URL.Query())
	if l.List != nil {
		if resp, err := l.List(len(l.Searches)); resp != nil || err != nil {
			return resp, err
		}
	}
	return OK(l.Page(r.URL.Query()))(r)
}

// Page returns the JSON list for a query.
func (l *Ledger) Page(query url.Values) string {
	type record struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	found := []record{}
	for i, name := range l.Names {
		if strings.Contains(strings.ToLower(name), strings.ToLower(query.Get("search"))) {
			found = append(found, record{i + 1, name})
		}
	}
	page, last := 1, 1
	if l.PerPage > 0 {
		_, _ = fmt.Sscan(query.Get("page"), &page)
		last = max((len(found)+l.PerPage-1)/l.PerPage, 1)
		found = found[min((page-1)*l.PerPage, len(found)):min(page*l.PerPage, len(found))]
	}
	meta := map[string]int{"current_page": page, "last_page": last}
	text, _ := json.Marshal(map[string]any{"data": found, "meta": meta})
	return string(text)
}
