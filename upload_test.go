package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A program that serves many uploads at once must not need memory for their files. The service of this test runs in the
// same process, so its memory counts too. Parallel tests would count as well.
func TestUploadMemoryIsFlat(t *testing.T) {
	const small, large = 1 << 20, 128 << 20
	c := deployment(t, fakes.RespondToAll)
	path := filepath.Join(t.TempDir(), "a.wav")
	require.NoError(t, os.WriteFile(path, recording(1000), 0o600))
	for name, file := range map[string]func(size int64) File{
		"a path": func(size int64) File {
			require.NoError(t, os.Truncate(path, size))
			return FileFromPath(path)
		},
		"a reader": func(size int64) File {
			file := FileFromReader("a.wav", io.LimitReader(zeros{}, size))
			file.Size = size
			return file
		},
		"a chunked reader": func(size int64) File {
			return FileFromReader("a.wav", io.LimitReader(zeros{}, size))
		},
	} {
		require.NoError(t, transcribe(t.Context(), c, file(small)), name)
		took := fakes.Allocated(func() { require.NoError(t, transcribe(t.Context(), c, file(large)), name) })
		assert.Less(t, took, uint64(1<<20), name)
	}
}

// The bytes in front of a reader are not part of its file.
func TestReaderIsSentAgainFromItsFirstPosition(t *testing.T) {
	t.Parallel()
	r := bytes.NewReader(append([]byte("before"), recording(1000)...))
	_, err := r.Seek(int64(len("before")), io.SeekStart)
	require.NoError(t, err)
	s := script(fakes.Respond(429, ``), fakes.OK(fakes.StoredImage))
	require.NoError(t, transcribe(t.Context(), over(t, s, WithRetryPolicy(quick)), FileFromReader("a.wav", r)))
	require.Len(t, s.Bodies, 2)
	for _, body := range s.Bodies {
		assert.Contains(t, body, string(recording(1000)))
		assert.NotContains(t, body, "before")
	}
}

// An attempt that could not send its bytes leaves the reader for the next one.
func TestReaderIsNotReadAhead(t *testing.T) {
	t.Parallel()
	const size, head, buffer, taken = 4 << 20, 512, 128 << 10, 2000
	synctest.Test(t, func(t *testing.T) {
		r := bytes.NewReader(recording(size))
		file := FileFromReader("a.wav", struct{ io.Reader }{r})
		err := transcribe(t.Context(), over(t, fakes.RoundTripper(func(req *http.Request) (*http.Response, error) {
			synctest.Wait()
			assert.LessOrEqual(t, size-r.Len(), head, "read before the transport asked for the file")
			_, _ = io.CopyN(io.Discard, req.Body, taken)
			synctest.Wait()
			assert.LessOrEqual(t, size-r.Len(), head+taken+buffer)
			return fakes.Lose(req)
		})), file)
		assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
	})
}

// schemes wraps connections of a server for http and https. A client with the returned settings trusts the server.
func schemes() (map[string]func(net.Conn) net.Conn, *tls.Config) {
	certificate, roots := fakes.LoopbackCertificate()
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	return map[string]func(net.Conn) net.Conn{
		"http":  func(nc net.Conn) net.Conn { return nc },
		"https": func(nc net.Conn) net.Conn { return tls.Server(nc, config) },
	}, &tls.Config{RootCAs: roots}
}

// A server that refuses an upload responds and closes the connection, which makes a Write fail. The caller's next step
// is in the response.
func TestEarlyResponseReachesTheCaller(t *testing.T) {
	t.Parallel()
	servers, trusts := schemes()
	trusting := WithHTTPClient(&http.Client{Transport: &http.Transport{TLSClientConfig: trusts}})
	for status, want := range map[int]error{401: ErrUnauthorized, 413: ErrTooLarge} {
		for scheme, server := range servers {
			l := fakes.Listen(t, func(nc net.Conn) {
				nc = server(nc)
				defer nc.Close()
				if _, err := io.ReadFull(nc, make([]byte, 200)); err == nil {
					_, _ = io.WriteString(nc, fakes.OnTheWire(status, "", `{"message":"no"}`))
				}
			})
			c, err := NewClient(scheme+"://"+l.Addr().String(), fakes.Key, WithRetryPolicy(oneAttempt), trusting)
			require.NoError(t, err)
			for range 25 {
				require.ErrorIs(t, transcribe(t.Context(), c, inMemory(8<<20)), want, scheme)
			}
		}
	}
}

// The time that an upload takes depends on its size and the network, and only a stall ends it.
func TestStoreTimeoutStartsWhenTheBodyWasRead(t *testing.T) {
	t.Parallel()
	for waits, works := range map[time.Duration]bool{59 * time.Second: true, 61 * time.Second: false} {
		t.Run(waits.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := receiving(t, func(_ int, r *bufio.Reader, req *http.Request, nc net.Conn) {
					for left := req.ContentLength; left > 0; {
						time.Sleep(time.Minute - 1)
						n, err := io.CopyN(io.Discard, r, min(left, 100<<10))
						if err != nil {
							return
						}
						left -= n
					}
					time.Sleep(waits)
					_, _ = io.WriteString(nc, fakes.OnTheWire(201, "", fakes.StoredImage))
				}, WithStoreTimeout(time.Minute), WithStallTimeout(time.Minute))
				start := time.Now()
				err := transcribe(t.Context(), u.Client, inMemory(fileSize))
				assert.Greater(t, time.Since(start), 40*time.Minute)
				assert.Equal(t, works, err == nil, "%v", err)
				if !works {
					assert.ErrorContains(t, err, "no complete response within 1m0s (WithStoreTimeout)")
					assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// net/http does not return while a Read of a body blocks.
func TestContextEndsTheCallWhileAReaderBlocks(t *testing.T) {
	t.Parallel()
	servers, trusts := schemes()
	for scheme, server := range servers {
		t.Run(scheme, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				defer close(stuck)
				transport := fakes.Piped(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, server(nc)) })
				transport.TLSClientConfig = trusts.Clone()
				hc := WithHTTPClient(&http.Client{Transport: transport})
				c, err := NewClient(scheme+"://127.0.0.1", fakes.Key, hc)
				require.NoError(t, err)
				blocks := readerFunc(func([]byte) (int, error) { <-stuck; return 0, io.EOF })
				ctx, cancel := contextAfter(t, time.Second)
				defer cancel()
				start := time.Now()
				file := FileFromReader("a.wav", io.MultiReader(bytes.NewReader(recording(1<<20)), blocks))
				err = transcribe(ctx, c, file)
				assert.ErrorIs(t, err, errUserLeft)
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				assert.LessOrEqual(t, time.Since(start), time.Second+time.Second/10)
			})
		})
	}
}

