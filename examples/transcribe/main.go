// Transcribe uploads recordings and prints or saves their texts. It can be interrupted or killed at any time: run again
// with the same journal, it continues, and no recording is paid for twice. See README.md.
//
//	go run . talk.mp3 folder/
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// The exit statuses.
const exitDone, exitSomeFailed, exitUsage, exitInterrupted = 0, 1, 2, 130

// grace is how long an interrupted run may take to end. Then it exits at once, which loses nothing: the journal
// survives a kill.
const grace = 900 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // A second interrupt ends the program at once.
		time.AfterFunc(grace, func() { os.Exit(exitInterrupted) })
	})
	signal.Ignore(syscall.SIGPIPE) // Without a reader, printing fails, and the uploads in flight end as usual.
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command line.
type options struct {
	paths       []string
	out         string
	parallel    int
	language    string
	description string
	settle      time.Duration
	journal     string
}

// run is main without the process around it. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	inputs, clash := collect(o)
	j := &job{options: o}
	if err = cmp.Or(err, clash); err == nil {
		err = j.connect(stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "transcribe:", printable(aicontent.Reason(err)))
		return exitUsage
	}
	defer j.client.CloseIdleConnections()
	fmt.Fprintf(stderr, "Reading the files (%d).\n", len(inputs))
	recordings := identify(ctx, inputs, o)
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "Interrupted while reading the files: nothing was sent.")
		return exitInterrupted
	}
	j.view = newView(stdout, stderr, len(recordings) > 1)
	j.run(ctx, recordings)
	j.view.close()
	return summarize(stderr, ctx.Err() != nil, recordings)
}

const usage = `Usage: transcribe [flags] FILE|FOLDER...

Uploads recordings, and audio files in folders, to the deployment in AICONTENT_BASE_URL and
AICONTENT_API_KEY, and prints or saves their texts. If it was interrupted or killed, run it again:
it pays for nothing twice as long as an account is used with only one journal.
Exit status: 0 all texts, 1 some failed, 2 wrong usage, key or journal, 130 interrupted.

`

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	journals, err := os.UserConfigDir()
	if err == nil {
		journals = filepath.Join(journals, "aicontent-transcribe")
	}
	flags := flag.NewFlagSet("transcribe", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.out, "o", "", "save each text in `DIR` instead of printing it; no file is overwritten")
	flags.IntVar(&o.parallel, "j", 4, "transcribe `N` recordings at a time")
	flags.StringVar(&o.language, "language", "", "`country` of the language spoken, such as GB or DE")
	flags.StringVar(&o.description, "description", "", "`text` that describes the recordings to the service")
	flags.DurationVar(&o.settle, "settle", 15*time.Minute, "`time` to look for a lost upload before it is sent again; "+
		"more than\nthe service needs for your longest recording, or that is paid for twice")
	flags.StringVar(&o.journal, "journal", journals, "keep the journal in `DIR`; runs at the same time may share it")
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprint(stderr, usage)
				flags.SetOutput(stderr)
				flags.PrintDefaults()
			}
			return o, err
		}
		if args = flags.Args(); len(args) > 0 { // Flags may follow the files.
			o.paths, args = append(o.paths, args[0]), args[1:]
		}
	}
	switch {
	case len(o.paths) == 0:
		err = errors.New("no recording given; see transcribe -h")
	case o.parallel < 1:
		err = fmt.Errorf("-j must be 1 or more, not %d", o.parallel)
	case o.settle < time.Second:
		err = fmt.Errorf("-settle must be 1s or more, not %v", o.settle)
	case o.language != "" && !aicontent.CountryCode(o.language).Valid():
		err = fmt.Errorf("-language must be an upper-case country code such as GB or DE, not %q", o.language)
	case o.journal == "":
		err = fmt.Errorf("no directory for the journal; use -journal: %w", err)
	case o.out != "": // A problem with it must show before anything is paid for.
		if err = savable(filepath.Join(o.out, "text")); err != nil {
			err = fmt.Errorf("-o: %w", err)
		}
	default:
		err = nil
	}
	return o, err
}

// connect connects the job to the deployment in the environment and to the journal.
func (j *job) connect(stderr io.Writer) (err error) {
	if j.client, err = aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-transcribe")); err != nil {
		return err
	}
	ledger := once.Dir(j.journal)
	err = errors.Join(os.MkdirAll(j.journal, 0o700), savable(filepath.Join(j.journal, "entry")))
	entries, errRead := os.ReadDir(j.journal)
	if err = cmp.Or(err, errRead); err != nil {
		return fmt.Errorf("the journal: %w; give it another directory with -journal", err)
	}
	fmt.Fprintf(stderr, "Journal: %s\n", j.journal)
	if len(entries) == 0 {
		fmt.Fprintln(stderr, "It is new: it does not know the uploads in another one.")
	}
	j.quick, err = once.New(j.client, ledger, once.WithSettleTime(j.settle), once.WithMaxWait(0))
	if err == nil {
		j.patient, err = once.New(j.client, ledger, once.WithSettleTime(j.settle))
	}
	return err
}
