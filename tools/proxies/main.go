// Command proxies makes Store calls through real proxies, as they are installed, and prints how many create requests
// and records there were, and the results of the calls. The service takes longer than a proxy waits, and works on when
// the proxy has given up. Behind hitch, which ends TLS, the service refuses large uploads early.
//
// It exits with 1 if there was a request or record too many, or an outcome was not so, and with 2 after wrong
// arguments. If it is started by go run, or by the script run, the status is 1 after both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// row is a line of the table.
type row struct {
	proxy, call    string
	posts, records int
	outcome        string
	right          bool
}

// patience is the time for which a proxy waits for the service.
const patience = time.Second

func main() {
	store := flag.Duration("store", 15*time.Second, "how long the service takes for a create request")
	flag.Parse()
	var wrong error
	switch {
	case flag.NArg() > 0:
		wrong = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case *store <= patience:
		wrong = fmt.Errorf("-store must be more than %v, for which a proxy waits, not %v", patience, *store)
	}
	if wrong != nil {
		fmt.Fprintf(os.Stderr, "proxies: %v; see proxies -h\n", wrong)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	right := run(ctx, *store)
	stop()
	if !right {
		os.Exit(1)
	}
}

// run reports whether all is right. A missing program is not wrong.
func run(ctx context.Context, store time.Duration) (right bool) {
	dir, err := os.MkdirTemp("", "proxies-")
	if err != nil {
		fmt.Println(err)
		return false
	}
	defer os.RemoveAll(dir)
	tables := make([][]row, len(proxies))
	problems := make([]error, len(proxies))
	var group sync.WaitGroup
	for i, p := range proxies {
		p.scratch = dir
		group.Go(func() {
			if p.refuses > 0 {
				tables[i], problems[i] = refuse(ctx, p)
			} else {
				tables[i], problems[i] = giveUp(ctx, p, store)
			}
		})
	}
	group.Wait()

	right = true
	fmt.Printf("A create request takes %v, and a proxy waits for %v.\n\n", store, patience)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "proxy\tcall\tPOSTs\trecords\toutcome\t")
	for _, rows := range tables {
		for i, r := range rows {
			if i > 0 {
				r.proxy = ""
			}
			verdict := ""
			if !r.right {
				verdict, right = "WRONG", false
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", r.proxy, r.call, r.posts, r.records, r.outcome, verdict)
		}
	}
	w.Flush()
	for i, err := range problems {
		if err != nil {
			fmt.Printf("%s: %v\n", proxies[i].name, err)
			right = right && errors.Is(err, exec.ErrNotFound)
		}
	}
	return right
}
