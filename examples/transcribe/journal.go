package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/gofrs/flock"
)

// A journal records across runs which records were made and which uploads may still lead to one. It is a file of JSON
// lines. Each line replaces earlier ones with the same name, and is synced to disk before the program continues.
//
// Before a recording is sent, and every few seconds until its response has come, a line with a lease is written: the
// time until which it may be sent or awaited. A run that cannot renew its leases in time stops sending. Whenever a run
// dies, the journal therefore holds a time after which it sent nothing. A torn last line is ignored: the run never got
// past it.
type journal struct {
	lease time.Duration

	mu      sync.Mutex
	entries map[string]entry
	sending map[string]bool // calls that have sent a request; true while one is in flight
	file    *os.File        // nil for a journal in memory
	lock    *flock.Flock
	err     error // the first failed write
}

type entry struct {
	Name  string       `json:"name"`
	ID    aicontent.ID `json:"id,omitempty"`   // of the record, if it was made
	Until time.Time    `json:"until,omitzero"` // last sent or awaited, if the outcome is unknown
}

func newJournal(settle time.Duration) *journal {
	return &journal{lease: min(settle, 10*time.Second), entries: make(map[string]entry), sending: make(map[string]bool)}
}

// open locks and reads the journal of the deployment at base, and says where it is.
func (j *journal) open(dir, base string, stderr io.Writer) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	path := filepath.Join(dir, journalName(base))
	j.lock = flock.New(path + ".lock")
	if locked, err := j.lock.TryLock(); err != nil {
		return fmt.Errorf("the journal: %w", err)
	} else if !locked {
		return fmt.Errorf("another run is using the journal %s; wait until it ends", path)
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintf(stderr, "New journal: %s. It does not know the uploads in another one.\n", path)
	case err != nil:
		return fmt.Errorf("the journal: %w", err)
	default:
		fmt.Fprintf(stderr, "Journal: %s\n", path)
	}
	if damaged := j.read(data); damaged > 0 {
		fmt.Fprintf(stderr, "The journal has %d unreadable lines, which are ignored.\n", damaged)
	}
	if j.file, err = j.rewrite(path); err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	return nil
}

// read loads the entries and returns the number of damaged lines.
func (j *journal) read(data []byte) (damaged int) {
	for line := range bytes.Lines(data) {
		var e entry
		switch err := json.Unmarshal(line, &e); {
		case err == nil && e.Name != "":
			j.entries[e.Name] = e
		case bytes.HasSuffix(line, []byte("\n")):
			damaged++
		}
	}
	return damaged
}

// rewrite compacts the journal to one line for each name and opens it for appending.
func (j *journal) rewrite(path string) (*os.File, error) {
	var lines []byte
	for _, e := range j.entries {
		if e.ID != "" || !e.Until.IsZero() {
			lines = append(lines, e.line()...)
		}
	}
	if err := replaceFile(path, lines, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}

func (e entry) line() []byte {
	line, _ := json.Marshal(e) // cannot fail for strings and a current time
	return append(line, '\n')
}

// write appends and syncs the entries. After a failed write the end of the file is unknown, so all later ones fail too.
func (j *journal) write(entries ...entry) error {
	var lines []byte
	for _, e := range entries {
		j.entries[e.Name] = e
		lines = append(lines, e.line()...)
	}
	if j.file == nil || j.err != nil || len(lines) == 0 {
		return j.err
	}
	_, err := j.file.Write(lines)
	if err = errors.Join(err, j.file.Sync()); err != nil {
		j.err = fmt.Errorf("the journal: %w", err)
	}
	return j.err
}

// entry returns the entry of a recording, zero if there is none.
func (j *journal) entry(name string) entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entries[name]
}

// nameKey is the context key of the name under which a create request is journalled.
type nameKey struct{}

// mark is the hook that journals each create request before it is sent.
func (j *journal) mark(ctx context.Context, a aicontent.Attempt) (done func(aicontent.AttemptResult), err error) {
	name, found := ctx.Value(nameKey{}).(string)
	if !found || a.Search {
		return nil, nil
	}
	return func(aicontent.AttemptResult) { j.pause(name) }, j.begin(name)
}

func (j *journal) begin(name string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sending[name] = true
	return j.write(entry{Name: name, Until: time.Now().Add(j.lease)})
}

func (j *journal) pause(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sending[name] = false
}

// finish journals the outcome of a call. A call that sent nothing does not change the entry of an earlier run.
func (j *journal) finish(name string, id aicontent.ID, err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, sent := j.sending[name]
	delete(j.sending, name)
	switch outcome := aicontent.OutcomeOf(err); {
	case err == nil:
		return j.write(entry{Name: name, ID: id})
	case !sent:
		return nil
	case outcome == aicontent.OutcomeNotSent, outcome == aicontent.OutcomeRejected:
		return j.write(entry{Name: name})
	}
	return j.write(entry{Name: name, Until: time.Now()})
}

// keepAlive renews the leases until ctx ends. It calls stop if a renewal fails or takes too long.
func (j *journal) keepAlive(ctx context.Context, stop context.CancelCauseFunc) {
	watchdog := time.AfterFunc(j.lease, func() { stop(fmt.Errorf("the journal could not be written for %v", j.lease)) })
	defer watchdog.Stop()
	ticker := time.NewTicker(j.lease / 5)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		until, err := j.renew()
		if err != nil {
			stop(err)
			return
		}
		watchdog.Reset(time.Until(until))
	}
}

func (j *journal) renew() (until time.Time, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	until = time.Now().Add(j.lease)
	var entries []entry
	for name, now := range j.sending {
		if now {
			entries = append(entries, entry{Name: name, Until: until})
		}
	}
	return until, j.write(entries...)
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.file.Close()
	_ = j.lock.Unlock()
}

// journalName returns the journal's file name, which is the same for all spellings of a base URL.
func journalName(base string) string {
	host := "deployment"
	if u, err := url.Parse(base); err == nil {
		u.Scheme, host = strings.ToLower(u.Scheme), strings.ToLower(u.Hostname())
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
			host = "localhost"
		}
		port := u.Port()
		if port == map[string]string{"https": "443", "http": "80"}[u.Scheme] {
			port = ""
		}
		u.Host = strings.TrimSuffix(net.JoinHostPort(host, port), ":")
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
		base = u.String()
	}
	sum := sha256.Sum256([]byte(base))
	return fmt.Sprintf("%s-%x.jsonl", strings.ReplaceAll(host, ":", "-"), sum[:4])
}
