package recipes

import (
	"context"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// longestStore measures the longest time from a create request to its record. That includes a record that appeared
// after a 504, if the call waited for it.
type longestStore struct {
	mu   sync.Mutex
	took time.Duration
}

// measure calls a function that makes one Store call of package once with the given option.
func (l *longestStore) measure(store func(aicontent.CallOption) error) error {
	var sent time.Time
	err := store(aicontent.WithAttemptHook(func(_ context.Context, a aicontent.Attempt) (done, error) {
		if a.Operation == aicontent.ImagesStore || a.Operation == aicontent.TranscriptionsStore {
			sent = time.Now()
		}
		return nil, nil
	}))
	if err == nil && !sent.IsZero() { // otherwise there is no record or no request of this call
		l.mu.Lock()
		defer l.mu.Unlock()
		l.took = max(l.took, time.Since(sent))
	}
	return err
}

// settleTime returns the settle time: twice the sum of the measured time, the lag of the service's lists and the
// difference between the clocks of your machines.
func (l *longestStore) settleTime(lag, clocks time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return 2 * (l.took + lag + clocks)
}
