package once

import (
	"bytes"
	"cmp"
	"context"
	"time"
)

// read reads the entry and its version from the ledger.
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

// write is put with a context of its own, because that of the call may have ended. It logs an error.
func (c *call[T]) write(ctx context.Context, next entry) error {
	_, err := c.put(context.WithoutCancel(ctx), ownTime, next)
	if err != nil {
		c.log.WarnContext(ctx, "once: the ledger was not written", "error", err)
	}
	return err
}

// put is rule 7: it replaces the version last read or written by this call. If another call has written the entry, it
// returns that entry and errChanged. A Put that takes longer than the limit fails, because another call may have
// replaced the entry since.
func (c *call[T]) put(ctx context.Context, limit time.Duration, next entry) (there entry, err error) {
	began := time.Now()
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	next.Format, next.Collection, next.Name, next.Call, next.Wrote = format, c.collection, c.name, c.token, began
	data := next.encode()
	for range 3 { // because a ledger may fail for a moment
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
				c.version = version // unchanged, or from a late Put of this call
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
