// Fleet transcribes recordings on many machines: a producer puts files into a queue on NATS JetStream, workers
// transcribe them at a rate that they share, and a table shows the progress.
//
//	go run . [FILE|FOLDER ...]
//
// Without a command the queue, a worker and the service in memory all run on this machine. See README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/aicontent/aicontent-go"
)

// Exit statuses, beside 0 for success.
const (
	exitFailed      = 1 // an error, skipped files, or dead letters
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	// The first interrupt lets workers finish the jobs that they are running. The second one kills, which loses no job.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	command := "local"
	if len(args) > 0 && slices.Contains([]string{"produce", "work", "watch", "set", "results"}, args[0]) {
		command, args = args[0], args[1:]
	}
	s, paths, err := parse(command, args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	if command == "work" || command == "local" {
		defer context.AfterFunc(ctx, func() {
			fmt.Fprintln(errOut, "Finishing the running jobs. Interrupt again to leave them to other workers.")
		})()
	}
	err = perform(ctx, command, s, paths, out, errOut)
	switch {
	case ctx.Err() != nil && command != "work":
		return exitInterrupted
	case err == nil:
		return 0
	}
	fmt.Fprintf(errOut, "fleet: %s\n", plain(err))
	if errors.Is(err, errInUse) {
		return exitUsage
	}
	return exitFailed
}

// perform runs a command: local, or another on a queue.
func perform(ctx context.Context, command string, s settings, paths []string, out, errOut io.Writer) error {
	if command == "local" {
		return local(ctx, s, paths, out, errOut)
	}
	url, end, err := s.open(ctx, use{start: command != "watch", join: true})
	if err != nil {
		return err
	}
	defer end()
	var missing *limits
	if command == "produce" {
		missing = &s.limits
	}
	q, err := openQueue(ctx, url, missing, s.login...)
	if err != nil {
		return err
	}
	defer q.nc.Close()
	died := 0
	switch command {
	case "produce":
		files, skipped := collect(paths)
		_, err = produce(ctx, q, s.language, files, errOut)
		return errors.Join(skipped, err)
	case "work":
		w, err := newWorker(q, s.settle, aicontent.NewClientFromEnv, slog.New(slog.NewTextHandler(errOut, nil)))
		if err != nil {
			return err
		}
		return w.work(ctx, s.concurrency)
	case "watch":
		died, err = watch(ctx, q, errOut)
	case "set":
		err = set(ctx, q, s.given, out)
	default:
		died, err = results(ctx, q, s.selection, out)
	}
	return errors.Join(err, deadJobs(died))
}

// folder is the folder of the queue on this machine, or empty if the queue is at NATS_URL.
func (s *settings) folder() string {
	if s.queue != "" || os.Getenv("NATS_URL") != "" {
		return s.queue
	}
	return accountFolder(os.Getenv("AICONTENT_BASE_URL"), s.account)
}

// open returns the URL of the queue, and a function that ends its use.
func (s *settings) open(ctx context.Context, how use) (url string, end func(), err error) {
	dir := s.folder()
	if dir == "" {
		return os.Getenv("NATS_URL"), func() {}, nil
	}
	if s.create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, fmt.Errorf("no folder for the queue: %w", err)
		}
	} else if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return "", nil, fmt.Errorf("the queue in %s: %w", dir, errNoQueue)
	}
	return openFolder(ctx, dir, how)
}

const usage = `usage: fleet [flags] [FILE|FOLDER ...]   transcribe with everything on this machine
       fleet produce [flags] FILE|FOLDER ... queue files
       fleet work [flags]                    run jobs until interrupted
       fleet watch [flags]                   show the fleet until no job is left
       fleet set [flags]                     change settings of the queue, and show them
       fleet results [flags]                 print texts, and dead letters with the reason; export and drop them

AICONTENT_BASE_URL and AICONTENT_API_KEY are the service, NATS_URL is the queue. Without NATS_URL the queue
is in a folder: -queue, or that of the base URL and -account in your state folder. Without a command the
service is in memory, unless -deployment is given. No recording is billed twice as long as all runs for an
account share one queue that is never lost, -settle is at least the service's longest transcription, the
machines' clocks agree within a minute, and none is set forward by more than -settle. Results and settings
go to standard output, everything else to standard error. Flags: see fleet -h, fleet work -h and so on.
`

// settings are the flags of all commands.
type settings struct {
	limits
	language    string
	concurrency int
	settle      time.Duration
	deployment  bool
	queue       string // the folder of the queue
	create      bool   // make the folder if it is missing
	account     string
	selection
	login []nats.Option
}

// parse reads the flags and arguments of a command, and reports problems to errOut.
func parse(command string, args []string, errOut io.Writer) (s settings, rest []string, err error) {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() {
		fmt.Fprintf(errOut, "%s\nFlags:\n", usage)
		flags.PrintDefaults()
	}
	s.define(flags, command)
	if err := flags.Parse(args); err != nil {
		return s, nil, err
	}
	s.given = map[string]string{}
	flags.Visit(func(f *flag.Flag) { s.given[f.Name] = f.Value.String() })
	if wrong := s.wrong(command, flags.Args()); wrong != "" {
		fmt.Fprintf(errOut, "fleet: %s\n", wrong)
		return s, nil, errors.New(wrong)
	}
	return s, flags.Args(), nil
}

