package upload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExtensionDecidesTheMediaTypeOnEveryMachine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.aac": "audio/aac", "a.aif": "audio/aiff", "a.aiff": "audio/aiff", "a.amr": "audio/amr",
		"a.b.flac": "audio/flac", `C:\a.m4a`: "audio/mp4", "a.mp4": "audio/mp4", "a.MP3": "audio/mpeg",
		"a.mpga": "audio/mpeg", "a.oga": "audio/ogg", "a.ogg": "audio/ogg", "a.wav": "audio/wav",
		"dir.mp3/a.Opus": "audio/ogg; codecs=opus", "a.webm": "audio/webm", "a.caf": "audio/x-caf",
		"a.wma": "audio/x-ms-wma", "a.mpeg": "video/mpeg", "a.mov": "video/quicktime",
		"a": "application/octet-stream", "a.html": "application/octet-stream", "mp3": "application/octet-stream",
		"a.": "application/octet-stream",
	} {
		assert.Equal(t, want, File{Name: name}.mediaType(), name)
	}
	const own = `audio/L16; rate=16000; note="as it is"`
	assert.Equal(t, own, File{Name: "a.mp3", ContentType: own}.mediaType(), "the user's type")
}
