package aicontent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// File is an audio file to upload. It is streamed: an upload of any size holds at most 512 KiB of it in memory, and
// [WithProgress] reports how far it is. The API does not specify audio formats; mp3, mp4, mpeg, mpga, m4a, wav and webm
// are known to work. A file that begins like a PDF, an archive, an HTML page or a common image is refused before it is
// sent; TIFF, HEIC and AVIF are not recognized.
//
// If a service or proxy rejects the request during the upload, that response is the call's error, after up to some MiB
// were sent in vain.
type File struct {
	// Name is the file name. Only the part after the last slash or backslash is sent.
	Name string

	// ContentType is the media type. If it is empty, the extension of Name decides; an unknown extension means
	// application/octet-stream.
	ContentType string

	// Size is the number of bytes, for a reader or file that does not report it; zero means unknown. If the content is
	// longer or shorter, the attempt fails, and the service does not get a complete file.
	Size int64

	source upload.Source
}

// FileFromPath returns the regular file at path, opened anew for each attempt. Its name is the last element of path.
// Problems with the file are reported when it is used. If the context ends while an Open or Read hangs, as on a network
// disk, the call returns and leaves it behind.
func FileFromPath(path string) File {
	return File{Name: filepath.Base(path), source: upload.Path(path)}
}

// FileFromFS returns the file at path in fsys, such as an object store's, opened anew for each attempt and read on
// another goroutine. Its name is the last element of path. It may be any file except a directory, because object stores
// report irregular files. The size of such a file is File.Size or, if that is 0, the size that Stat reports. A file
// that Stat reports as empty is read all the same. If the context ends while an Open or Read hangs, the call returns
// and leaves it behind.
func FileFromFS(fsys fs.FS, path string) File {
	return File{Name: filepath.Base(path), source: upload.FS(fsys, path)}
}

// FileFromBytes returns a file with the given content, which must not be modified before the call returns.
func FileFromBytes(name string, data []byte) File {
	return File{Name: name, source: upload.Bytes(data)}
}

// FileFromReader returns a file with the content of r from its current position. It does not close r. Do not use r
// before the call returns; its position is then undefined. If the context ends during a Read or Seek, the call returns
// within a moment, but r must not be used until that Read or Seek has returned.
//
// If r can seek, as an open file can, each retry rewinds it to where it stood. Any other reader, such as the body of an
// incoming request, can be read only once: the call is not retried once an attempt has read any of it, nor while a Read
// or Seek that stalled has not returned. A panic of r is an error that matches [ErrFile].
//
// A reader that can seek, or has a method Len() int, reports its size; for any other, such as a request's body or a
// mime/multipart.Part, set File.Size if you know it. Without a size, the upload is chunked: some services reject that
// with 411, and Django, and PHP behind Apache's proxy, see an empty form.
func FileFromReader(name string, r io.Reader) File {
	return File{Name: name, source: upload.Reader(r)}
}

// Progress is how far an upload is, in bytes of the file without the form.
type Progress struct {
	Sent    int64 // bytes that the network has accepted in this attempt
	Total   int64 // the file's size; -1 if it is unknown
	Attempt int   // from 1
}

// filePart is the name of the file in the form of an upload.
const filePart = "file"

// body returns the body of an upload, or the problem with the file. Without a problem, the error says why the first
// bytes of the file did not come in time; with one, it is the cause, if there is one.
func (f *File) body(
	ctx context.Context, form url.Values, set *settings, keys redact.Keys,
) (*upload.Body, []FieldProblem, error) {
	if problems := f.check(); problems != nil {
		return nil, problems, nil
	}
	file := upload.File{Name: f.Name, ContentType: f.ContentType, Size: f.Size, Source: f.source}
	size, head, err := engine.Look(ctx, file, set.stall)
	if failed, ok := errors.AsType[*upload.ReadError](err); ok {
		reason := "cannot be read: " + keys.Error(failed.Err).Error()
		return nil, problem(filePart, f.Name, reason), shield(keys, err, ErrFile)
	}
	if err != nil {
		return nil, nil, err
	}
	return upload.Multipart(form, filePart, file, size), f.checkContent(size, head, set.unchecked), nil
}

// check returns the first problem with the fields of f.
func (f File) check() []FieldProblem {
	base := upload.File{Name: f.Name}.Base()
	switch {
	case f.source == nil:
		return problem(filePart, f.Name, "is required",
			"make it with FileFromPath, FileFromFS, FileFromBytes or FileFromReader")
	case strings.Trim(base, ". ") == "", !utf8.ValidString(base), strings.ContainsFunc(base, unicode.IsControl):
		return problem(filePart, f.Name, "must have a file name in UTF-8 without control characters, such as a.mp3")
	case strings.ContainsFunc(f.ContentType, unicode.IsControl), strings.TrimSpace(f.ContentType) != f.ContentType:
		return problem(filePart, f.ContentType, "must have a content type such as audio/mpeg, or none")
	case f.Size < 0:
		return problem(filePart, f.Size, "must have a Size of at least 0, which means unknown")
	}
	return nil
}

// checkContent returns the first problem with the size and the first bytes of f.
func (f File) checkContent(size int64, head []byte, unchecked bool) []FieldProblem {
	kind := noAudio[http.DetectContentType(head)]
	switch {
	case f.Size > 0 && size != f.Size:
		return problem(filePart, f.Name, fmt.Sprintf("has %d bytes, but its Size says %d", size, f.Size))
	case unchecked:
	case size == 0:
		return problem(filePart, f.Name, "must not be empty", waivable)
	case kind != "":
		return problem(filePart, f.Name, "must be an audio file, but it is "+kind, waivable)
	}
	return nil
}

// noAudio are the results of http.DetectContentType that prove a mistake. Its other results prove nothing: raw samples
// may look like icons, fonts, bitmaps or text.
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
