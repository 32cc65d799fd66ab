// Gallery is a web gallery: it creates pictures from descriptions and transcripts from recordings, and shows them.
//
//	go run . [-addr 127.0.0.1:8080] [-host NAME] [-max-upload MIB] [-grace TIME] [-private-pictures NETWORK]
//
// With AICONTENT_BASE_URL and AICONTENT_API_KEY set, it uses that deployment, which may bill what is created. Without
// them it runs against the service in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("gallery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "`address` to listen on; anyone who reaches it can use your API key")
	host := flags.String("host", "", "host `name` that browsers use, if it is not localhost or an IP address")
	maxUpload := flags.Int64("max-upload", 1024, "largest upload to accept, in `MiB`")
	grace := flags.Duration("grace", 2*time.Minute,
		"how long an interrupt or SIGTERM waits for what the service is still creating")
	var private, proxies []netip.Prefix
	flags.Func("private-pictures", "`network`, such as 10.1.0.0/16, of non-public addresses from which pictures "+
		"may be fetched; repeatable", appendNetwork(&private))
	flags.Func("proxy", "`network` of proxies in front of the gallery, which tell their visitors apart in "+
		"X-Forwarded-For; repeatable", appendNetwork(&proxies))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *maxUpload < 1 || *maxUpload > 1<<20 {
		return fmt.Errorf("-max-upload must be from 1 to 1048576, not %d", *maxUpload)
	}
	if *grace < 0 {
		return fmt.Errorf("-grace must not be negative: %v", *grace)
	}
	client, demo, err := connect(stdout)
	if err != nil {
		return err
	}
	if demo != nil {
		defer demo.Close()
		private = append(private, netip.MustParsePrefix("127.0.0.1/32"))
	}
	gallery, err := newServer(client, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	gallery.host, gallery.maxUpload, gallery.private, gallery.inMemory = *host, *maxUpload<<20, private, demo != nil
	gallery.visitors.proxies = proxies
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "The gallery is at http://%s\n", listener.Addr())
	return gallery.serve(ctx, listener, *grace)
}

func appendNetwork(networks *[]netip.Prefix) func(string) error {
	return func(text string) error {
		network, err := netip.ParsePrefix(text)
		*networks = append(*networks, network.Masked())
		return err
	}
}

// lastWords is how long other requests may take to end when the program ends, and create requests after their grace.
const lastWords = 5 * time.Second

// serve serves until ctx ends. Unfinished uploads end with ctx; create requests continue for grace.
func (s *server) serve(ctx context.Context, listener net.Listener, grace time.Duration) error {
	creating, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	s.forms.ctx = creating
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	closed := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		s.log.Info("stopping once nothing is being created; interrupt again to stop now", "grace", grace)
		defer time.AfterFunc(grace, giveUp).Stop()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+lastWords)
		defer cancel()
		srv.Shutdown(ending)
		closed <- srv.Close() // what is still open has sent no whole request
	})
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-closed
}

// connect returns a client of the deployment named by the environment. If there is none, it starts the service in
// memory, which the caller must close.
func connect(stdout io.Writer) (*aicontent.Client, *aicontenttest.Server, error) {
	if os.Getenv("AICONTENT_BASE_URL") != "" || os.Getenv("AICONTENT_API_KEY") != "" {
		client, err := aicontent.NewClientFromEnv(aicontent.WithUserAgent("aicontent-gallery"))
		return client, nil, err
	}
	// It reads uploads slowly, so that their progress can be seen.
	service, err := aicontenttest.Start(aicontenttest.FullRecords, aicontenttest.SlowUpload(4<<20))
	if err != nil {
		return nil, nil, err
	}
	addDemo(service)
	fmt.Fprintln(stdout, "AICONTENT_BASE_URL is not set: the service runs in memory, "+
		"and what you create is lost when the gallery stops.")
	return service.Client(), service, nil
}

// addDemo adds enough records for more than one page.
func addDemo(service *aicontenttest.Server) {
	places := []string{"Lighthouse", "Harbor", "Pine forest", "Salt marsh", "Old town", "High pasture"}
	moments := []struct{ name, description, style, medium, filter string }{
		{"at noon", "in bright sun, under a high sky", "pop_art", "acrylic", ""},
		{"in the fog", "in thick fog, hardly to be seen", "sketch", "charcoal", "grayscale"},
		{"in winter", "under the first snow", "illustration", "watercolor", ""},
		{"at night", "lit by the moon alone", "vaporwave", "spray_paint", ""},
		{"in spring", "among flowering trees", "origami", "pastel", ""},
		{"at dusk", "in the last light of the day", "retro", "canvas", ""},
		{"remembered", "as on an old postcard", "photography", "", "sepia"},
	}
	for n := range len(places) * len(moments) {
		place, moment := places[n%len(places)], moments[n%len(moments)]
		made := time.Now().Add(time.Duration(n-len(places)*len(moments)) * time.Hour)
		service.AddImage(aicontenttest.Image{
			Name:        place + " " + moment.name,
			Description: fmt.Sprintf("%s, %s", place, moment.description),
			Resolution:  "512x512", Style: moment.style, Medium: moment.medium, Filter: moment.filter,
			Favorite: n%5 == 0, CreatedAt: made, UpdatedAt: made,
		})
	}
	for _, recording := range []aicontenttest.Transcription{{
		Name: "Interview with the keeper", Description: "On the balcony, with wind", Language: "GB", Favorite: true,
		Result: "I came here in the autumn of eighty-one, for one winter, they said. The light was turned by hand " +
			"then, and you had to wind it every three hours, all night. You get used to sleeping in pieces.",
	}, {
		Name: "Harbor master, morning notice", Language: "GB",
		Result: "Wind south-west, five to six, rising in the afternoon. Berths four and five are closed.",
	}, {
		Name:   "Note to self",
		Result: "Ask about the second staircase. The drawing shows it, and nobody remembers it.",
	}} {
		service.AddTranscription(recording)
	}
}
