package upload

import (
	"bytes"
	"cmp"
	"path"
	"strings"
)

// signature is how a format begins. A blank in the pattern matches any byte.
type signature struct{ pattern, meaning string }

// audio ties first bytes to media types. The first match counts.
var audio = []signature{
	{"RIFF    WAVE", "audio/wav"}, {"RF64    WAVE", "audio/wav"}, {"ID3", "audio/mpeg"}, {"fLaC", "audio/flac"},
	{"FORM    AIFF", "audio/aiff"}, {"FORM    AIFC", "audio/aiff"}, {"caff\x00", "audio/x-caf"}, {".snd", "audio/basic"},
	{"#!AMR-WB\n", "audio/amr-wb"}, {"#!AMR\n", "audio/amr"}, {"ADIF", "audio/aac"}, {"NIST_1A\n", "audio/x-nist"},
	{"0&\xb2u\x8ef\xcf\x11", "audio/x-ms-wma"}, {"    ftypqt  ", "video/quicktime"}, {"    ftyp3g", "audio/3gpp"}, {"    ftyp", "audio/mp4"},
	{"OggS", "audio/ogg"}, {"\x1aE\xdf\xa3", "audio/webm"},
}

// noAudio proves a slip. Short signatures are left out: raw samples may begin with anything.
var noAudio = []signature{
	{"%PDF-", "a PDF document"}, {"PK\x03\x04", "a ZIP archive"}, {"\x1f\x8b\x08", "a gzip archive"},
	{"\x89PNG\r\n\x1a\n", "a PNG image"}, {"\xff\xd8\xff", "a JPEG image"}, {"GIF87a", "a GIF image"}, {"GIF89a", "a GIF image"},
	{"RIFF    WEBP", "a WebP image"}, {"II*\x00", "a TIFF image"}, {"MM\x00*", "a TIFF image"}, {"BM    \x00\x00\x00\x00", "a BMP image"},
	{"    ftyphei", "a HEIC image"}, {"    ftyphev", "a HEIC image"}, {"    ftypmif1", "a HEIF image"}, {"    ftypmsf1", "a HEIF image"},
	{"    ftypavi", "an AVIF image"},
}

// page is how a page begins, in small letters and without white space before it.
var page = []signature{{"<!doctype html", "an HTML page"}, {"<html", "an HTML page"}, {"<head", "an HTML page"}}

// extensions serve where the content does not tell. The operating system's table differs from machine to machine.
var extensions = map[string]string{
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".mpga": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg", ".oga": "audio/ogg",
	".opus": "audio/ogg; codecs=opus", ".m4a": "audio/mp4", ".mp4": "audio/mp4", ".webm": "audio/webm", ".aac": "audio/aac", ".amr": "audio/amr",
	".aif": "audio/aiff", ".aiff": "audio/aiff", ".caf": "audio/x-caf", ".wma": "audio/x-ms-wma", ".mpeg": "video/mpeg", ".mov": "video/quicktime",
}

// mediaType is what the user set, what the first bytes tell, or what the extension tells, in that order.
func (f File) mediaType(head []byte) string {
	return cmp.Or(f.ContentType, sniff(head), extensions[strings.ToLower(path.Ext(f.base()))], "application/octet-stream")
}

// sniff returns the media type of audio by its first bytes, or an empty string where they do not tell.
func sniff(head []byte) string {
	found := match(head, audio)
	switch {
	case found == "audio/ogg" && bytes.Contains(head, []byte("OpusHead")):
		return "audio/ogg; codecs=opus"
	case found == "audio/webm" && bytes.Contains(head, []byte("matroska")):
		return "audio/x-matroska"
	case found != "" || len(head) < 3 || head[0] != 0xff:
		return found
	case head[1]&0xf6 == 0xf0 && head[2]&0x3c < 13<<2:
		// ADTS: twelve bits of sync, layer 0, a sampling frequency that is not reserved.
		return "audio/aac"
	case head[1]&0xe0 == 0xe0 && (head[1]&0x06 == 0x02 || head[1]&0x06 == 0x04) && head[1]&0x18 != 0x08 && head[2]&0xf0 != 0xf0 && head[2]&0x0c != 0x0c:
		// MPEG audio: eleven bits of sync, layer III or II, nothing reserved. Layer I, out of use, would match text in UTF-16.
		return "audio/mpeg"
	}
	return ""
}

// notAudio names what a file is where its signature proves that it is no audio, and is empty otherwise.
func notAudio(head []byte) string {
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	return cmp.Or(match(head, noAudio), match(text, page))
}

func match(head []byte, list []signature) string {
next:
	for _, s := range list {
		for i := range len(s.pattern) {
			if i >= len(head) || s.pattern[i] != ' ' && s.pattern[i] != head[i] {
				continue next
			}
		}
		return s.meaning
	}
	return ""
}
