package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reports keeps what was reported, and when.
type reports struct {
	mu   sync.Mutex
	list []Progress
	at   []time.Time
	busy atomic.Bool
	t    *testing.T
}

func (r *reports) take(p Progress) {
	assert.True(r.t, r.busy.CompareAndSwap(false, true), "called twice at once")
	defer r.busy.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.at = append(r.list, p), append(r.at, time.Now())
}

// check is what holds of every upload: nothing runs backwards, and nothing is said twice.
func (r *reports) check() {
	for i, p := range r.list {
		assert.LessOrEqual(r.t, p.Sent, max(p.Total, p.Sent))
		if i == 0 {
			continue
		}
		before := r.list[i-1]
		assert.GreaterOrEqual(r.t, p.Attempt, before.Attempt)
		if p.Attempt == before.Attempt {
			assert.Greater(r.t, p.Sent, before.Sent)
		}
	}
}

// answerOver serves requests on one connection, each read slowly and answered with the next of the statuses.
func answerOver(nc net.Conn, pause time.Duration, status func() int) {
	req, err := http.ReadRequest(bufio.NewReader(&slowly{nc, pause}))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, req.Body)
	code, body := status(), `{"message":"no"}`
	if code < 300 {
		body = storedInterview
	}
	_, _ = fmt.Fprintf(nc, "HTTP/1.1 %d S\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", code, len(body), body)
}

// A progress bar must run forwards, not too often, to exactly the end, at each attempt anew.
func TestProgressOfAnUpload(t *testing.T) {
	const size = 4 << 20
	for name, c := range map[string]struct {
		file  func() File
		total int64
	}{
		"known":   {func() File { return FileFromBytes("a.wav", recording(size)) }, size},
		"unknown": {func() File { return FileFromReader("a.wav", onlyReader{bytes.NewReader(recording(size))}) }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts atomic.Int64
				attempts.Store(1)
				if c.total < 0 {
					// It can be sent once.
					attempts.Store(3)
				}
				statuses := func() int { return map[int64]int{2: 429, 3: 429, 4: 201}[attempts.Add(1)] }
				client := pipeClient(t, func(nc net.Conn) { answerOver(nc, 7*time.Millisecond, statuses) }, threeTimes)
				r := &reports{t: t}
				require.NoError(t, storeFile(t.Context(), client, c.file(), WithProgress(r.take)))
				returned := len(r.list)
				<-time.After(time.Minute)
				assert.Len(t, r.list, returned, "reported after the call had returned")
				r.check()
				want := Progress{Sent: size, Total: c.total, Attempt: 3}
				if c.total < 0 {
					want.Attempt = 1
				}
				assert.Equal(t, want, r.list[returned-1])
				perSecond := map[int64]int{}
				for _, at := range r.at {
					perSecond[at.Unix()]++
				}
				assert.Greater(t, len(perSecond), 5, "the upload was too short to tell")
				for _, n := range perSecond {
					assert.LessOrEqual(t, n, 21)
				}
				for _, p := range r.list {
					assert.Equal(t, c.total, p.Total)
				}
			})
		})
	}
}

// A callback that draws slowly must not slow the upload down.
func TestSlowCallbacksDoNotHoldTheUploadUp(t *testing.T) {
	took := func(f func(Progress)) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var opts []CallOption
			if f != nil {
				opts = append(opts, WithProgress(f))
			}
			var arrived time.Duration
			start := time.Now()
			client := pipeClient(t, func(nc net.Conn) {
				answerOver(nc, 7*time.Millisecond, func() int { arrived = time.Since(start); return 201 })
			})
			require.NoError(t, storeFile(t.Context(), client, FileFromBytes("a.wav", recording(1<<20)), opts...))
			took = arrived
		})
		return took
	}
	assert.Equal(t, took(nil), took(func(Progress) { <-time.After(700 * time.Millisecond) }))
}

// What failed is told up to where it failed.
func TestProgressOfAFailedUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer synctest.Wait()
		defer close(free)
		client := pipeClient(t, func(nc net.Conn) { swallow(nc, nil) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := &reports{t: t}
		file := FileFromReader("a.wav", &stuckReader{have: bytes.NewReader(recording(100_000)), free: free})
		require.ErrorIs(t, storeFile(ctx, client, file, WithStallTimeout(0), WithProgress(r.take)), context.DeadlineExceeded)
		r.check()
		assert.Equal(t, Progress{Sent: 100_000, Total: -1, Attempt: 1}, r.list[len(r.list)-1])
	})
}

// What is not sent has no progress.
func TestNoProgressWithoutAnUpload(t *testing.T) {
	client := uploadClient(t, http.NotFoundHandler())
	r := &reports{t: t}
	require.ErrorIs(t, storeFile(t.Context(), client, FileFromBytes("a.wav", []byte("<html>")), WithProgress(r.take)), ErrInvalid)
	_, err := client.Transcriptions.Show(t.Context(), "7", WithProgress(r.take))
	require.ErrorIs(t, err, ErrNotFound)
	assert.Empty(t, r.list)
}
