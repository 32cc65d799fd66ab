package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aicontent/aicontent-go"
)

// A budget is how many create requests of a day, in UTC, create a record or may have. Each is an empty file in the
// folder: so the limit survives a restart, and all servers of the folder share it.
type budget struct {
	dir   string
	limit uint
}

// A spent is the error for a day whose limit is reached.
type spent struct {
	limit    uint
	midnight time.Time
}

func (s spent) Error() string {
	return fmt.Sprintf("the limit of %d records a day is reached: create nothing before midnight UTC", s.limit)
}

// attempt is a hook that refuses create requests above the limit.
func (b *budget) attempt(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	if a.Method != http.MethodPost {
		return nil, nil
	}
	now := time.Now().UTC()
	day := now.Format(time.DateOnly)
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
			if r.Outcome == aicontent.OutcomeNotExecuted {
				_ = os.Remove(path) // a file that stays counts
			}
		}, f.Close()
	}
	return nil, spent{b.limit, now.Truncate(24 * time.Hour).Add(24 * time.Hour)}
}
