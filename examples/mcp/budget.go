package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/aicontent/aicontent-go"
)

// A budget is how many create requests of a day, in UTC, create a record or may have. Each takes a number up to the
// limit, which is a file in the folder. So the limit survives a restart, and all servers of the folder share it.
type budget struct {
	dir   string
	limit uint
}

var errLimit = errors.New("the daily limit is reached")

// attempt is a hook that refuses create requests above the limit.
func (b *budget) attempt(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	if a.Operation != aicontent.ImagesStore && a.Operation != aicontent.TranscriptionsStore {
		return nil, nil
	}
	day := today()
	for n := range b.limit {
		path := filepath.Join(b.dir, fmt.Sprintf("%s.%d", day, n+1))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return func(r aicontent.AttemptResult) {
			if r.Outcome == aicontent.OutcomeNotSent || r.Outcome == aicontent.OutcomeRejected {
				_ = os.Remove(path) // a file that stays counts
			}
		}, f.Close()
	}
	return nil, errLimit
}

// left is how many records may still be created today.
func (b *budget) left() uint {
	used, _ := fs.Glob(os.DirFS(b.dir), today()+".*") // the pattern is well-formed
	return b.limit - min(uint(len(used)), b.limit)
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }
