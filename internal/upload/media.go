package upload

import (
	"cmp"
	"path"
	"strings"
)

// mediaTypes are the media types of file name extensions. Package mime would read the table of the operating system,
// which differs between machines.
var mediaTypes = map[string]string{
	".aac":  "audio/aac",
	".aif":  "audio/aiff",
	".aiff": "audio/aiff",
	".amr":  "audio/amr",
	".caf":  "audio/x-caf",
	".flac": "audio/flac",
	".m4a":  "audio/mp4",
	".mov":  "video/quicktime",
	".mp3":  "audio/mpeg",
	".mp4":  "audio/mp4",
	".mpeg": "video/mpeg",
	".mpga": "audio/mpeg",
	".oga":  "audio/ogg",
	".ogg":  "audio/ogg",
	".opus": "audio/ogg; codecs=opus",
	".wav":  "audio/wav",
	".webm": "audio/webm",
	".wma":  "audio/x-ms-wma",
}

// mediaType returns the user's content type, else the type of the extension.
func (f File) mediaType() string {
	return cmp.Or(f.ContentType, mediaTypes[strings.ToLower(path.Ext(f.Base()))], "application/octet-stream")
}
