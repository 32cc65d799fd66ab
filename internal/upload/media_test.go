package upload

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fromHex is the beginning of a file as programs that make such files write it.
func fromHex(t *testing.T, text string) []byte {
	head, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return append(head, make([]byte, 64)...)
}

// The extension tells the type of a file, the same on every machine.
func TestExtensionTellsTheMediaType(t *testing.T) {
	for mediaType, names := range map[string][]string{
		"audio/aac":                {"a.aac"},
		"audio/aiff":               {"a.aif", "a.aiff"},
		"audio/amr":                {"a.amr"},
		"audio/flac":               {"a.b.flac"},
		"audio/mp4":                {`C:\a.m4a`, "a.mp4"},
		"audio/mpeg":               {"a.MP3", "a.mpga"},
		"audio/ogg":                {"a.oga", "a.ogg"},
		"audio/ogg; codecs=opus":   {"dir.mp3/a.Opus"},
		"audio/wav":                {"a.wav"},
		"audio/webm":               {"a.webm"},
		"audio/x-caf":              {"a.caf"},
		"audio/x-ms-wma":           {"a.wma"},
		"video/mpeg":               {"a.mpeg"},
		"video/quicktime":          {"a.mov"},
		"application/octet-stream": {"a", "a.html", "mp3", "a."},
	} {
		for _, name := range names {
			assert.Equal(t, mediaType, File{Name: name}.mediaType(), name)
		}
	}
}

// The user's content type wins, and reaches the wire as it is.
func TestContentTypeOfTheUserWins(t *testing.T) {
	file := File{Name: "a.mp3", ContentType: `audio/L16; rate=16000; note="as it is"`, Source: Bytes(recording(100))}
	assert.Equal(t, file.ContentType, newService(t).takes(t, bodyOf(t, file)).mediaType)
}

// A page, a document or a picture in place of a recording is a slip that is cheaper to find before it is uploaded and
// billed. Only such proof counts: the API names no formats.
func TestOnlyFilesThatAreProvedToBeNoAudioAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		head []byte
		kind string
	}{
		"HTML":             {[]byte("<!DOCTYPE html><title>Log in</title>"), "an HTML page"},
		"HTML with blanks": {[]byte("\r\n\t <HTML lang=en>"), "an HTML page"},
		"HTML head":        {[]byte("<head><title>Log in</title>"), "an HTML page"},
		"PDF":              {[]byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3"), "a PDF document"},
		"PNG":              {fromHex(t, "89504e47 0d0a1a0a 0000000d 49484452"), "a PNG image"},
		"JPEG":             {fromHex(t, "ffd8ffe0 00104a46 49460001"), "a JPEG image"},
		"GIF":              {[]byte("GIF89a\x01\x00"), "a GIF image"},
		"old GIF":          {[]byte("GIF87a\x01\x00"), "a GIF image"},
		"WebP":             {fromHex(t, "52494646 24080000 57454250 56503820"), "a WebP image"},
		"ZIP":              {fromHex(t, "504b0304 14000000"), "a ZIP archive"},
		"gzip":             {fromHex(t, "1f8b0808 00000000"), "a gzip archive"},
	} {
		assert.Equal(t, c.kind, noAudio[http.DetectContentType(c.head)], name)
	}
	for name, head := range map[string][]byte{
		"silence":              make([]byte, 512),
		"noise":                fromHex(t, "9c3f0a81 77e10d20 11f4"),
		"three letters":        []byte("abc"),
		"nothing":              nil,
		"G.711 silence":        bytes.Repeat([]byte{0xff}, 512),
		"text":                 []byte("Minutes of the meeting"),
		"text in UTF-16":       []byte("\xff\xfeH\x00e\x00l\x00l\x00o\x00"),
		"JSON":                 []byte(`{"message":"Unauthenticated."}`),
		"XML":                  []byte("<?xml version=\"1.0\"?>"),
		"playlist":             []byte("#EXTM3U\n"),
		"part of PDF's name":   []byte("%PDF"),
		"WAV":                  fromHex(t, "52494646 24080000 57415645 666d7420"),
		"MP3":                  fromHex(t, "fffb9064 00000000"),
		"MP3 with ID3":         fromHex(t, "49443303 00000000 0f76"),
		"Ogg":                  fromHex(t, "4f676753 00020000"),
		"M4A":                  fromHex(t, "00000020 66747970 4d344120 00000200"),
		"MP4":                  fromHex(t, "00000020 66747970 69736f6d 00000200"),
		"WebM":                 fromHex(t, "1a45dfa3 9f428681"),
		"MPEG video":           fromHex(t, "000001ba 44"),
		"samples like an icon": fromHex(t, "00000100 01001010"),
		"samples like BMP":     fromHex(t, "424d3640 00010100"),
		"samples like a font":  fromHex(t, "00010000 00000000"),
		"samples like TIFF":    fromHex(t, "49492a00 08000000"),
	} {
		assert.Empty(t, noAudio[http.DetectContentType(head)], name)
	}
}
