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
	ContentType string // empty is found out
	Size        int64  // declared for a source that cannot tell its size; 0 is "find out"
	Source      Source // nil is a [Problem]
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

// Inspect looks at the file before anything is sent. Whatever is wrong with it is a problem. An error is returned only
// where the context ended or the first bytes did not come within stall, 0 for no limit: then it is the context's cause
// or a [*wire.TimeoutError].
func (f File) Inspect(ctx context.Context, stall time.Duration) (Facts, []Problem, error) {
	var problems []Problem
	add := func(reason, hint string) { problems = append(problems, Problem{Reason: reason, Hint: hint}) }
	if f.Source == nil {
		add("is required", "")
		return Facts{}, problems, nil
	}
	switch name := f.base(); {
	case strings.TrimSpace(name) == "" || name == "." || name == "..":
		add("must have a file name", "")
	case !utf8.ValidString(name):
		add("must have a name in valid UTF-8", "")
	case strings.ContainsFunc(name, unicode.IsControl):
		add("must have a name without control characters or line breaks", "")
	}
	if strings.ContainsFunc(f.ContentType, unicode.IsControl) || strings.TrimSpace(f.ContentType) != f.ContentType {
		add("must have a content type without control characters, and without white space around it", "")
	}
	if f.Size < 0 {
		add(fmt.Sprintf("must not have a negative Size (%d)", f.Size), "leave Size zero where it is unknown")
		return Facts{}, problems, nil
	}
	if stall > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, stall, &wire.TimeoutError{Stalled: true, ByReader: true, Limit: stall})
		defer cancel()
	}
	size, head, err := f.Source.inspect(ctx, f.Size)
	if err != nil && ctx.Err() != nil {
		return Facts{}, nil, context.Cause(ctx)
	}
	if problem, found := f.judge(size, head, err); found {
		problems = append(problems, problem)
	}
	if size < 0 && f.Size > 0 {
		size = f.Size
	}
	return Facts{size, head}, problems, nil
}

// judge finds the problem with a file that was looked at.
func (f File) judge(size int64, head []byte, err error) (problem Problem, found bool) {
	if source, ok := f.Source.(invalid); ok {
		return Problem{Reason: string(source)}, true
	}
	switch err {
	case nil:
	case errUsed:
		return Problem{Reason: "cannot be read: " + err.Error(), Hint: "open a new reader for each call, or use one that can seek", Err: err}, true
	default:
		return Problem{Reason: "cannot be read: " + err.Error(), Err: err}, true
	}
	length := size
	if size < 0 && len(head) < headSize {
		length = int64(len(head))
	}
	switch {
	case f.Size > 0 && length >= 0 && length != f.Size:
		return Problem{Reason: fmt.Sprintf("has %d bytes, but its Size says %d", length, f.Size)}, true
	case f.Size > 0 && length < 0 && f.Size < headSize:
		return Problem{Reason: fmt.Sprintf("has more than the %d bytes that its Size says", f.Size)}, true
	case length == 0:
		problem = Problem{Reason: "must not be empty", Waivable: true}
		if s, ok := f.Source.(*stream); ok && s.start > 0 {
			problem.Hint = fmt.Sprintf("the reader stands at its end, byte %d: call Seek(0, io.SeekStart) to upload what was written", s.start)
		}
		return problem, true
	}
	if kind := notAudio(head); kind != "" {
		return Problem{Reason: "must be an audio file, but it is " + kind, Waivable: true}, true
	}
	return Problem{}, false
}

// base is the name without directories, of any operating system.
func (f File) base() string {
	return f.Name[strings.LastIndexAny(f.Name, `/\`)+1:]
}
