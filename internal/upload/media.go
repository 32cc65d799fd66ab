package upload

import (
	"cmp"
	"path"
	"strings"
)

// mediaTypes are those of extensions. The operating system's table differs from machine to machine.
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

// mediaType is what the user set, or else what the extension tells.
func (f File) mediaType() string {
	return cmp.Or(f.ContentType, mediaTypes[strings.ToLower(path.Ext(f.base()))], "application/octet-stream")
}

// noAudio are the results of http.DetectContentType that prove a slip. Raw samples may look like its other results:
// icons, fonts, bitmaps and text.
var noAudio = map[string]string{
	"application/pdf":          "a PDF document",
	"application/x-gzip":       "a gzip archive",
	"application/zip":          "a ZIP archive",
	"image/gif":                "a GIF image",
	"image/jpeg":               "a JPEG image",
	"image/png":                "a PNG image",
	"image/webp":               "a WebP image",
	"text/html; charset=utf-8": "an HTML page",
}
