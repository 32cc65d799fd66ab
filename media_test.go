package aicontent

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fromHex reads the first bytes of a file as programs that make such files write them.
func fromHex(t *testing.T, text string) []byte {
	head, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return append(head, make([]byte, 64)...)
}

// The content says what a file is, whatever its name claims: services judge by the type they are told.
func TestMediaTypesByContent(t *testing.T) {
	for name, c := range map[string]struct{ head, mediaType string }{
		"MP3 with ID3":          {"49443303 00000000 0f76", "audio/mpeg"},
		"MP3, MPEG-1 layer III": {"fffb9064 00000000", "audio/mpeg"},
		"MP3 with checksums":    {"fffa9064 00000000", "audio/mpeg"},
		"MP3, MPEG-2 layer III": {"fff384c4 00000000", "audio/mpeg"},
		"MP3, MPEG-2.5":         {"ffe318c4 00000000", "audio/mpeg"},
		"MP2, MPEG-1 layer II":  {"fffd8404 00000000", "audio/mpeg"},
		"WAV":                   {"52494646 24080000 57415645 666d7420", "audio/wav"},
		"WAV over 4 GiB":        {"52463634 ffffffff 57415645 64733634", "audio/wav"},
		"FLAC":                  {"664c6143 00000022", "audio/flac"},
		"Ogg Vorbis":            {"4f676753 00020000 00000000 00000000 0000 0000 0000 0000 0000 011e 01766f72 626973", "audio/ogg"},
		"Opus":                  {"4f676753 00020000 00000000 00000000 0000 0000 0000 0000 0000 0113 4f707573 48656164", "audio/ogg; codecs=opus"},
		"M4A":                   {"00000020 66747970 4d344120 00000200", "audio/mp4"},
		"M4B":                   {"00000020 66747970 4d344220 00000200", "audio/mp4"},
		"MP4":                   {"00000020 66747970 69736f6d 00000200", "audio/mp4"},
		"MP4 for streaming":     {"0000001c 66747970 64617368 00000000", "audio/mp4"},
		"QuickTime":             {"00000014 66747970 71742020 00000200", "video/quicktime"},
		"3GPP":                  {"00000018 66747970 33677034 00000000", "audio/3gpp"},
		"WebM":                  {"1a45dfa3 9f428681 0142f781 0142f281 0442f381 08428284 7765626d", "audio/webm"},
		"Matroska":              {"1a45dfa3 a3428681 0142f781 0142f281 0442f381 08428288 6d617472 6f736b61", "audio/x-matroska"},
		"AAC in ADTS":           {"fff15080 02bffc", "audio/aac"},
		"AAC in ADTS, MPEG-2":   {"fff95080 02bffc", "audio/aac"},
		"AAC in ADIF":           {"41444946 40", "audio/aac"},
		"AMR":                   {"2321414d 520a 3c", "audio/amr"},
		"AMR wideband":          {"2321414d 522d5742 0a 04", "audio/amr-wb"},
		"AIFF":                  {"464f524d 00000000 41494646 434f4d4d", "audio/aiff"},
		"AIFF, compressed":      {"464f524d 00000000 41494643 46564552", "audio/aiff"},
		"CAF":                   {"63616666 00010000 64657363", "audio/x-caf"},
		"WMA":                   {"3026b275 8e66cf11 a6d900aa 0062ce6c", "audio/x-ms-wma"},
		"Sun audio":             {"2e736e64 00000018", "audio/basic"},
		"SPHERE":                {"4e495354 5f31410a 20202031 3032340a", "audio/x-nist"},
	} {
		head := fromHex(t, c.head)
		assert.Equal(t, c.mediaType, (&File{Name: "a.bin"}).mediaType(head), name)
		assert.Empty(t, notAudio(head), name)
	}
}

// Where the content does not tell, the extension does, the same on every machine.
func TestMediaTypesByName(t *testing.T) {
	silence := make([]byte, 64)
	for name, mediaType := range map[string]string{
		"a.wav": "audio/wav", "a.MP3": "audio/mpeg", "a.b.flac": "audio/flac", "dir.mp3/a.Opus": "audio/ogg; codecs=opus",
		`C:\a.m4a`: "audio/mp4", "a.webm": "audio/webm", "a.aac": "audio/aac", "a.amr": "audio/amr", "a.aif": "audio/aiff", "a.ogg": "audio/ogg",
		"a": "application/octet-stream", "a.html": "application/octet-stream", "mp3": "application/octet-stream", "a.": "application/octet-stream",
	} {
		assert.Equal(t, mediaType, (&File{Name: name}).mediaType(silence), name)
		assert.Equal(t, mediaType, (&File{Name: name}).mediaType(nil), name)
	}
}

// What the caller says wins, and reaches the wire as it is.
func TestMediaTypesByTheCaller(t *testing.T) {
	var in intake
	c := uploadClient(t, &in)
	file := FileFromBytes("a.mp3", recording(100))
	file.ContentType = `audio/L16; rate=16000; note="as it is"`
	require.NoError(t, storeFile(t.Context(), c, file))
	assert.Equal(t, file.ContentType, in.last(t).mediaType)
}

// A page, a document or a picture in place of a recording is a slip that is cheaper to find before it is uploaded and billed.
func TestWhatIsPlainlyNoAudio(t *testing.T) {
	for name, c := range map[string]struct {
		head []byte
		kind string
	}{
		"HTML":            {[]byte("<!DOCTYPE html><title>Log in</title>"), "text/html"},
		"PDF":             {[]byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3"), "application/pdf"},
		"PNG":             {fromHex(t, "89504e47 0d0a1a0a 0000000d 49484452"), "image/png"},
		"JPEG":            {fromHex(t, "ffd8ffe0 00104a46 49460001"), "image/jpeg"},
		"WebP":            {fromHex(t, "52494646 24080000 57454250 56503820"), "image/webp"},
		"HEIC":            {fromHex(t, "00000018 66747970 68656963 00000000"), "image/heic"},
		"AVIF":            {fromHex(t, "0000001c 66747970 61766966 00000000"), "image/avif"},
		"ZIP":             {fromHex(t, "504b0304 14000000"), "application/zip"},
		"text":            {[]byte("Minutes of the meeting"), "text/plain"},
		"text in UTF-16":  {[]byte("\xff\xfeH\x00e\x00l\x00l\x00o\x00"), "text/plain"},
		"text with a BOM": {[]byte("\xef\xbb\xbfMinutes"), "text/plain"},
		"JSON":            {[]byte(`{"message":"Unauthenticated."}`), "text/plain"},
	} {
		assert.Equal(t, c.kind, notAudio(c.head), name)
	}
	for name, head := range map[string][]byte{
		"silence": make([]byte, 512), "noise": fromHex(t, "9c3f0a81 77e10d20 11f4"), "three letters": []byte("abc"),
		"AVI": fromHex(t, "52494646 24080000 41564920 4c495354"), "MPEG video": fromHex(t, "000001ba 44"),
	} {
		assert.Empty(t, notAudio(head), name)
	}
}
