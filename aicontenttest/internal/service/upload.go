package service

import (
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
	Data        []byte
}

// receive reads a file to its end. Its bytes are kept in memory only if keep is true.
func receive(r io.Reader, name, contentType string, keep bool) (*Upload, error) {
	var data bytes.Buffer
	hash := sha256.New()
	sinks := []io.Writer{hash}
	if keep {
		sinks = append(sinks, &data)
	}
	size, err := io.Copy(io.MultiWriter(sinks...), r)
	return &Upload{
		Name: name, ContentType: contentType, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil)), Data: data.Bytes(),
	}, err
}

// report returns the result of a transcription: not a transcript, but a description of the file.
func (u *Upload) report() string {
	return fmt.Sprintf("No transcript: this is a test server. It received %d bytes, sha256 %s.", u.Size, u.SHA256)
}
