package aicontent

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sink is a service that takes uploads in as fast as it can, one after the other on a connection.
func sink(t testing.TB) *bareService {
	return serveBare(t, false, func(nc net.Conn) {
		r := bufio.NewReaderSize(nc, 256<<10)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			_, _ = fmt.Fprintf(nc, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(storedInterview), storedInterview)
		}
	})
}

// byHand is the same upload with net/http alone: a form whose head and tail are around the file.
func byHand(ctx context.Context, hc *http.Client, url, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	if err := writer.WriteField("name", "Interview"); err != nil {
		return err
	}
	if _, err := writer.CreateFormFile("file", filepath.Base(path)); err != nil {
		return err
	}
	head := form.Len()
	if err := writer.Close(); err != nil {
		return err
	}
	around := form.Bytes()
	body := io.MultiReader(bytes.NewReader(around[:head]), f, bytes.NewReader(around[head:]))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/transcriptions", body)
	if err != nil {
		return err
	}
	req.ContentLength = int64(len(around)) + info.Size()
	req.Header.Set("Content-Type", writer.FormDataContentType())
	req.Header.Set("Authorization", "Bearer test-key")
	resp, err := hc.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// BenchmarkUpload compares an upload with one that is written by hand: same file, same service, same run. Cold is
// with a connection of its own.
func BenchmarkUpload(b *testing.B) {
	for _, size := range []int64{1 << 20, 64 << 20, 512 << 20} {
		path := sparse(b, size)
		s := sink(b)
		for _, cold := range []bool{false, true} {
			c := s.client(b)
			hc := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
			for _, way := range []struct {
				name string
				send func() error
				end  func()
			}{
				{"sdk", func() error { return storeFile(b.Context(), c, FileFromPath(path)) }, c.CloseIdleConnections},
				{"by hand", func() error { return byHand(b.Context(), hc, s.url, path) }, hc.CloseIdleConnections},
			} {
				b.Run(fmt.Sprintf("%dMiB/cold=%v/%s", size>>20, cold, way.name), func(b *testing.B) {
					b.SetBytes(size)
					b.ReportAllocs()
					for b.Loop() {
						if cold {
							way.end()
						}
						require.NoError(b, way.send())
					}
				})
			}
			c.CloseIdleConnections()
			hc.CloseIdleConnections()
		}
	}
}

// Many uploads at once share nothing but the client: each arrives as it is, and costs its copy buffers.
func TestManyUploadsAtOnce(t *testing.T) {
	const uploads, size = 64, 64 << 20
	s := sink(t)
	path := sparse(t, size)
	c := s.client(t)
	used := allocated(func() {
		var all sync.WaitGroup
		for range uploads {
			all.Go(func() { assert.NoError(t, storeFile(t.Context(), c, FileFromPath(path))) })
		}
		all.Wait()
	})
	// The service, which is in this process, takes 256 KiB for each connection.
	assert.Less(t, used-s.dials.Load()*(256<<10), int64(16<<20))
}

// The same with bytes that tell the uploads apart, so that shared memory would show.
func TestUploadsAtOnceDoNotMix(t *testing.T) {
	var in intake
	c := uploadClient(t, &in)
	var all sync.WaitGroup
	want := map[string]bool{}
	for i := range 64 {
		data := recording(300_000 + i)
		want[sum(data)] = true
		file := FileFromBytes("a.wav", data)
		if i%2 == 0 {
			file = FileFromReader("a.wav", onlyReader{bytes.NewReader(data)})
		}
		all.Go(func() { assert.NoError(t, storeFile(t.Context(), c, file)) })
	}
	all.Wait()
	got := map[string]bool{}
	for _, u := range in.uploads {
		got[u.sum] = true
	}
	assert.Equal(t, want, got)
}
