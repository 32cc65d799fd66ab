package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"
)

// connect connects to NATS with a context of the nats command, or to NATS_URL. A connection that breaks is made again
// for as long as the process lives, with the credentials that are in their file then.
func connect(natsContext string) (nc *nats.Conn, err error) {
	opts := []nats.Option{nats.Name("fleet"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.IgnoreAuthErrorAbort()}
	urls := os.Getenv("NATS_URL")
	if natsContext != "" {
		nc, _, err = natscontext.Connect(natsContext, opts...)
	} else if urls == "" {
		return nil, usagef("NATS_URL is not set, and no -context is given")
	} else {
		nc, err = nats.Connect(urls, opts...)
	}
	// An unescaped character of a password makes a part of it look like a host or a port, which these errors name.
	if _, malformed := errors.AsType[*url.Error](err); malformed {
		return nil, usagef("the address of NATS must be URLs such as nats://user:password@host:4222, with commas " +
			"between them; in a password, write %%2C for a comma, %%2F for a slash, and so on")
	}
	if _, unreachable := errors.AsType[net.Error](err); unreachable {
		err = errors.New("no server responds at the address")
	}
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return nc, nil
}
