package aicontent

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
)

// magic ties the first bytes of audio formats to their media types. A blank matches any byte.
var magic = []struct{ pattern, mediaType string }{
	{"RIFF    WAVE", "audio/wav"},
	{"RF64    WAVE", "audio/wav"},
	{"ID3", "audio/mpeg"},
	{"fLaC", "audio/flac"},
	{"FORM    AIFF", "audio/aiff"},
	{"FORM    AIFC", "audio/aiff"},
	{"#!AMR-WB\n", "audio/amr-wb"},
	{"#!AMR\n", "audio/amr"},
	{"ADIF", "audio/aac"},
	{"    ftypM4A ", "audio/mp4"},
	{"    ftypM4B ", "audio/mp4"},
	{"    ftypqt  ", "video/quicktime"},
	{"    ftyp3g", "audio/3gpp"},
	{"    ftyp", "audio/mp4"},
	{"caff\x00", "audio/x-caf"},
	{".snd", "audio/basic"},
	{"NIST_1A\n", "audio/x-nist"},
	{"0&\xb2u\x8ef\xcf\x11", "audio/x-ms-wma"},
}

// pictures are in the container of MP4, and nothing to listen to.
var pictures = []struct{ pattern, mediaType string }{
	{"    ftyphei", "image/heic"},
	{"    ftyphev", "image/heic"},
	{"    ftypmif1", "image/heif"},
	{"    ftypmsf1", "image/heif"},
	{"    ftypavi", "image/avif"},
}

// extensions serve where the content does not tell. The system's own table differs from machine to machine.
var extensions = map[string]string{
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".mpga": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg",
	".oga": "audio/ogg", ".opus": "audio/ogg; codecs=opus", ".m4a": "audio/mp4", ".mp4": "audio/mp4", ".webm": "audio/webm", ".aac": "audio/aac",
	".amr": "audio/amr", ".aif": "audio/aiff", ".aiff": "audio/aiff", ".caf": "audio/x-caf", ".wma": "audio/x-ms-wma",
	".mpeg": "video/mpeg", ".mov": "video/quicktime",
}

// mediaType is what the caller set, what the first bytes tell, what the extension tells, in that order.
func (f *File) mediaType(head []byte) string {
	if f.ContentType != "" {
		return f.ContentType
	}
	if found := sniffed(head); found != "" {
		return found
	}
	if found := extensions[strings.ToLower(path.Ext(f.base()))]; found != "" {
		return found
	}
	return "application/octet-stream"
}

// sniffed is the media type of audio by its first bytes, empty where they do not tell.
func sniffed(head []byte) string {
	for _, m := range magic {
		if matches(head, m.pattern) {
			return m.mediaType
		}
	}
	switch {
	case matches(head, "OggS"):
		if bytes.Contains(head, []byte("OpusHead")) {
			return "audio/ogg; codecs=opus"
		}
		return "audio/ogg"
	case matches(head, "\x1aE\xdf\xa3"):
		if bytes.Contains(head, []byte("matroska")) {
			return "audio/x-matroska"
		}
		return "audio/webm"
	case len(head) > 2 && head[0] == 0xff && head[1]&0xf6 == 0xf0:
		// ADTS: twelve bits of sync, then layer 0.
		return "audio/aac"
	case len(head) > 2 && head[0] == 0xff && head[1]&0xe0 == 0xe0 && (head[1]&0x06 == 0x02 || head[1]&0x06 == 0x04) && head[1]&0x18 != 0x08 &&
		head[2]&0xf0 != 0xf0 && head[2]&0x0c != 0x0c:
		// MPEG audio: eleven bits of sync, then layer III or II, and nothing that is reserved. Nobody has files of layer I, which
		// would look like text in UTF-16.
		return "audio/mpeg"
	}
	return ""
}

func matches(head []byte, pattern string) bool {
	if len(head) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != ' ' && pattern[i] != head[i] {
			return false
		}
	}
	return true
}

// notAudio names what a file plainly is where that is neither audio nor video, and is empty for everything else.
func notAudio(head []byte) string {
	for _, m := range pictures {
		if matches(head, m.pattern) {
			return m.mediaType
		}
	}
	// Three letters are not plainly text.
	if sniffed(head) != "" || len(head) < 4 {
		return ""
	}
	found, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	switch {
	case found == "application/octet-stream", found == "application/ogg", strings.HasPrefix(found, "audio/"), strings.HasPrefix(found, "video/"):
		return ""
	}
	return found
}
