package aicontent

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/redact"
	"github.com/aicontent/aicontent-go/internal/upload"
)

// File is an audio file to upload. It is streamed: an upload holds at most 512 KiB of it in memory. The API does not
// specify audio formats; mp3, mp4, mpeg, mpga, m4a, wav and webm are known to work. A file that begins like a PDF, an
// archive, an HTML page or a common image is refused before it is sent; TIFF, HEIC and AVIF are not recognized.
//
// If a service or proxy rejects the request during the upload, that response is the call's error, after up to some MiB
// were sent in vain.
type File struct {
	// Name is the file name. Only the part after the last slash or backslash is sent.
	Name string

	// ContentType is the media type. If it is empty, the extension of Name decides; an unknown extension means
	// application/octet-stream.
	ContentType string

	// Size is the number of bytes, for a reader or file that does not report it; zero means unknown. If it returns more
	// or fewer bytes, the attempt fails, and the service does not get a complete file.
	Size int64

	source upload.Source
}

// FileFromPath returns the regular file at path, opened anew for each attempt. Its name is the last element of path.
// Problems with the file are reported when it is used. If the context ends while an Open or Read hangs, as on a network
// disk, the call returns and leaves it behind.
func FileFromPath(path string) File {
	return File{Name: filepath.Base(path), source: upload.Path(path)}
}

// FileFromFS returns the file at path in fsys, opened anew for each attempt and read on another goroutine. Its name is
// the last element of path. It may be any file except a directory, because object stores report irregular files. The
// size of such a file is File.Size or, if that is 0, the size that Stat reports. A file that Stat reports as empty is
// read all the same. If the context ends while an Open or Read hangs, the call returns and leaves it behind.
func FileFromFS(fsys fs.FS, path string) File {
	return File{Name: path[strings.LastIndexByte(path, '/')+1:], source: upload.FS(fsys, path)}
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

// attach looks at the file and makes the body of an upload. The error says why the file's first bytes did not come.
func (r *request) attach(
	ctx context.Context, file *File, keys redact.Keys,
) (problems []FieldProblem, causes []error, err error) {
	f := upload.File{Name: file.Name, ContentType: file.ContentType, Size: file.Size, Source: file.source}
	size, p, err := engine.Inspect(ctx, f, r.stall)
	if err != nil {
		return nil, nil, err
	}
	reason := keys.Line(redact.WithoutQueries(oneLine.Replace(p.Reason))) // it may quote the error of a reader
	switch {
	case p.Reason == "" || p.Waivable && r.unchecked:
	case p.Waivable:
		problems = problem(filePart, file.Name, reason, p.Hint, waivable)
	default:
		problems = problem(filePart, file.Name, reason, p.Hint)
	}
	if p.Err != nil {
		causes = []error{shield(keys, p.Err, ErrFile)}
	}
	r.Body = upload.Multipart(r.form, filePart, f, size)
	return problems, causes, nil
}