// define adds the flags of a command.
func (s *settings) define(flags *flag.FlagSet, command string) {
	is := func(commands ...string) bool { return slices.Contains(commands, command) }
	if is("local", "produce", "set") {
		s.limits = limits{replicas: 1, room: 1 << 30, texts: 256 << 20, ackWait: 45 * time.Second, rate: 10}
		s.limits.define(flags)
	}
	if is("local", "produce") {
		flags.StringVar(&s.language, "language", "", "country `code` of the language spoken, such as GB")
	}
	if is("local", "work") {
		atATime := map[string]int{"work": 4, "local": 16}[command]
		flags.IntVar(&s.concurrency, "concurrency", atATime, "`number` of jobs that a worker runs at a time")
		flags.DurationVar(&s.settle, "settle", 15*time.Minute, "at least the `time` of the longest transcription")
	}
	login := func(option nats.Option, path string) error {
		s.login = append(s.login, option)
		_, err := os.Stat(path)
		return err
	}
	flags.Func("creds", "credentials `file` to log in to NATS with", func(path string) error {
		return login(nats.UserCredentials(path), path)
	})
	flags.Func("ca", "`file` of the CA certificates of NATS; requires TLS", func(path string) error {
		return login(nats.RootCAs(path), path)
	})
	flags.StringVar(&s.queue, "queue", "", "`folder` of a queue on this machine, in place of NATS_URL")
	s.create = is("local", "produce")
	if is("local", "watch", "set", "results") {
		flags.StringVar(&s.account, "account", "default", "`name` of an account, if you have several of the base URL")
	}
	if is("local") {
		flags.BoolVar(&s.deployment, "deployment", false, "use AICONTENT_BASE_URL, which may bill")
	}
	if is("results") {
		since := "results from a `time` on: 2006-01-02, or 24h for a day ago"
		flags.Func("since", since, func(text string) (err error) {
			s.since, err = parseSince(text, time.Now())
			return err
		})
		flags.StringVar(&s.export, "export", "", "write texts to files in this `folder`, and print their paths")
		flags.BoolVar(&s.drop, "drop", false, "then remove these results from the queue")
	}
}

// parseSince returns the time of a date, or of a duration ago.
func parseSince(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	return time.ParseInLocation(time.DateOnly, text, now.Location())
}

var accountName = regexp.MustCompile(`^[\w-]+$`)

// wrong says what is wrong with the settings and arguments of a command, if anything.
func (s *settings) wrong(command string, rest []string) string {
	is := func(commands ...string) bool { return slices.Contains(commands, command) }
	missing := func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	}
	given := func(name string) bool { return s.given[name] != "" }
	atURL := os.Getenv("NATS_URL") != ""
	switch {
	case is("produce") && len(rest) == 0:
		return "produce needs a file or folder"
	case !is("produce", "local") && len(rest) > 0:
		return fmt.Sprintf("unexpected argument %q", rest[0])
	case len(rest) > 0 && is("local") && missing(rest[0]):
		return fmt.Sprintf("%q is neither a command nor a file; see fleet -h", rest[0])
	case is("work", "local") && s.concurrency < 1:
		return fmt.Sprintf("-concurrency must be at least 1, not %d", s.concurrency)
	case is("work", "local") && s.settle < time.Second:
		return fmt.Sprintf("-settle must be at least 1s, not %v", s.settle)
	case s.rate != 0 && !(s.rate >= 0.001 && s.rate <= 1e6):
		return fmt.Sprintf("-rate must be 0 or from 0.001 to 1000000, not %g", s.rate)
	case is("local", "produce", "set") && (s.replicas < 1 || s.ackWait < time.Second || min(s.room, s.texts) < 1<<20):
		return fmt.Sprintf("-replicas, -ack-wait, -room and -texts must be at least 1, 1s, 1048576 and 1048576, "+
			"not %d, %v, %d and %d", s.replicas, s.ackWait, s.room, s.texts)
	case s.language != "" && !aicontent.CountryCode(s.language).Valid():
		return fmt.Sprintf("-language must be a country code such as GB, not %q", s.language)
	case s.deployment && (os.Getenv("AICONTENT_BASE_URL") == "" || os.Getenv("AICONTENT_API_KEY") == ""):
		return "-deployment needs AICONTENT_BASE_URL and AICONTENT_API_KEY"
	case is("local") && !s.deployment && (s.login != nil || s.queue != "" || given("account")):
		return "-creds, -ca, -queue and -account need -deployment"
	case s.login != nil && (s.queue != "" || !atURL), is("produce", "work") && s.queue == "" && !atURL:
		return "NATS_URL is not set"
	case given("account") && (s.queue != "" || atURL):
		return "-account is for queues in your state folder, not for -queue or NATS_URL"
	case !accountName.MatchString(cmp.Or(s.account, "-")):
		return fmt.Sprintf("-account must be letters, digits, - and _, not %q", s.account)
	case !s.deployment && !is("local") && s.queue == "" && !atURL && os.Getenv("AICONTENT_BASE_URL") == "":
		return "NATS_URL, -queue or AICONTENT_BASE_URL must say which queue"
	}
	return ""
}