// Two Reads at once would give each of two attempts a part of the recording, and a Seek during a Read neither of them.
func TestReaderIsUsedByOneGoroutineAtATime(t *testing.T) {
	t.Parallel()
	for name, seeks := range map[string]bool{"a reader": false, "a seeker": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var inside, shared atomic.Int32
				use := func() (leave func()) {
					shared.Store(max(shared.Load(), inside.Add(1)))
					return func() { inside.Add(-1) }
				}
				stuck, data := make(chan struct{}), bytes.NewReader(recording(1<<20))
				read := readerFunc(func(p []byte) (int, error) {
					defer use()()
					if data.Size()-int64(data.Len()) > 100_000 {
						<-stuck
					}
					return data.Read(p)
				})
				seek := seekerFunc(func(offset int64, whence int) (int64, error) {
					defer use()()
					return data.Seek(offset, whence)
				})
				file := FileFromReader("a.wav", read)
				if seeks {
					file = FileFromReader("a.wav", struct {
						io.Reader
						io.Seeker
					}{read, seek})
				}
				u := receiving(t, func(_ int, r *bufio.Reader, _ *http.Request, _ net.Conn) {
					_, _ = io.Copy(io.Discard, r)
				}, WithStallTimeout(time.Second))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := transcribe(ctx, u.Client, file)
				assert.ErrorContains(t, err, "no progress for 1s")
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				err = transcribe(ctx, u.Client, file)
				assert.ErrorIs(t, err, ErrFile)
				assert.ErrorContains(t, err, "the reader is in use")
				assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err))
				assert.Equal(t, 1, u.sends)
				close(stuck)
				synctest.Wait()
				assert.EqualValues(t, 1, shared.Load())
			})
		})
	}
}

// net/http and others may read a body when the attempt is over. The service must not get the end of a form that is sent
// again, and a program no progress of a call that has returned.
func TestBodyEndsWithItsAttempt(t *testing.T) {
	t.Parallel()
	for _, read := range []int64{10, 50_000} {
		synctest.Test(t, func(t *testing.T) {
			var bodies []io.ReadCloser
			c := over(t, fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
				bodies = append(bodies, r.Body)
				_, _ = io.CopyN(io.Discard, r.Body, read)
				return fakes.Lose(r)
			}), WithRetryPolicy(quick))
			returned := false
			err := transcribe(t.Context(), c, inMemory(100_000), WithProgress(func(Progress) {
				assert.False(t, returned, "progress after the call")
			}))
			returned = true
			assert.Equal(t, OutcomeNotExecuted, OutcomeOf(err), "%v", err)
			require.Len(t, bodies, 3)
			time.Sleep(time.Second) // so that a report is due
			for _, body := range bodies {
				rest, err := io.ReadAll(body)
				assert.Error(t, err)
				assert.Empty(t, rest)
			}
		})
	}
}

type seekerFunc func(offset int64, whence int) (int64, error)

func (f seekerFunc) Seek(offset int64, whence int) (int64, error) { return f(offset, whence) }

// An upload that ends at the same byte each time has a limit in its way. The last progress shows it, too.
func TestBytesSentAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	const size, read = 1 << 20, 300_000
	whole := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		return fakes.OK(fakes.StoredImage)(r)
	})
	part := fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.CopyN(io.Discard, r.Body, read)
		return fakes.Lose(r)
	})
	store := func(c *Client) error { return second(c.Images.Store(t.Context(), aStore)) }
	upload := func(c *Client) error { return transcribe(t.Context(), c, inMemory(size)) }
	for name, row := range map[string]struct {
		rt       fakes.RoundTripper
		call     func(*Client) error
		min, max int64
	}{
		"a form":           {whole, store, 0, 0},
		"a form, in part":  {part, store, 0, 0},
		"a file":           {whole, upload, size, size},
		"a file, in part":  {part, upload, read - 64<<10, read},
		"a file, not read": {fakes.Lose, upload, 0, 0},
	} {
		o := &observer{}
		var told int64
		report := WithProgress(func(p Progress) { told = p.Sent })
		_ = row.call(over(t, row.rt, WithAttemptHook(o.hook), report, WithRetryPolicy(oneAttempt)))
		require.Len(t, o.results, 1)
		sent := o.results[0].BytesSent
		assert.True(t, row.min <= sent && sent <= row.max, fmt.Sprint(name, ": ", sent))
		assert.Equal(t, sent, told, "%s: the last report of its progress", name)
	}
}
