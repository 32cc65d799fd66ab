package aicontent

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryPolicy says how often and how patiently a call is tried. What may be tried again at
// all is not its to say: see the package documentation.
type RetryPolicy struct {
	MaxAttempts   int           // attempts in all; 0 and 1 are one
	MinBackoff    time.Duration // bound of the first pause, doubled at each further one; 0 is the default's
	MaxBackoff    time.Duration // bound of every pause; 0 is the default's
	MaxRetryAfter time.Duration // a service that asks for a longer pause ends the call; 0 is the default's
	SettleTime    time.Duration // with [WithOnce]: how long a lost record is looked for; 0 is one look
}

// DefaultRetryPolicy is what a client does without [WithRetryPolicy]: four attempts, pauses of up to 500 ms, 1 s and
// 2 s, never over 30 s, a Retry-After of up to a minute, and five minutes to settle.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		MinBackoff:    500 * time.Millisecond,
		MaxBackoff:    30 * time.Second,
		MaxRetryAfter: time.Minute,
		SettleTime:    5 * time.Minute,
	}
}

// complete fills in the defaults.
func (p RetryPolicy) complete() RetryPolicy {
	d := DefaultRetryPolicy()
	p.MaxAttempts = max(p.MaxAttempts, 1)
	if p.MinBackoff == 0 {
		p.MinBackoff = d.MinBackoff
	}
	if p.MaxBackoff == 0 {
		p.MaxBackoff = max(d.MaxBackoff, p.MinBackoff)
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = d.MaxRetryAfter
	}
	return p
}

func (p RetryPolicy) check(problems *problems) {
	if p.MaxAttempts < 0 {
		problems.add("max_attempts", p.MaxAttempts, "must not be negative")
	}
	for _, pause := range []struct {
		field string
		d     time.Duration
	}{
		{"min_backoff", p.MinBackoff}, {"max_backoff", p.MaxBackoff}, {"max_retry_after", p.MaxRetryAfter}, {"settle_time", p.SettleTime},
	} {
		if pause.d < 0 {
			problems.add(pause.field, pause.d, "must not be negative")
		}
	}
	if p.MaxBackoff > 0 && p.MinBackoff > p.MaxBackoff {
		problems.add("min_backoff", p.MinBackoff, "must not be above max_backoff")
	}
}

// repeatable reports whether a call may be sent again after err. A store may only when the service cannot have acted;
// the others may after whatever passes.
func repeatable(err error, store bool) bool {
	var api *APIError
	var decode *DecodeError
	var transport *TransportError
	switch {
	case errors.As(err, &api):
		switch api.StatusCode {
		case http.StatusTooManyRequests:
			return true
		case http.StatusServiceUnavailable:
			return !store || api.judge() == rejected
		case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
			return !store
		}
		return false
	case errors.As(err, &decode):
		return !store && decode.Method != http.MethodDelete && errors.Is(err, errCutOff)
	case errors.As(err, &transport):
		return !transport.final && (!store || transport.judge() != unknown)
	}
	return false
}

// backoff is the pause after attempt n, which counts from 1: anything up to the bound that doubles at each attempt ("full
// jitter"), so that many clients that failed together do not come back together. random is in [0, 1).
func backoff(p RetryPolicy, n int, random float64) time.Duration {
	bound := p.MaxBackoff
	if shift := n - 1; shift < 32 && p.MinBackoff < p.MaxBackoff>>shift {
		bound = p.MinBackoff << shift
	}
	return time.Duration(random * float64(bound))
}

// retryAfter reads the header's seconds or date. 0 is "does not say": also what is unreadable, zero or past.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		const most = float64(1<<63-1) / float64(time.Second)
		if !(seconds > 0) {
			return 0
		}
		if seconds >= most {
			return 1<<63 - 1
		}
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}
