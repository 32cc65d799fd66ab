package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	serviceKey = "key-for-tests"
	// thinking is how long the service takes for a recording.
	thinking = time.Second
)

// serve runs a service until standard input ends. Like PHP behind a web server, it makes the record once the whole
// upload has arrived, even if the client is gone. Every fifth create request gets a proxy's 504 while the service goes
// on. For each line on standard input it writes one when nothing is under way.
func serve() {
	srv, err := aicontenttest.Start(aicontenttest.APIKey(serviceKey))
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	var created atomic.Int64
	var work sync.WaitGroup
	front := func(w http.ResponseWriter, r *http.Request) {
		work.Add(1)
		defer work.Done()
		body, err := io.ReadAll(slow{r.Body})
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		req := r.Clone(context.WithoutCancel(r.Context()))
		req.URL.Scheme, req.URL.Host, req.RequestURI = "http", srv.URL[len("http://"):], ""
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if r.Method == http.MethodPost {
			if created.Add(1)%5 == 0 {
				w.WriteHeader(http.StatusGatewayTimeout)
				_ = http.NewResponseController(w).Flush()
			}
			<-time.After(thinking)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() { _ = http.Serve(listener, http.HandlerFunc(front)) }()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		work.Wait()
		fmt.Println("quiet")
	}
}

// slow reads up to 200 KB a second.
type slow struct{ r io.Reader }

func (s slow) Read(p []byte) (int, error) {
	<-time.After(20 * time.Millisecond)
	return s.r.Read(p[:min(len(p), 4<<10)])
}

// setting returns a number from the environment, for longer runs than in CI.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func TestKilledAnywhereNothingIsPaidForTwice(t *testing.T) {
	files, kills, seed := setting(t, "TRANSCRIBE_FILES", 16), setting(t, "TRANSCRIBE_KILLS", 6), setting(t, "TRANSCRIBE_SEED", 1)
	t.Logf("TRANSCRIBE_FILES=%d TRANSCRIBE_KILLS=%d TRANSCRIBE_SEED=%d", files, kills, seed)

	service := exec.CommandContext(t.Context(), os.Args[0])
	service.Env = append(os.Environ(), modeVariable+"=service")
	stdout, err := service.StdoutPipe()
	require.NoError(t, err)
	stdin, err := service.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, service.Start())
	defer func() {
		stdin.Close()
		_ = service.Wait()
	}()
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	t.Setenv("AICONTENT_BASE_URL", lines.Text())
	t.Setenv("AICONTENT_API_KEY", serviceKey)

	dir, out, journals := t.TempDir(), t.TempDir(), t.TempDir()
	distinct := files - files/5
	for i := range files {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%03d.wav", i)), byte(i%distinct), 100<<10)
	}
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	args := func() []string {
		// With many in parallel, the uploads of the killed run are looked for at once; with few, after others.
		parallel := 1 + random.IntN(5)
		return []string{"-journal", journals, "-settle", "5s", "-o", out, "-j", strconv.Itoa(parallel), dir}
	}
	// later lets so much time pass that the next run need not wait for one that was killed.
	later := func() {
		_, err := fmt.Fprintln(stdin)
		require.NoError(t, err)
		require.True(t, lines.Scan(), "the service ended")
		age(t, journals, time.Hour)
	}
	longest := 1500 * time.Millisecond
	for killed := 0; killed < kills; {
		if random.IntN(2) == 0 {
			later()
		}
		// Two runs share the journal now and then.
		ended := make(chan struct{})
		var runs []*exec.Cmd
		var running sync.WaitGroup
		for range 1 + random.IntN(2) {
			cmd := program(t.Context(), args()...)
			require.NoError(t, cmd.Start())
			runs = append(runs, cmd)
			running.Go(func() { _ = cmd.Wait() })
		}
		go func() {
			running.Wait()
			close(ended)
		}()
		select {
		case <-ended:
			// Little is left to do.
			longest /= 2
		case <-time.After(time.Duration(random.Int64N(int64(longest)))):
			killed++
			for _, cmd := range runs {
				_ = cmd.Process.Kill() // fails for one that has ended
			}
			<-ended
		}
	}
	later()
	last := program(t.Context(), args()...)
	said, err := last.CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Logf("killed %d times; the last run:\n%s", kills, said)

	client, err := aicontent.NewClientFromEnv()
	require.NoError(t, err)
	records := make(map[string]int)
	for record, err := range client.Transcriptions.All(t.Context(), aicontent.TranscriptionListParams{PerPage: aicontent.PerPage100}) {
		require.NoError(t, err)
		records[record.Name]++
	}
	assert.Len(t, records, distinct, "one name for each content")
	for name, n := range records {
		assert.Equal(t, 1, n, name)
	}
	recordings := recordingsIn(t, dir)
	require.Len(t, recordings, distinct)
	for _, r := range recordings {
		for _, in := range r.inputs {
			text, err := os.ReadFile(filepath.Join(out, in.output))
			require.NoError(t, err)
			assert.Contains(t, string(text), fmt.Sprintf("sha256 %x", r.sum), "its own text")
		}
	}
	t.Logf("%d records for %d different contents in %d files", len(records), distinct, files)
}
