package upload

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// bufferSize is the largest Read of a source, in bytes. A Read follows when the transport has taken the bytes of
	// the one before, so no attempt holds or reads ahead more of a file.
	bufferSize = 128 << 10
	// grace is the time that the end of a context waits for a Read of a source. Nearly all return by then.
	grace = 100 * time.Millisecond
)

// Sending is the body of one attempt of an upload.
//
// A goroutine opens the source on the first Read of the file, and copies it into a pipe. The end of the attempt's
// context closes the pipe, because net/http waits for a Read of a body that blocks.
type Sending struct {
	body    *Body
	observe func(sent int64, done bool)
	parts   io.Reader // head, file and tail
	pipe    *io.PipeReader
	tail    *bytes.Reader
	begin   sync.Once
	settle  sync.Once     // for the wait of End
	release func()        // gives back the source
	over    chan struct{} // closed after the last use of the source
	detach  func() bool   // from the context

	mu       sync.Mutex
	read     int64 // bytes of the file read by the transport
	taken    int64 // the same, without the bytes of the latest Read
	complete bool  // the transport has read a byte of the closing boundary
	ended    bool
	err      error // of the source
}

// attachFile is Attach for an upload.
func (b *Body) attachFile(req *http.Request, observe func(sent int64, done bool)) (*Sending, error) {
	release, err := claim(b.file.Source)
	if err != nil {
		return nil, b.file.readError(0, err)
	}
	s := &Sending{body: b, observe: observe, tail: bytes.NewReader(b.tail), release: release, over: make(chan struct{})}
	var copied *io.PipeWriter
	s.pipe, copied = io.Pipe()
	file := func(p []byte) (int, error) {
		s.begin.Do(func() { go s.copyTo(copied) })
		return s.readFile(p)
	}
	s.parts = io.MultiReader(bytes.NewReader(b.head), readerFunc(file), readerFunc(s.readTail))
	s.detach = context.AfterFunc(req.Context(), func() { s.Close() })
	req.Body, req.ContentLength = s, -1
	if b.FileSize >= 0 {
		req.ContentLength = int64(len(b.head)) + b.FileSize + int64(len(b.tail))
	}
	return s, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// copyTo copies the file into the pipe.
func (s *Sending) copyTo(w *io.PipeWriter) {
	err := errGoexit
	defer close(s.over)
	defer s.release()
	defer func() { w.CloseWithError(err) }()
	defer recoverTo(&err)
	err = s.copyFile(w)
}

func (s *Sending) copyFile(w io.Writer) error {
	in, _, err := s.body.file.Source.open(-1)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // io.EOF would end the file
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if m, ok := s.body.file.Source.(*memory); ok {
		_, err = w.Write(m.data)
		return err
	}
	// Without the other methods of in, which would choose the size of a piece.
	_, err = bufio.NewReaderSize(struct{ io.Reader }{in}, bufferSize).WriteTo(w)
	return err
}

// Read returns bytes of the head, the file or the closing boundary. After the end of the attempt it fails.
func (s *Sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return 0, io.ErrClosedPipe
	}
	s.taken = s.read
	sent := s.taken
	s.mu.Unlock()
	s.observe(sent, false)
	n, err := s.parts.Read(p)
	s.observe(sent, s.tail.Len() == 0)
	return n, err
}

// readFile returns bytes of the file. If the file has grown or shrunk, it fails before the closing boundary, so that
// the request never looks complete.
func (s *Sending) readFile(p []byte) (int, error) {
	n, err := s.pipe.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return 0, io.ErrClosedPipe
	case s.err != nil:
		return 0, s.err
	}
	s.read += int64(n)
	switch size := s.body.FileSize; {
	case size >= 0 && s.read > size:
		s.read, err = size, fmt.Errorf("it has more than the %d bytes that were announced", size)
	case err == io.EOF && s.read < size:
		err = fmt.Errorf("it has fewer than the %d bytes that were announced", size)
	case err == nil || err == io.EOF:
		return n, err
	}
	s.err = s.body.file.readError(s.read, err)
	return 0, s.err
}

// readTail returns bytes of the closing boundary. No parser accepts the form without its first byte.
func (s *Sending) readTail(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, io.ErrClosedPipe
	}
	s.complete = true
	return s.tail.Read(p)
}

// Close makes all further Reads fail. It does not wait for the source.
func (s *Sending) Close() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	return s.pipe.Close()
}

// Sent is what an attempt has sent of an upload.
type Sent struct {
	Complete bool  // the transport may have sent a byte of the closing boundary
	File     int64 // bytes of the file that the transport has taken
	Err      error // of the source, a [*ReadError]; nil for none
}

// End ends the upload and returns its final state. It waits a moment for a Read or Seek of the source that is under
// way. If that does not return, the source cannot be used until it does. A nil Sending, of a form, is complete.
func (s *Sending) End() Sent {
	if s == nil {
		return Sent{Complete: true}
	}
	s.detach()
	s.Close()
	s.begin.Do(func() {
		s.release()
		close(s.over)
	})
	s.settle.Do(func() {
		select {
		case <-s.over:
		case <-time.After(grace):
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return Sent{Complete: s.complete, File: s.taken, Err: s.err}
}
