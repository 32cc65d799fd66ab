package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// age makes a journal older, as if time had passed since the last run.
func age(t *testing.T, journal string, by time.Duration) {
	t.Helper()
	moment := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ledger := once.Dir(journal)
	for _, key := range names(t, journal) {
		if strings.HasPrefix(key, ".") {
			continue // A killed run was trying whether it can write.
		}
		entry, version, err := ledger.Get(t.Context(), key)
		require.NoError(t, err)
		if version == "" {
			continue // It was killed before it had written the first entry.
		}
		entry = moment.ReplaceAllFunc(entry, func(text []byte) []byte {
			when, err := time.Parse(time.RFC3339Nano, string(text))
			require.NoError(t, err)
			return when.Add(-by).AppendFormat(nil, time.RFC3339Nano)
		})
		_, err = ledger.Put(t.Context(), key, entry, version)
		require.NoError(t, err)
	}
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
	files, kills := setting(t, "TRANSCRIBE_FILES", 16), setting(t, "TRANSCRIBE_KILLS", 6)
	seed := setting(t, "TRANSCRIBE_SEED", 1)
	t.Logf("TRANSCRIBE_FILES=%d TRANSCRIBE_KILLS=%d TRANSCRIBE_SEED=%d", files, kills, seed)
	// Like PHP behind a web server, the service makes the record once the whole upload has arrived, even if the client
	// is gone. Every fifth create request gets a proxy's 504.
	var created, busy atomic.Int64
	srv, _ := deployment(t, aicontenttest.LatencyOn(storeOp, time.Second), aicontenttest.SlowUpload(200<<10),
		aicontenttest.OnRequest(func(r aicontenttest.Request) {
			if r.Operation == storeOp {
				busy.Add(-1)
			}
		}))
	srv.FaultWhen(func(r *aicontenttest.Request) bool {
		if r.Operation != storeOp {
			return false
		}
		busy.Add(1)
		return created.Add(1)%5 == 0
	}, 1<<20, aicontenttest.ActThenStatus(504))

	dir, out, journals := t.TempDir(), t.TempDir(), t.TempDir()
	distinct := files - files/5
	content := func(i int) string { return wav(i%distinct) + string(make([]byte, 100<<10)) }
	for i := range files {
		file(t, content(i), dir, fmt.Sprintf("%d.wav", i))
	}
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	args := func() []string {
		// With many in parallel, the uploads of the killed run are looked for at once; with few, after others.
		parallel := 1 + random.IntN(5)
		return []string{"-journal", journals, "-settle", "5s", "-o", out, "-j", strconv.Itoa(parallel), dir}
	}
	// later lets so much time pass that the next run need not wait for one that was killed.
	later := func() {
		require.Eventually(t, func() bool { return busy.Load() == 0 }, time.Minute, time.Millisecond)
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
	said, err := program(t.Context(), args()...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Logf("killed %d times; the last run:\n%s", kills, said)

	records := make(map[string]int)
	for _, record := range srv.Records() {
		records[record.Name]++
	}
	assert.Len(t, records, distinct, "one name for each content")
	for name, n := range records {
		assert.Equal(t, 1, n, name)
	}
	for i := range files {
		text := contentOf(t, out, filepath.Base(dir), fmt.Sprintf("%d.wav.txt", i))
		assert.Contains(t, text, fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(content(i)))), "its own text")
	}
}
