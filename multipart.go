package aicontent

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/aicontent/aicontent-go/internal/upload"
)

// File is an audio file to upload. Create one with [FileFromPath], [FileFromFS], [FileFromBytes] or [FileFromReader].
// It is streamed: no more than a copy buffer of it is held in memory. The API names no audio formats; services are
// known to take mp3, mp4, mpeg, mpga, m4a, wav and webm. A file that begins like a PDF, an archive, an HTML page or a
// common image is refused before it is sent; TIFF, HEIC and AVIF are not noticed.
//
// A service or proxy may reject the request while the file is being sent, for its key or the file's size. The
// response is then the call's error, and up to some MiB were sent in vain. With WithHeader("Expect", "100-continue")
// the file is sent only after the service has asked for it, which is also how a rejection behind a TLS forwarder is
// heard for certain. It is not the default, as a service that ignores it delays each attempt by a second.
type File struct {
	// Name is the file name that the service gets. Only the part after the last slash or backslash is sent.
	Name string

	// ContentType is the file's media type. Empty takes it from the extension of Name; an unknown one is
	// application/octet-stream.
	ContentType string

	// Size is the number of bytes, for a reader that cannot tell it; 0 finds it out. A reader that returns more or
	// fewer bytes ends the attempt with an error, and the service gets no whole file.
	Size int64

	source upload.Source
}

// FileFromPath returns the regular file at path, which each attempt opens afresh. The name is the last element of
// path. Problems with the file are found when it is used.
func FileFromPath(path string) File {
	return File{Name: filepath.Base(path), source: upload.Path(path)}
}

// FileFromFS returns the file at path in fsys, which each attempt opens afresh. The name is the last element of path.
// It may be anything but a directory: files of object stores call themselves irregular. Such a file's size is
// [File].Size or, where that is 0, the size that its Stat tells, if any.
func FileFromFS(fsys fs.FS, path string) File {
	return File{Name: path[strings.LastIndexByte(path, '/')+1:], source: upload.FS(fsys, path)}
}

// FileFromBytes returns a file with the given content, which must not be changed before the call returns.
func FileFromBytes(name string, data []byte) File {
	return File{Name: name, source: upload.Bytes(data)}
}

// FileFromReader returns a file with the content of r from its current position. The SDK does not close r. It must not
// be used before the call returns; where it then stands is undefined. If the context ends while a Read waits, the call
// returns within a moment without it: that one Read or Seek may still be executing, and r must not be used before it
// has returned.
//
// A reader that can seek, such as a [bytes.Reader] or an open file, is rewound to where it stood when the call is
// retried. Any other, such as the body of an incoming request, can be read once: the call is then not retried once an
// attempt has read any of it.
//
// A reader that can seek, or has a method Len() int, tells its size; for any other set [File].Size where it is known.
// A [mime/multipart.Part] never tells its size, nor does the body of a request. Without a size the upload is chunked.
// Some services refuse that with 411, and Django, and PHP after Apache's proxy, see an empty form.
func FileFromReader(name string, r io.Reader) File {
	return File{Name: name, source: upload.Reader(r)}
}

// Progress is how far an upload is, in bytes of the file without the form around it.
type Progress struct {
	Sent    int64 // bytes that the network has taken in this attempt
	Total   int64 // the file's size; -1 where it is unknown
	Attempt int   // counts from 1
}

// filePart is the name of the file in the form of an upload.
const filePart = "file"

// attach looks at the file and makes the body of an upload. The error is what ended the wait for the file's first
// bytes.
func (r *request) attach(
	ctx context.Context, file *File, unchecked bool,
) (problems []FieldProblem, causes []error, err error) {
	f := upload.File{Name: file.Name, ContentType: file.ContentType, Size: file.Size, Source: file.source}
	size, found, err := f.Inspect(ctx, r.stall)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range found {
		switch {
		case !p.Waivable:
			problems = append(problems, problem(filePart, file.Name, p.Reason, p.Hint)...)
		case !unchecked:
			problems = append(problems, problem(filePart, file.Name, p.Reason, p.Hint, waivable)...)
		}
		if p.Err != nil {
			causes = append(causes, p.Err)
		}
	}
	r.body = upload.Multipart(r.form, filePart, f, size)
	return problems, causes, nil
}
