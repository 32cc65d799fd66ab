package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// Files in the folder of a queue, beside its store.
const (
	lockFile    = "lock" // locked by the command that runs the queue's node; the system unlocks it if that is killed
	addressFile = "nats" // the node's URL, with a token of its own for each run
)

// grace is how long a command waits for another to leave the folder: one may only be looking.
const grace = 2 * time.Second

var (
	errInUse = errors.New("another run is using it; wait until it ends")
	errIdle  = errors.New("no run is using it")
)

// How a command uses the queue in a folder.
type use struct {
	start bool // may run its node
	join  bool // may use the node of the command that runs it
}

// accountFolder returns the folder of an account's queue on this machine. The account is a base URL, and a name for
// those who have several: a key may be replaced.
func accountFolder(base, name string) string {
	return filepath.Join(xdg.StateHome, "aicontent-fleet", site(base), name)
}

// site names a base URL in a path. All spellings of it, and of a loopback host, have the same name.
func site(base string) string {
	host := ""
	if u, err := url.Parse(base); err == nil {
		host = strings.ToLower(u.Hostname())
		if net.ParseIP(host).IsLoopback() {
			host = "localhost"
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		base = u.Scheme + "://" + net.JoinHostPort(host, port) + strings.TrimRight(u.Path, "/")
	}
	return fmt.Sprintf("%s-%x", strings.ReplaceAll(host, ":", "."), sha256.Sum256([]byte(base)))[:len(host)+17]
}

// openFolder returns the URL of the queue in a folder, and a function that ends its use.
func openFolder(ctx context.Context, dir string, how use) (url string, end func(), err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the queue in %s: %w", dir, err)
		}
	}()
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	for end := time.Now().Add(grace); err == nil && !locked && !how.join && time.Now().Before(end); {
		_ = pause(ctx, 100*time.Millisecond)
		locked, err = lock.TryLock()
	}
	address := filepath.Join(dir, addressFile)
	switch {
	case err != nil:
		return "", nil, err
	case !locked && how.join:
		data, err := os.ReadFile(address)
		return string(data), func() {}, err
	case !locked:
		return "", nil, errInUse
	case !how.start:
		return "", nil, errors.Join(errIdle, lock.Unlock())
	}
	// Other users of this machine can reach the node, but cannot read the folder.
	token := rand.Text()
	node, err := startNode(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: dir, Authorization: token, SyncAlways: true,
	})
	if err != nil {
		return "", nil, errors.Join(err, lock.Unlock())
	}
	end = func() {
		_ = os.Remove(address)
		node.Shutdown()
		node.WaitForShutdown()
		_ = lock.Unlock()
	}
	url = strings.Replace(node.ClientURL(), "://", "://"+token+"@", 1)
	if err := os.WriteFile(address, []byte(url), 0o600); err != nil {
		end()
		return "", nil, err
	}
	return url, end, nil
}

// tellOthers names the other accounts of a deployment whose queues have jobs left.
func tellOthers(ctx context.Context, dir string, out io.Writer) {
	locks, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", lockFile))
	for _, lock := range locks {
		other := filepath.Dir(lock)
		if other == dir {
			continue
		}
		if left, err := jobsLeft(ctx, other); err != nil {
			fmt.Fprintf(out, "Could not look for unfinished jobs in %s: %s\n", other, plain(err))
		} else if left > 0 {
			fmt.Fprintf(out, "Another account of this deployment has %d unfinished jobs; see -account %s\n",
				left, filepath.Base(other))
		}
	}
}

func jobsLeft(ctx context.Context, dir string) (int, error) {
	url, end, err := openFolder(ctx, dir, use{start: true, join: true})
	if err != nil {
		return 0, err
	}
	defer end()
	q, err := openQueue(ctx, url, nil)
	if errors.Is(err, errNoQueue) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer q.nc.Close()
	return int(q.stream.CachedInfo().State.Msgs), nil
}
