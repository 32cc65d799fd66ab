package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/gofrs/flock"
)

// errInUse is the error of a run whose queue another run on this machine has locked.
var errInUse = errors.New("another run is using it; wait until it ends")

// openState locks the folder of an account's queue on this machine. The system unlocks it if the run is killed.
func openState(base, key string) (dir string, unlock func() error, err error) {
	path, err := xdg.StateFile(filepath.Join("aicontent-fleet", account(base, key), "lock"))
	if err != nil {
		return "", nil, fmt.Errorf("no folder for the queue: %w", err)
	}
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = errInUse
	}
	dir = filepath.Dir(path)
	if err != nil {
		return "", nil, fmt.Errorf("the queue in %s: %w", dir, err)
	}
	return dir, lock.Unlock, nil
}

// account is a hash of a base URL and a key. All spellings of the URL, and of a loopback host, have the same one.
func account(base, key string) string {
	if u, err := url.Parse(base); err == nil {
		host := strings.ToLower(u.Hostname())
		if net.ParseIP(host).IsLoopback() {
			host = "localhost"
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		base = u.Scheme + "://" + net.JoinHostPort(host, port) + strings.TrimRight(u.Path, "/")
	}
	sum := sha256.Sum256([]byte(base + "\n" + key))
	return hex.EncodeToString(sum[:8])
}
