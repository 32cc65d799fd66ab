package upload

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go/internal/wire"
)

// File is a file to upload.
type File struct {
	Name        string // only what follows the last slash or backslash is sent
	ContentType string // empty takes it from the first bytes, else from the name
	Size        int64  // declared for a reader that cannot tell; 0 is "find out"
	Source      Source
}

// Facts are what [File.Inspect] found out.
type Facts struct {
	Size int64  // in bytes; -1 where it is unknown
	Head []byte // the first bytes
}

// Problem is a reason not to send a file.
type Problem struct {
	Reason   string // follows the name of the field: "must not be empty"
	Hint     string // for the programmer; may be empty
	Waivable bool   // the user may want to send the file all the same
	Err      error  // the cause; may be nil
}

// Inspect looks at the file before anything is sent. Whatever is wrong with the file is a problem. The error is the
// context's cause where that ended, or a [*wire.TimeoutError] where a Read waited for longer than stall; 0 is no limit.
func (f File) Inspect(ctx context.Context, stall time.Duration) (Facts, []Problem, error) {
	if f.Source == nil {
		return Facts{}, []Problem{{Reason: "is required"}}, nil
	}
	problems := f.badNames()
	if f.Size < 0 {
		return Facts{}, append(problems, Problem{Reason: fmt.Sprintf("must not have the Size %d", f.Size), Hint: "0 is an unknown size"}), nil
	}
	if stall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, stall, &wire.TimeoutError{Stalled: true, ByReader: true, Limit: stall})
		defer cancel()
	}
	size, head, err := f.read(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return Facts{}, nil, context.Cause(ctx)
	case err != nil:
		problem := Problem{Reason: "cannot be read: " + err.Error(), Err: err}
		if err == errUsed {
			problem.Hint = "open a reader for each call, or use one that can seek"
		}
		return Facts{}, append(problems, problem), nil
	}
	problems = append(problems, f.badContent(size, head)...)
	if size < 0 && f.Size > 0 {
		size = f.Size
	}
	return Facts{size, head}, problems, nil
}

// read returns the size, -1 where it is unknown, and the first bytes.
func (f File) read(ctx context.Context) (int64, []byte, error) {
	o, err := f.Source.open(ctx, f.Size)
	if err != nil {
		return 0, nil, err
	}
	defer o.done()
	head, err := readHead(o.r)
	if err == nil && int64(len(head)) < min(headSize, o.size) {
		err = fmt.Errorf("it ended at byte %d, but its size is %d", len(head), o.size)
	}
	return o.size, head, err
}

// badNames finds at most one problem with what goes into the header of the file's part.
func (f File) badNames() []Problem {
	var reason string
	switch name := f.base(); {
	case strings.TrimSpace(name) == "" || name == "." || name == "..":
		reason = "must have a file name"
	case !utf8.ValidString(name):
		reason = "must have a name in valid UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "must have a name without control characters or line breaks"
	case strings.ContainsFunc(f.ContentType, unicode.IsControl) || strings.TrimSpace(f.ContentType) != f.ContentType:
		reason = "must have a content type without control characters or white space around it"
	default:
		return nil
	}
	return []Problem{{Reason: reason}}
}

// badContent finds at most one problem with a file that could be read.
func (f File) badContent(size int64, head []byte) []Problem {
	var problem Problem
	switch s, _ := f.Source.(*stream); {
	case f.Size > 0 && size >= 0 && size != f.Size:
		problem.Reason = fmt.Sprintf("has %d bytes, but its Size says %d", size, f.Size)
	case f.Size > 0 && f.Size < int64(len(head)):
		problem.Reason = fmt.Sprintf("has more than the %d bytes that its Size says", f.Size)
	case size == 0:
		problem = Problem{Reason: "must not be empty", Waivable: true}
		if s != nil && s.start > 0 {
			problem.Hint = fmt.Sprintf("the reader stands at its end, byte %d: seek to the start, Seek(0, io.SeekStart)", s.start)
		}
	default:
		kind := notAudio(head)
		if kind == "" {
			return nil
		}
		problem = Problem{Reason: "must be an audio file, but it is " + kind, Waivable: true}
	}
	return []Problem{problem}
}

// base is the name without directories, of any operating system.
func (f File) base() string {
	return f.Name[strings.LastIndexAny(f.Name, `/\`)+1:]
}
