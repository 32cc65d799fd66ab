package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// A journal is a folder with an empty file for each create request that created a record, or may have. Thus a restart
// neither lifts the limit nor forgets what is still being created. A file is named for its time and its record.
type journal struct {
	dir     string
	limit   uint // of files a day
	started time.Time
	mu      sync.Mutex
}

type nameKey struct{}

var errLimit = errors.New("the daily limit is reached")

// attempt is a hook that refuses create requests above the limit. Searches pass: what they find may have been billed.
func (j *journal) attempt(ctx context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	name, creates := ctx.Value(nameKey{}).(string)
	if !creates || a.Search {
		return nil, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.left() == 0 {
		return nil, errLimit
	}
	path := filepath.Join(j.dir, time.Now().UTC().Format("20060102T150405.000000000_")+name)
	return func(r aicontent.AttemptResult) {
		if r.Outcome == aicontent.OutcomeNotSent || r.Outcome == aicontent.OutcomeRejected {
			_ = os.Remove(path) // a file that stays counts, and its record is looked for
		}
	}, os.WriteFile(path, nil, 0o600)
}

// left is how many records may still be created today.
func (j *journal) left() uint {
	today, _ := fs.Glob(os.DirFS(j.dir), time.Now().UTC().Format("20060102*")) // the pattern is well-formed
	return j.limit - min(uint(len(today)), j.limit)
}

// lastTry returns until when an earlier server was at work on the record, at the latest; zero if none was.
func (j *journal) lastTry(name string) time.Time {
	if files, _ := fs.Glob(os.DirFS(j.dir), "*_"+name); len(files) == 0 {
		return time.Time{}
	}
	return j.started
}
