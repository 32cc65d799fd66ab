// Transcribe uploads recordings and prints or saves their texts. It can be interrupted or killed at any time: run
// again with the same journal, it continues where it stopped, and no recording is paid for twice.
//
//	go run . talk.mp3 folder/
//
// See README.md.
package main

import (
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
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// The exit statuses.
const (
	exitDone        = 0
	exitSomeFailed  = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// grace is how long an interrupted run may take to end. After that it exits at once, which loses nothing: the journal
// survives a kill.
const grace = 900 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second interrupt ends the program at once
		time.AfterFunc(grace, func() { os.Exit(exitInterrupted) })
	})
	// If nobody reads the texts, printing fails, and the uploads in flight are still brought to an end.
	signal.Ignore(syscall.SIGPIPE)
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
	journalDir  string
	demo        bool
}

// run is main without the process around it. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "transcribe:", plain(err))
		return exitUsage
	}
	job := &job{options: o, view: &view{w: stderr, texts: stdout}}
	end, err := job.connect(stderr)
	if err != nil {
		fmt.Fprintln(stderr, "transcribe:", plain(err))
		return exitUsage
	}
	defer end()

	inputs, unread, clash := collect(o.paths)
	if clash != nil && o.out != "" {
		fmt.Fprintln(stderr, "transcribe:", plain(clash))
		return exitUsage
	}
	fmt.Fprintf(stderr, "Reading the files (%d).\n", len(inputs)+len(unread))
	recordings, unreadToo := identify(ctx, inputs, o)
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "Interrupted while reading the files: nothing was sent.")
		return exitInterrupted
	}
	results := job.run(ctx, recordings)
	return summarize(stderr, ctx.Err() != nil, append(unread, unreadToo...), results)
}

const usage = `Usage: transcribe [flags] FILE|FOLDER...

Uploads recordings and prints or saves their texts. Folders are searched for audio files.
AICONTENT_BASE_URL and AICONTENT_API_KEY in the environment name the deployment. If it was
interrupted or killed, run it again: it continues, and pays for nothing twice as long as an account
is used with only one journal.

Exit status: 0 all texts were printed or saved, 1 some failed, 2 wrong usage, API key or journal,
130 interrupted.

`

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	journals, err := os.UserConfigDir()
	if err == nil {
		journals = filepath.Join(journals, "aicontent-transcribe")
	}
	flags := flag.NewFlagSet("transcribe", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.out, "o", "",
		"write each text to a file in `DIR` instead of standard output; no file is overwritten")
	flags.IntVar(&o.parallel, "j", 4, "transcribe `N` recordings at a time")
	flags.StringVar(&o.language, "language", "",
		"`country` of the language spoken, such as GB or DE (ISO 3166-1 alpha-2)")
	flags.StringVar(&o.description, "description", "", "`text` that describes the recordings to the service")
	flags.DurationVar(&o.settle, "settle", 15*time.Minute,
		"`time` to look for the record of an upload whose response was lost, before the file is\n"+
			"sent again. If the service takes longer than that for your longest recording, it may be\n"+
			"paid for twice. The program waits 10m for a response")
	flags.StringVar(&o.journalDir, "journal", journals, "keep the journal in `DIR`; runs at the same time may share it")
	flags.BoolVar(&o.demo, "demo", false, "try it out: use a service in memory, whose texts only describe the files")
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprint(stderr, usage)
				flags.SetOutput(stderr)
				flags.PrintDefaults()
			}
			return o, err
		}
		if args = flags.Args(); len(args) > 0 {
			// Flags may follow the files.
			o.paths, args = append(o.paths, args[0]), args[1:]
		}
	}
	switch {
	case len(o.paths) == 0:
		return o, errors.New("no recording given; see transcribe -h")
	case o.parallel < 1:
		return o, fmt.Errorf("-j must be 1 or more, not %d", o.parallel)
	case o.settle < time.Second:
		return o, fmt.Errorf("-settle must be 1s or more, not %v", o.settle)
	case o.language != "" && !aicontent.CountryCode(o.language).Valid():
		return o, fmt.Errorf("-language must be an upper-case country code such as GB or DE, not %q", o.language)
	case !o.demo && os.Getenv("AICONTENT_BASE_URL") == "":
		return o, errors.New("AICONTENT_BASE_URL and AICONTENT_API_KEY must be set; to try it out, use -demo")
	case o.journalDir == "" && !o.demo:
		return o, errors.New("no directory for the journal; use -journal")
	case o.out != "":
		// Whatever cannot be saved is better known before anything is paid for.
		if err := savable(filepath.Join(o.out, ".transcribe")); err != nil {
			return o, fmt.Errorf("-o: %w", err)
		}
	}
	return o, nil
}

// connect connects the job to the deployment in the environment, or to the demo's service.
func (j *job) connect(stderr io.Writer) (end func(), err error) {
	product, ledger := aicontent.WithUserAgent("aicontent-transcribe"), once.InMemory()
	if j.demo {
		srv, err := aicontenttest.Start(aicontenttest.Latency(time.Second))
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(stderr, "Demo: a service in memory, whose texts only describe the files.")
		j.client, end = srv.Client(product), srv.Close
	} else {
		if j.client, err = aicontent.NewClientFromEnv(product); err != nil {
			return nil, err
		}
		if err := openJournal(j.journalDir, stderr); err != nil {
			return nil, fmt.Errorf("the journal: %w; give it another directory with -journal", err)
		}
		ledger, end = once.Dir(j.journalDir), j.client.CloseIdleConnections
	}
	var errQuick error
	j.quick, errQuick = once.New(j.client, ledger, once.WithSettleTime(j.settle), once.WithMaxWait(0))
	j.patient, err = once.New(j.client, ledger, once.WithSettleTime(j.settle))
	return end, errors.Join(errQuick, err)
}

// openJournal makes sure that the journal can be written, and says where it is.
func openJournal(dir string, stderr io.Writer) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if err := savable(filepath.Join(dir, "entry")); err != nil {
		return err
	}
	if len(entries) == 0 {
		fmt.Fprintf(stderr, "New journal: %s. It does not know the uploads in another one.\n", dir)
		return nil
	}
	fmt.Fprintf(stderr, "Journal: %s\n", dir)
	return nil
}
