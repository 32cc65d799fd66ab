package once

import (
	"bytes"
	"cmp"
	"context"
	"time"
)

// read returns the entry and its version.
func (c *call[T]) read(ctx context.Context, limit time.Duration) (e entry, version string, err error) {
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	data, version, err := c.ledger.Get(own, c.place.key)
	if err = cmp.Or(err, own.Err()); err != nil {
		return e, "", ledgerError(ctx, own, "read", err)
	}
	e, err = decode(data, version)
	return e, version, err
}

// write is put, even if the call's context has ended.
func (c *call[T]) write(ctx context.Context, next entry) error {
	_, err := c.put(context.WithoutCancel(ctx), ownTime, next)
	if err != nil {
		c.log.WarnContext(ctx, "once: the ledger was not written", "error", err)
	}
	return err
}

// put is rule 7: it writes the entry in place of the version that the call has read or written. The error is errChanged
// if another call has written the entry, which is then returned. A Put that took longer than the limit has failed: the
// entry may be replaced already.
func (c *call[T]) put(ctx context.Context, limit time.Duration, next entry) (there entry, err error) {
	began := time.Now()
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	next.Format, next.Collection, next.Name, next.Call, next.Wrote = format, c.collection, c.name, c.token, began
	data := next.encode()
	for range 3 { // A ledger that fails once or twice costs nothing.
		version, failed := c.ledger.Put(own, c.place.key, data, c.version)
		if failed != nil {
			err = ledgerError(ctx, own, "written", failed)
			var now []byte
			if now, version, failed = c.ledger.Get(own, c.place.key); failed != nil {
				return there, err
			}
			there, unreadable := decode(now, version)
			if !bytes.Equal(now, data) {
				if version != c.version && (unreadable != nil || there.Call != c.token) {
					return there, errChanged
				}
				c.version = version // the same, or that of an earlier Put of this call that came late
				continue
			}
		}
		c.entry, c.version, c.seen = next, version, began
		if err = own.Err(); err != nil {
			err = ledgerError(ctx, own, "written", err)
		}
		return next, err
	}
	return there, err
}
