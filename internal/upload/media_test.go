package upload

import (
	"bytes"
	"encoding/hex"
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
		"AAC in ADTS, 7350 Hz":  {"fff17080 02bffc", "audio/aac"},
		"AAC with checksums":    {"fff05080 02bffc", "audio/aac"},
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
		assert.Equal(t, c.mediaType, File{Name: "a.bin"}.mediaType(head), name)
		assert.Empty(t, notAudio(head), name)
	}
}

// What only begins like a format must not be called by its name: raw samples would be decoded as something else.
func TestNearMissesOfMediaTypes(t *testing.T) {
	for name, head := range map[string]string{
		"11 bits of sync and layer 0":        "ffe15080 02bffc",
		"layer I":                            "fffe9064 00000000",
		"ADTS with sampling frequency 13":    "fff17480 02bffc",
		"ADTS with sampling frequency 15":    "fff17c80 02bffc",
		"first sync byte fe":                 "fef15080 02bffc",
		"sync of 10 bits":                    "ffdb9064 00000000",
		"MPEG audio of a reserved version":   "ffeb9064 00000000",
		"MPEG audio with a bad bit rate":     "fffbf064 00000000",
		"a bad bit rate and a private bit":   "fffbf164 00000000",
		"a reserved rate and a private bit":  "fffb9d64 00000000",
		"MPEG audio with a reserved rate":    "fffb9c64 00000000",
		"G.711 silence":                      strings.Repeat("ff", 32),
		"16-bit samples near zero":           "00000100 01000000 ffff0000",
		"a RIFF of another kind":             "52494646 24080000 41564920 4c495354",
		"a FORM of another kind":             "464f524d 00000000 38535658",
		"text in UTF-16":                     "fffe4800 65006c00",
		"a box of another kind than ftyp":    "00000020 6d6f6f76 00000000",
		"Ogg's name with another last byte":  "4f676754 00020000",
		"EBML's name with another last byte": "1a45dfa4 9f428681",
	} {
		assert.Equal(t, "application/octet-stream", File{Name: "a.bin"}.mediaType(fromHex(t, head)), name)
		assert.Empty(t, notAudio(fromHex(t, head)), name)
	}
	assert.Equal(t, "audio/mpeg", File{Name: "a.bin"}.mediaType([]byte("\xff\xfb\x90")), "the first three bytes tell")
	for _, cut := range []string{"\xff\xf1", "\xff\xfb", "RIFF0000WAV", "ID", "0000ftyp3"[:7], ""} {
		assert.Equal(t, "application/octet-stream", File{Name: "a.bin"}.mediaType([]byte(cut)), "%q", cut)
	}
}

// Where the content does not tell, the extension does, the same on every machine.
func TestMediaTypesByName(t *testing.T) {
	silence := make([]byte, 64)
	for name, mediaType := range map[string]string{
		"a.wav": "audio/wav", "a.MP3": "audio/mpeg", "a.b.flac": "audio/flac", "dir.mp3/a.Opus": "audio/ogg; codecs=opus",
		`C:\a.m4a`: "audio/mp4", "a.webm": "audio/webm", "a.aac": "audio/aac", "a.amr": "audio/amr", "a.aif": "audio/aiff", "a.ogg": "audio/ogg",
		"a.mpga": "audio/mpeg", "a.oga": "audio/ogg", "a.mp4": "audio/mp4", "a.aiff": "audio/aiff", "a.caf": "audio/x-caf", "a.wma": "audio/x-ms-wma",
		"a.mpeg": "video/mpeg", "a.mov": "video/quicktime",
		"a": "application/octet-stream", "a.html": "application/octet-stream", "mp3": "application/octet-stream", "a.": "application/octet-stream",
	} {
		assert.Equal(t, mediaType, File{Name: name}.mediaType(silence), name)
		assert.Equal(t, mediaType, File{Name: name}.mediaType(nil), name)
	}
}

// What the user says wins, and reaches the wire as it is.
func TestMediaTypesByTheUser(t *testing.T) {
	s := newService(t)
	file := File{Name: "a.mp3", ContentType: `audio/L16; rate=16000; note="as it is"`, Source: Bytes(recording(100))}
	_, _, err := post(t.Context(), s.url, bodyOf(t, file))
	require.NoError(t, err)
	assert.Equal(t, file.ContentType, s.last(t).mediaType)
}

// A page, a document or a picture in place of a recording is a slip that is cheaper to find before it is uploaded and
// billed. Only a signature proves it: the API names no formats.
func TestWhatIsProvedToBeNoAudio(t *testing.T) {
	for name, c := range map[string]struct {
		head []byte
		kind string
	}{
		"HTML":             {[]byte("<!DOCTYPE html><title>Log in</title>"), "an HTML page"},
		"HTML with blanks": {[]byte("\xef\xbb\xbf\r\n\t <HTML lang=en>"), "an HTML page"},
		"HTML head":        {[]byte("<head><title>Log in</title>"), "an HTML page"},
		"PDF":              {[]byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3"), "a PDF document"},
		"PNG":              {fromHex(t, "89504e47 0d0a1a0a 0000000d 49484452"), "a PNG image"},
		"JPEG":             {fromHex(t, "ffd8ffe0 00104a46 49460001"), "a JPEG image"},
		"GIF":              {[]byte("GIF89a\x01\x00"), "a GIF image"},
		"old GIF":          {[]byte("GIF87a\x01\x00"), "a GIF image"},
		"WebP":             {fromHex(t, "52494646 24080000 57454250 56503820"), "a WebP image"},
		"TIFF":             {fromHex(t, "49492a00 08000000"), "a TIFF image"},
		"TIFF, big-endian": {fromHex(t, "4d4d002a 00000008"), "a TIFF image"},
		"BMP":              {fromHex(t, "424d3640 00000000 00003600 0000"), "a BMP image"},
		"HEIC":             {fromHex(t, "00000018 66747970 68656963 00000000"), "a HEIC image"},
		"HEIC sequence":    {fromHex(t, "00000018 66747970 68657663 00000000"), "a HEIC image"},
		"HEIF":             {fromHex(t, "00000018 66747970 6d696631 00000000"), "a HEIF image"},
		"HEIF sequence":    {fromHex(t, "00000018 66747970 6d736631 00000000"), "a HEIF image"},
		"AVIF":             {fromHex(t, "0000001c 66747970 61766966 00000000"), "an AVIF image"},
		"ZIP":              {fromHex(t, "504b0304 14000000"), "a ZIP archive"},
		"gzip":             {fromHex(t, "1f8b0808 00000000"), "a gzip archive"},
	} {
		assert.Equal(t, c.kind, notAudio(c.head), name)
	}
	for name, head := range map[string][]byte{
		"silence": make([]byte, 512), "noise": fromHex(t, "9c3f0a81 77e10d20 11f4"), "three letters": []byte("abc"),
		"G.711 silence": bytes.Repeat([]byte{0xff}, 512), "text": []byte("Minutes of the meeting"), "JSON": []byte(`{"message":"Unauthenticated."}`),
		"text in UTF-16": []byte("\xff\xfeH\x00e\x00l\x00l\x00o\x00"), "playlist": []byte("#EXTM3U\n"), "MPEG video": fromHex(t, "000001ba 44"),
		"samples like an icon": fromHex(t, "00000100 01001010"), "samples like BMP": fromHex(t, "424d3640 00010100"),
		"an HTML comment": []byte("<!-- a -->"), "part of PDF's name": []byte("%PDF"),
	} {
		assert.Empty(t, notAudio(head), name)
	}
}
