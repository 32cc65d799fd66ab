package service

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// An Upload describes a received file.
type Upload struct {
	Name        string
	ContentType string
	Size        int64
	SHA256      string
	Format      string
	Data        []byte
}

// headBytes is how much of a file is examined to tell its format.
const headBytes = 4 << 10

// receive reads a file to its end. Its bytes are kept in memory only if keep is true.
func receive(r io.Reader, name, contentType string, keep bool) (*Upload, error) {
	u := &Upload{Name: name, ContentType: contentType}
	file := bufio.NewReaderSize(r, headBytes)
	head, _ := file.Peek(headBytes) // a shorter file is read whole
	u.Format = audioFormat(head)
	var data bytes.Buffer
	hash := sha256.New()
	sinks := []io.Writer{hash}
	if keep {
		sinks = append(sinks, &data)
	}
	var err error
	u.Size, err = io.Copy(io.MultiWriter(sinks...), file)
	u.SHA256, u.Data = hex.EncodeToString(hash.Sum(nil)), data.Bytes()
	return u, err
}

// report returns the result of a transcription: not a transcript, but a description of the file.
func (u *Upload) report() string {
	format := "a file of unknown format"
	if u.Format != "" {
		format = u.Format + " audio"
	}
	return fmt.Sprintf("No transcript: this is a test server. It received %s, %d bytes, sha256 %s.",
		format, u.Size, u.SHA256)
}

// audioFormat returns the format if all deployments accept it.
func audioFormat(head []byte) string {
	at := func(offset int, magic string) bool {
		return len(head) >= offset+len(magic) && string(head[offset:offset+len(magic)]) == magic
	}
	switch {
	case at(0, "RIFF") && at(8, "WAVE"):
		return "WAV"
	case at(4, "ftyp"):
		return "MP4"
	case at(0, "\x1a\x45\xdf\xa3"):
		return "WebM"
	case at(0, "\x00\x00\x01\xba") || at(0, "\x00\x00\x01\xb3"):
		return "MPEG"
	case at(0, "ID3"):
		return "MP3"
	case len(head) > 1 && head[0] == 0xff && head[1]&0xe0 == 0xe0 && head[1]&0x06 != 0:
		return "MP3"
	}
	return ""
}
