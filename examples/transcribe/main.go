// Transcribe uploads recordings and prints or saves their texts. It can be interrupted or killed at any time: run again
// with the same journal, it continues, and you pay once for each recording. See README.md.
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
	ctx, interrupt := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		interrupt()
		select {
		case <-signals: // A second interrupt ends the program at once.
		case <-time.After(grace):
		}
		unfinished.removeAll()
		os.Exit(exitInterrupted)
	}()
	signal.Ignore(syscall.SIGPIPE) // Without a reader, printing fails, and the uploads in flight end as usual.
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	j, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	if err == nil {
		err = j.connect(stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "transcribe:", printable(aicontent.Reason(err)))
		return exitUsage
	}
	defer j.client.CloseIdleConnections()
	j.view = newView(stdout, stderr)
	why := j.run(ctx)
	j.view.bars.Wait()
	done := summarize(stderr, j.recordings, why)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case why == errRefused:
		return exitUsage
	case !done:
		return exitSomeFailed
	}
	return exitDone
}

const usage = `Usage: transcribe [flags] FILE|FOLDER...

Uploads recordings, and audio files in folders, to the deployment in AICONTENT_BASE_URL and
AICONTENT_API_KEY, and prints or saves their texts. If it was interrupted or killed, run it again:
it pays for nothing twice as long as an account is used with only one journal.
Exit status: 0 all texts, 1 some failed, 2 wrong usage, key or journal, 130 interrupted.

`

// parse reads the command line and finds the recordings.
func parse(args []string, stderr io.Writer) (*job, error) {
	var j job
	journals, err := os.UserConfigDir()
	if err == nil {
		journals = filepath.Join(journals, "aicontent-transcribe")
	}
	flags := flag.NewFlagSet("transcribe", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&j.out, "o", "", "save each text in `DIR` instead of printing it; no file is overwritten")
	flags.IntVar(&j.parallel, "j", 4, "transcribe `N` recordings at a time")
	flags.StringVar(&j.language, "language", "", "`country` of the language spoken, such as GB or DE")
	flags.StringVar(&j.description, "description", "", "`text` that describes the recordings to the service")
	flags.DurationVar(&j.settle, "settle", 15*time.Minute, "`time` to look for a lost upload before it is sent again; "+
		"more than\nthe service needs for your longest recording, or that is paid for twice")
	flags.StringVar(&j.journal, "journal", journals, "keep the journal in `DIR`; runs at the same time may share it")
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprint(stderr, usage)
				flags.SetOutput(stderr)
				flags.PrintDefaults()
			}
			return nil, err
		}
		if args = flags.Args(); len(args) > 0 { // Flags may follow the files.
			j.paths, args = append(j.paths, args[0]), args[1:]
		}
	}
	switch {
	case len(j.paths) == 0:
		return nil, errors.New("no recording given; see transcribe -h")
	case j.parallel < 1:
		return nil, fmt.Errorf("-j must be 1 or more, not %d", j.parallel)
	case j.settle < time.Second:
		return nil, fmt.Errorf("-settle must be 1s or more, not %v", j.settle)
	case j.language != "" && !aicontent.CountryCode(j.language).Valid():
		return nil, fmt.Errorf("-language must be an upper-case country code such as GB or DE, not %q", j.language)
	case j.out != "": // A problem with it must show before anything is paid for.
		if err := savable(filepath.Join(j.out, "text")); err != nil {
			return nil, fmt.Errorf("-o: %w", err)
		}
	}
	return &j, j.find()
}

// connect connects the job to the deployment in the environment and to the journal.
func (j *job) connect(stderr io.Writer) (err error) {
	if j.client, err = aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-transcribe")); err != nil {
		return err
	}
	ledger, settle := once.Dir(j.journal), once.WithSettleTime(j.settle)
	j.patient, err = once.New(j.client, ledger, settle)
	entries, errRead := os.ReadDir(j.journal)
	if err = cmp.Or(errRead, err); err != nil {
		return fmt.Errorf("the journal: %s; give it another directory with -journal", aicontent.Reason(err))
	}
	fmt.Fprintf(stderr, "Journal: %s\n", j.journal)
	if len(entries) == 0 {
		fmt.Fprintln(stderr, "It is new: it does not know the uploads in another one.")
	}
	j.quick, err = once.New(j.client, ledger, settle, once.WithMaxWait(0))
	return err
}
