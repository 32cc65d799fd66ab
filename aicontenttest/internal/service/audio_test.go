package service

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAudioFormatIsReadFromTheHeadOfAFile(t *testing.T) {
	// 16000 samples a second of two bytes, 40000 bytes of data.
	const wavFormat = "fmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00"
	const wavData = "data\x40\x9c\x00\x00"
	const wavLength = 1250 * time.Millisecond
	for name, c := range map[string]struct {
		head     string
		format   string
		duration time.Duration
	}{
		"WAV":                      {"RIFF\x64\x9c\x00\x00WAVE" + wavFormat + wavData, "WAV", wavLength},
		"WAV with an odd chunk":    {"RIFF----WAVELIST\x03\x00\x00\x00abc\x00" + wavFormat + wavData, "WAV", wavLength},
		"WAV without format":       {"RIFF----WAVE" + wavData, "WAV", 0},
		"WAV cut off":              {"RIFF----WAVEfmt \xff\xff\xff\xff", "WAV", 0},
		"WAV with a huge chunk":    {"RIFF----WAVELIST\xff\xff\xff\xffabcdefghij", "WAV", 0},
		"FLAC":                     {"fLaC\x00\x00\x00\x22", "", 0},
		"M4A":                      {"\x00\x00\x00\x20ftypM4A ", "MP4", 0},
		"WebM":                     {"\x1a\x45\xdf\xa3", "WebM", 0},
		"MP3 with tags":            {"ID3\x03", "MP3", 0},
		"MP3":                      {"\xff\xfb\x90\x64", "MP3", 0},
		"AAC":                      {"\xff\xf1\x50\x80", "", 0},
		"text":                     {"Hello, this is no audio", "", 0},
		"nothing":                  {"", "", 0},
		"a picture that is no WAV": {"RIFF----WEBPVP8 ", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			format, duration := audioFormat([]byte(c.head))
			assert.Equal(t, c.format, format)
			assert.Equal(t, c.duration, duration)
		})
	}
}

func TestReportSaysWhatWasReceived(t *testing.T) {
	u := Upload{Size: 40044, SHA256: strings.Repeat("ab", 32), Format: "WAV", Duration: 1250 * time.Millisecond}
	const says = "No transcript: this is a test server. It received WAV audio, 1.25 seconds, 40044 bytes, sha256 "
	assert.Equal(t, says+u.SHA256+".", u.report())
	u.Format, u.Duration = "", 0
	assert.Contains(t, u.report(), "received a file of unknown format, 40044 bytes")
}
