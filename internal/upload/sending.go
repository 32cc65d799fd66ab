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
	body       *Body
	observe    func(sent int64, done bool)
	head, tail *bytes.Reader
	pipe       *io.PipeReader
	copied     *io.PipeWriter
	begin      sync.Once
	settle     sync.Once     // for the wait of End
	release    func()        // gives back the source, and closes over
	over       chan struct{} // closed after the last use of the source

	mu       sync.Mutex
	sent     int64 // bytes of the file read by the transport
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
	s := &Sending{
		body: b, observe: observe, head: bytes.NewReader(b.head), tail: bytes.NewReader(b.tail),
		over: make(chan struct{}),
	}
	s.release = func() {
		release()
		close(s.over)
	}
	s.pipe, s.copied = io.Pipe()
	context.AfterFunc(req.Context(), func() { s.Close() })
	req.Body, req.ContentLength = s, -1
	if b.FileSize >= 0 {
		req.ContentLength = int64(len(b.head)) + b.FileSize + int64(len(b.tail))
	}
	return s, nil
}

// copyAll copies the file into the pipe.
func (s *Sending) copyAll() {
	err := errGoexit
	defer s.release()
	defer func() { s.copied.CloseWithError(err) }()
	defer recoverTo(&err)
	err = s.copyFile()
}

func (s *Sending) copyFile() error {
	in, _, err := s.body.file.Source.open(-1)
	if err != nil {
		return err
	}
	defer in.Close()
	// Without the other methods of in, which would choose the size of a piece.
	_, err = bufio.NewReaderSize(struct{ io.Reader }{in}, bufferSize).WriteTo(s.copied)
	return err
}

// Read returns bytes of the head, the file or the closing boundary. After the end of the attempt it fails.
func (s *Sending) Read(p []byte) (n int, err error) {
	if !s.moved(false) {
		return 0, io.ErrClosedPipe
	}
	n, err = s.head.Read(p)
	if err == io.EOF {
		n, err = s.readFile(p)
	}
	if err == io.EOF {
		n, err = s.readTail(p)
	}
	s.moved(s.tail.Len() == 0)
	return n, err
}

// moved calls the observer, unless the attempt has ended.
func (s *Sending) moved(done bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.observe(s.sent, done)
	}
	return !s.ended
}

// readFile returns bytes of the file. If the file has grown or shrunk, it fails before the closing boundary, so that
// the request never looks complete.
func (s *Sending) readFile(p []byte) (int, error) {
	s.begin.Do(func() { go s.copyAll() })
	n, err := s.pipe.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	size, sent := s.body.FileSize, s.sent+int64(n)
	switch {
	case s.ended:
		return 0, io.ErrClosedPipe
	case s.err != nil:
		return 0, s.err
	case size >= 0 && sent > size:
		sent, err = size, fmt.Errorf("it has more than the %d bytes that were announced", size)
	case err == io.EOF && sent < size:
		err = fmt.Errorf("it has fewer than the %d bytes that were announced", size)
	}
	s.sent = sent
	if err == nil || err == io.EOF {
		return n, err
	}
	s.err = s.body.file.readError(sent, err)
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
	s.begin.Do(s.release)
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
	s.Close()
	s.settle.Do(func() { settles(s.over) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return Sent{s.complete, s.sent, s.err}
}
