package service

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAudioFormatIsReadFromTheHeadOfAFile(t *testing.T) {
	for name, c := range map[string]struct{ head, format string }{
		"WAV":                      {"RIFF\x64\x9c\x00\x00WAVEfmt ", "WAV"},
		"FLAC":                     {"fLaC\x00\x00\x00\x22", ""},
		"M4A":                      {"\x00\x00\x00\x20ftypM4A ", "MP4"},
		"WebM":                     {"\x1a\x45\xdf\xa3", "WebM"},
		"MP3 with tags":            {"ID3\x03", "MP3"},
		"MP3":                      {"\xff\xfb\x90\x64", "MP3"},
		"AAC":                      {"\xff\xf1\x50\x80", ""},
		"text":                     {"Hello, this is no audio", ""},
		"nothing":                  {"", ""},
		"a picture that is no WAV": {"RIFF----WEBPVP8 ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.format, audioFormat([]byte(c.head)))
		})
	}
}

func TestReportSaysWhatWasReceived(t *testing.T) {
	u := Upload{Size: 40044, SHA256: strings.Repeat("ab", 32), Format: "WAV"}
	const says = "No transcript: this is a test server. It received WAV audio, 40044 bytes, sha256 "
	assert.Equal(t, says+u.SHA256+".", u.report())
	u.Format = ""
	assert.Contains(t, u.report(), "received a file of unknown format, 40044 bytes")
}
