package network

import (
	"bytes"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipesCarryMoreThanTheirBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe("memory")
		sent := bytes.Repeat([]byte("0123456789"), pipeBuffer)
		go func() {
			_, _ = client.Write(sent)
			_ = client.Close()
		}()
		synctest.Wait()
		assert.Len(t, server.in.data, pipeBuffer, "no more is taken than fits")
		got, err := io.ReadAll(server)
		require.NoError(t, err)
		assert.Equal(t, sent, got)
	})
}

// A sealed pipe takes what fits and nothing more, even if it is read.
func TestSealedPipeTakesNoMoreThanFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe("memory")
		_, _ = client.Write(make([]byte, 1000))
		server.in.seal()
		written := make(chan int)
		go func() {
			n, _ := client.Write(make([]byte, pipeBuffer))
			written <- n
		}()
		got, err := io.ReadAll(server)
		require.NoError(t, err, "the reader sees the end")
		assert.Len(t, got, pipeBuffer)
		synctest.Wait()
		assert.Empty(t, written, "the writer waits")
		_ = server.Close()
		assert.Equal(t, pipeBuffer-1000, <-written)
	})
}

func TestPipesEndAsSocketsDo(t *testing.T) {
	read := func(c net.Conn) (string, error) {
		b := make([]byte, 10)
		n, err := c.Read(b)
		return string(b[:n]), err
	}
	t.Run("closed", func(t *testing.T) {
		client, server := newPipe("memory")
		_, _ = server.Write([]byte("last"))
		_ = server.Close()
		_ = server.Close()
		text, err := read(client)
		assert.NoError(t, err)
		assert.Equal(t, "last", text, "what was sent before still arrives")
		_, err = read(client)
		assert.Equal(t, io.EOF, err)
		_, err = client.Write([]byte("x"))
		assert.ErrorIs(t, err, syscall.EPIPE)
		_, err = read(server)
		assert.ErrorIs(t, err, net.ErrClosed)
		_, err = server.Write([]byte("x"))
		assert.ErrorIs(t, err, net.ErrClosed)
		<-client.in.ended
	})
	t.Run("half closed", func(t *testing.T) {
		client, server := newPipe("memory")
		_ = server.CloseWrite()
		_, err := read(client)
		assert.Equal(t, io.EOF, err)
		_, err = client.Write([]byte("still"))
		assert.NoError(t, err)
		text, _ := read(server)
		assert.Equal(t, "still", text)
	})
	t.Run("reset", func(t *testing.T) {
		client, server := newPipe("memory")
		_, _ = server.Write([]byte("lost"))
		server.reset()
		_, err := read(client)
		assert.ErrorIs(t, err, syscall.ECONNRESET, "what was not read is lost")
		_, err = client.Write([]byte("x"))
		assert.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

func TestPipesKeepTheirDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe("memory")
		start := time.Now()
		wait := func(want time.Duration, f func([]byte) (int, error), size int) {
			t.Helper()
			start = time.Now()
			_, err := f(make([]byte, size))
			assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
			assert.Equal(t, want, time.Since(start))
		}
		_ = client.SetDeadline(start.Add(time.Second))
		wait(time.Second, client.Read, 1)
		wait(0, client.Read, 1)
		wait(0, client.Write, 1)
		_ = client.SetReadDeadline(time.Now().Add(time.Minute))
		_ = client.SetReadDeadline(time.Now().Add(time.Hour))
		wait(time.Hour, client.Read, 1)
		_ = client.SetWriteDeadline(time.Now().Add(time.Minute))
		wait(time.Minute, client.Write, pipeBuffer+1)
		_ = client.SetDeadline(time.Now().Add(-time.Second))
		wait(0, client.Read, 1)
		_ = client.SetDeadline(time.Time{})
		_, _ = server.Write([]byte("x"))
		n, err := client.Read(make([]byte, 1))
		assert.Equal(t, 1, n)
		assert.NoError(t, err)
	})
}
