// Command ledger lists the names in a folder of package once: the open ones, and with -all the others after them.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/aicontent/aicontent-go/once"
)

func main() {
	all := flag.Bool("all", false, "list the other names after the open ones")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "Usage: ledger [-all] FOLDER\n\n"+
			"FOLDER is that of package once: an absolute path if you run ledger with go -C.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || flag.Arg(0) == "" {
		flag.Usage()
		os.Exit(2)
	}
	ledger := once.Dir(flag.Arg(0)).(once.Lister) // or sqlledger.New(db)
	fmt.Println("OPEN UNTIL           MADE                 ID         NAME")
	err := list(context.Background(), os.Stdout, ledger, true)
	if *all {
		err = list(context.Background(), os.Stdout, ledger, false) // which meets the same errors
	}
	if err != nil {
		log.Fatal(err)
	}
}

// list prints a line for each name that is open, or for each other name. The error tells which entries are unreadable.
func list(ctx context.Context, w io.Writer, ledger once.Lister, open bool) error {
	var unreadable []error
	now := time.Now()
	for state, err := range ledger.List(ctx) {
		if err != nil {
			unreadable = append(unreadable, err)
		} else if state.Until.After(now) == open {
			fmt.Fprintf(w, "%-20s %-20s %-10s %s %q\n", stamp(state.Until), stamp(state.Made),
				cmp.Or(state.ID, "-"), state.Collection, state.Name)
		}
	}
	return errors.Join(unreadable...)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
