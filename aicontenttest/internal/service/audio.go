package service

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// An Upload is what is kept of a file that was received.
type Upload struct {
	Name        string
	ContentType string
	Size        int64
	SHA256      string
	Format      string
	Duration    time.Duration
	Data        []byte
}

// headBytes is how much of a file is examined to tell its format.
const headBytes = 4 << 10

// receive reads a file to its end. Its bytes are kept in memory only if keep is true.
func receive(r io.Reader, name, contentType string, keep bool) (*Upload, error) {
	u := &Upload{Name: name, ContentType: contentType}
	file := bufio.NewReaderSize(r, headBytes)
	head, _ := file.Peek(headBytes) // a shorter file is read whole
	u.Format, u.Duration = audioFormat(head)
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

// audioTypes are the formats that deployments with a list of types accept.
var audioTypes = []string{"MP3", "MP4", "MPEG", "WAV", "WebM"}

// report is the result of a transcription: not a transcript, but a description of the file.
func (u *Upload) report() string {
	format, duration := "a file of unknown format", ""
	if u.Format != "" {
		format = u.Format + " audio"
	}
	if u.Duration > 0 {
		duration = fmt.Sprintf(", %.2f seconds", u.Duration.Seconds())
	}
	return fmt.Sprintf("No transcript: this is a test server. It received %s%s, %d bytes, sha256 %s.",
		format, duration, u.Size, u.SHA256)
}

// audioFormat returns the format, if it is one of audioTypes, and the duration of a WAV file.
func audioFormat(head []byte) (string, time.Duration) {
	at := func(offset int, magic string) bool {
		return len(head) >= offset+len(magic) && string(head[offset:offset+len(magic)]) == magic
	}
	switch {
	case at(0, "RIFF") && at(8, "WAVE"):
		return "WAV", wavDuration(head)
	case at(4, "ftyp"):
		return "MP4", 0
	case at(0, "\x1a\x45\xdf\xa3"):
		return "WebM", 0
	case at(0, "\x00\x00\x01\xba") || at(0, "\x00\x00\x01\xb3"):
		return "MPEG", 0
	case at(0, "ID3"):
		return "MP3", 0
	case len(head) > 1 && head[0] == 0xff && head[1]&0xe0 == 0xe0 && head[1]&0x06 != 0:
		return "MP3", 0
	}
	return "", 0
}

// wavDuration is the size of the data chunk divided by the byte rate in the format chunk.
func wavDuration(head []byte) time.Duration {
	var rate, size uint32
	for rest := head[12:]; len(rest) >= 8; {
		name, length := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		rest = rest[8:]
		if name == "fmt " && len(rest) >= 12 {
			rate = binary.LittleEndian.Uint32(rest[8:])
		}
		if name == "data" {
			size = length
			break
		}
		// Chunks begin at even offsets.
		if skip := uint64(length) + uint64(length&1); skip < uint64(len(rest)) {
			rest = rest[skip:]
		} else {
			break
		}
	}
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(size) / float64(rate) * float64(time.Second))
}
