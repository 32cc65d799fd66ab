package once

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
)

const (
	margin  = 2 * time.Minute // added to the settle time in an announcement
	cutOff  = margin - 15*time.Second
	renewal = 30 * time.Second

	firstPause = time.Second // between two rounds; it doubles
	lastPause  = 30 * time.Second
	glance     = time.Second // between two reads of the ledger in a pause

	ledgerTime = 30 * time.Second // limit of a Get
	ownTime    = 5 * time.Second  // limit of a Get or Put that goes on when the context ends
)

// slot is the entry of a name as one call sees it. Only get and put use the ledger, only pause waits, and only fail
// makes errors.
type slot struct {
	*config
	place place
	blank entry  // without a request and a record, from this call
	form  string // hash of the form; empty for Find and Delete

	entry   entry
	version string
	seen    time.Time     // when this call first saw or began to write the version
	until   time.Time     // the entry's Until on the monotonic clock
	turn    chan struct{} // nil without a turn

	failed error         // of the create request; nil for none
	sought error         // of the last look at the service; nil for none
	paused time.Time     // start of the first pause for a request; zero before it
	waited time.Duration // sum of all pauses
}

// get reads the entry. It returns the error of the call.
func (s *slot) get(ctx context.Context, limit time.Duration) error {
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	data, version, err := s.ledger.Get(own, s.place.key)
	if err != nil {
		return s.fail(true, ledgerError(ctx, err))
	}
	e, err := decode(data, version)
	if err != nil {
		return s.fail(false, err)
	}
	s.see(e, version, now())
	return nil
}

// write is put with a context of its own, because that of the call may have ended.
func (s *slot) write(ctx context.Context, next entry) error {
	return s.put(context.WithoutCancel(ctx), ownTime, next)
}

// put is rule 7: it replaces the version that this call last saw. If another call has written the entry, it takes over
// that entry without its version, and returns errAgain. A Put that takes longer than the limit fails, because another
// call may have replaced the entry since.
func (s *slot) put(ctx context.Context, limit time.Duration, next entry) (err error) {
	began := now()
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if next.Wrote.IsZero() {
		next.Wrote = began
	}
	data, _ := json.Marshal(next) // which cannot fail for texts, numbers and times of this century
	for range 3 {                 // because a ledger may fail for a moment
		version, failed := s.ledger.Put(own, s.place.key, data, s.version)
		stored := data
		if failed != nil {
			err = ledgerError(ctx, failed)
			if stored, version, failed = s.ledger.Get(own, s.place.key); failed != nil {
				return err
			}
		}
		there, _ := decode(stored, version)
		if version != s.version && there.Call != s.blank.Call {
			s.entry = there
			return errAgain
		}
		s.see(there, version, began) // from this Put, from a late one of this call, or unchanged
		if bytes.Equal(stored, data) {
			if own.Err() == nil {
				return nil
			}
			return ledgerError(ctx, own.Err())
		}
	}
	return err
}

// see takes over an entry. The times of a version count from the moment at which the call first saw it, on the
// monotonic clock, and for no longer than an announcement lasts (rule 8).
func (s *slot) see(e entry, version string, at time.Time) {
	if version == s.version {
		return
	}
	s.entry, s.version, s.seen = e, version, at
	s.until = at.Add(min(e.Until.Sub(at), margin+s.settle))
}

// open reports whether a request may still become a record.
func (s *slot) open() bool { return time.Now().Before(s.until) }

// none is rule 5: it returns the error of a call for a name that has no record and never will have one.
func (s *slot) none(ctx context.Context, retryable bool, why error) error {
	version := s.version
	if s.entry.Free() {
		if err := s.get(context.WithoutCancel(ctx), ownTime); err != nil {
			return err
		}
	}
	if !s.entry.Free() {
		if s.version != version && s.entry.Call != s.blank.Call {
			return errAgain
		}
		if err := s.write(ctx, s.blank); err == errAgain {
			return err
		} else if err != nil {
			return s.fail(true, err)
		}
	}
	e := s.fail(retryable, why)
	e.outcome = aicontent.OutcomeNotExecuted
	return e
}

// pause waits for some time, until another call has written the entry, or for the end of the turn of another call
// unless that is nil. It returns an error if the context or WithMaxWait ends the call.
func (s *slot) pause(ctx context.Context, wait time.Duration, turn <-chan struct{}) error {
	left := s.maxWait - s.waited
	switch {
	case wait <= 0:
		return nil
	case left <= 0:
		return ErrMaxWait
	}
	if s.logger != nil && s.waited == 0 && s.open() {
		s.logger.InfoContext(ctx, "once waits for what a create request may have become",
			"collection", s.blank.Collection, "name", s.blank.Name, "until", s.until)
	}
	start := time.Now()
	defer func() { s.waited += time.Since(start) }()
	own, cancel := context.WithTimeout(ctx, min(wait, left))
	defer cancel()
	for wrote := s.entry.Wrote; s.entry.Wrote.Equal(wrote); { // which renewals keep
		select {
		case <-own.Done():
			return whyEnded(ctx)
		case <-turn:
			return nil
		case <-time.After(glance):
			_ = s.get(own, wait)
		}
	}
	return nil
}

// nextLook returns the time until the next look of a schedule of this age. Looks are 1, 3, 7, 15 and 31 seconds after
// its beginning, then every 30 seconds; later for a Retry-After, and at the latest when no request is open any more.
func (s *slot) nextLook(age time.Duration) time.Duration {
	look := firstPause
	for step := 2 * firstPause; look <= age; step = min(2*step, lastPause) {
		look += step
	}
	return min(max(look-age, time.Until(aicontent.RetryAt(s.sought))), time.Until(s.until))
}

// fail returns the error of the call. Its outcome is Executed if a record was created, else Unknown.
func (s *slot) fail(retryable bool, err error) *Error {
	e := &Error{Collection: s.blank.Collection, Name: s.blank.Name, ID: s.entry.ID, Err: err, retryable: retryable}
	if !s.entry.Made.IsZero() || aicontent.OutcomeOf(err) == aicontent.OutcomeExecuted {
		e.outcome = aicontent.OutcomeExecuted
	}
	for _, before := range []error{s.failed, s.sought} {
		if before != nil && before != err {
			e.Err = fmt.Errorf("%w; %w", e.Err, before)
		}
	}
	at := aicontent.RetryAt(err)
	if s.open() && (s.entry.ID == "" || s.sought == errHidden) { // A known record is not open, unless Show lacks it.
		age := min(max(time.Since(s.entry.Wrote), 0), 24*time.Hour) // by a clock that may be wrong
		e.Until, at = s.until, now().Add(s.nextLook(age))
	}
	if retryable {
		e.retryAt = at
	}
	return e
}

// now returns the time in UTC, as entries have it, with the monotonic clock.
func now() time.Time { return time.Now().UTC() }
