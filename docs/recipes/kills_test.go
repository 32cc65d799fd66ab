package recipes

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

var (
	killsFor = flag.Duration("kills.for", 2*time.Second, "kills: how long processes are killed")
	killsEnd = flag.Bool("kills.end", false,
		"kills: wait until each name is finished, which takes minutes: those that were being sent are open")
	killsNames = flag.Int("kills.names", 300, "kills: how many names")
)

const (
	killers     = 8                      // processes
	killLatency = 300 * time.Millisecond // of the service, which finishes what it began
	killSettle  = 10 * time.Second
	killMargin  = 2 * time.Minute // what package once has in advance of the settle time
	killSlow    = 1500 * time.Millisecond
	callHeader  = "X-Call"
)

func init() {
	programs["stores all in Dir"] = func(ctx context.Context, client *aicontent.Client, folder string) error {
		return storesAll(ctx, client, once.Dir(filepath.Join(folder, "ledger")))
	}
	programs["stores all in SQLite"] = func(ctx context.Context, client *aicontent.Client, folder string) error {
		db, err := openSQLite(folder)
		if err != nil {
			return err
		}
		return storesAll(ctx, client, NewLedger(db))
	}
}

func openSQLite(folder string) (*sql.DB, error) {
	return sql.Open("sqlite", filepath.Join(folder, "ledger.db")+SQLiteSettings)
}

// createsLedger creates the table, as an installation does before processes start.
func createsLedger(ctx context.Context, folder string) error {
	db, err := openSQLite(folder)
	if err != nil {
		return err
	}
	return errors.Join(CreateLedger(ctx, db), db.Close())
}

// storesAll stores the names on standard input, each until it is there, four at a time, with calls that have little
// patience. It writes a line for each call.
func storesAll(ctx context.Context, client *aicontent.Client, ledger once.Ledger) error {
	names, err := once.New(client, ledger, once.WithSettleTime(killSettle))
	if err != nil {
		return err
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			open := strings.Fields(string(input))
			rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
			for len(open) > 0 {
				open = slices.DeleteFunc(open, func(name string) bool { return storesOne(ctx, names, name) })
			}
		})
	}
	all.Wait()
	return nil
}

func storesOne(ctx context.Context, names *once.Client, name string) bool {
	patience := killLatency/2 + rand.N(4*time.Second)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	call := fmt.Sprint(os.Getpid(), "-", rand.Uint64())
	params := aicontent.ImageStoreParams{Name: name, Description: "a whale", Resolution: aicontent.Resolution512x512}
	image, found, err := names.Images.Store(ctx, params, aicontent.WithHeader(callHeader, call))
	line := fmt.Sprintln("call", call, name, aicontent.OutcomeOf(err).String(), aicontent.Retryable(err), err)
	if err == nil {
		line = fmt.Sprintln("call", call, name, "stored", found, image.ID)
	}
	_, _ = os.Stdout.WriteString(line)
	return err == nil
}

// kills is a run of processes that are killed.
type kills struct {
	t       *testing.T
	srv     *aicontenttest.Server
	program string
	folder  string
	names   []string
	begun   time.Time

	mu             sync.Mutex
	lines          []string
	stored         map[string]bool // names
	finished       time.Time       // when the last one of them was
	started, ended int
	running        sync.WaitGroup
}

// work returns the names for a process: all that have come up and that no process has stored, and some of the stored
// ones. Names come up one after the other while processes are killed, so that some are always under way.
func (k *kills) work() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	up := int(float64(len(k.names)) * min(1, time.Since(k.begun).Seconds()/killsFor.Seconds()))
	return strings.Join(slices.DeleteFunc(slices.Clone(k.names[:up]), func(name string) bool {
		return k.stored[name] && rand.IntN(20) > 0
	}), " ")
}

// anyStored reports whether a process has stored a name.
func (k *kills) anyStored() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.stored) > 0
}

// start starts a process, and returns the function that kills it.
func (k *kills) start() (kill func()) {
	cmd := command(k.program, k.folder, k.srv)
	cmd.Stdin = strings.NewReader(k.work())
	output, err := cmd.StdoutPipe()
	require.NoError(k.t, err)
	require.NoError(k.t, cmd.Start())
	k.started++
	k.running.Go(func() {
		r := bufio.NewReader(output)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				break // within a line, if it was killed there
			}
			k.mu.Lock()
			k.lines = append(k.lines, strings.TrimSpace(line))
			if fields := strings.Fields(line); fields[3] == "stored" && !k.stored[fields[2]] {
				k.stored[fields[2]], k.finished = true, time.Now()
			}
			k.mu.Unlock()
		}
		if cmd.Wait() == nil {
			k.mu.Lock()
			k.ended++
			k.mu.Unlock()
		}
	})
	return func() { _ = cmd.Process.Kill() }
}

// unreliable is a service that is slow, slower than that for every second record, loses responses, and fails.
func unreliable(t *testing.T) *aicontenttest.Server {
	slow := aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if id := r.Request.RecordID; r.Request.Operation == aicontent.ImagesStore && id != "" && id[len(id)-1]%2 == 0 {
			<-time.After(killSlow)
		}
	})
	srv := aicontenttest.NewServer(t, aicontenttest.LatencyOn(aicontent.ImagesStore, killLatency), slow)
	for _, fault := range []aicontenttest.Fault{
		aicontenttest.LoseResponse(), aicontenttest.HTMLPage(502), aicontenttest.LateAct(504, killSettle/5),
		aicontenttest.ActThenStatus(503), aicontenttest.CloseMidResponse(),
	} {
		srv.FaultWhen(func(*aicontenttest.Request) bool { return rand.IntN(40) == 0 }, math.MaxInt, fault)
	}
	return srv
}

// Eight processes that share a ledger are killed at random, while the service finishes the requests that it has
// received. No name has two records, and each call's result is true.
func TestProcessesThatAreKilledStoreNoNameTwice(t *testing.T) {
	for _, program := range []string{"stores all in Dir", "stores all in SQLite"} {
		t.Run(program, func(t *testing.T) {
			if !*killsEnd {
				t.Parallel()
			}
			k := &kills{t: t, program: program, folder: t.TempDir(), stored: map[string]bool{}, begun: time.Now()}
			require.NoError(t, createsLedger(t.Context(), k.folder))
			k.srv = unreliable(t)
			for n := range *killsNames {
				k.names = append(k.names, fmt.Sprint("job-", n))
			}
			processes := make([]func(), killers)
			for i := range processes {
				processes[i] = k.start()
			}
			for time.Since(k.begun) < *killsFor || !k.anyStored() { // A busy machine may store nothing in that time.
				<-time.After(rand.N(400 * time.Millisecond))
				i := rand.IntN(killers)
				processes[i]()
				processes[i] = k.start()
			}
			for _, kill := range processes {
				kill()
			}
			last, records := time.Now(), len(k.srv.Records())
			for range killers {
				if *killsEnd {
					k.start()
				}
			}
			k.running.Wait()
			took := k.finished.Sub(last)
			k.srv.Close() // ends the latency: the service executes what it has received
			t.Logf("%d names, %d processes, %d killed in %v",
				len(k.names), k.started, k.started-k.ended, *killsFor)
			t.Logf("%d records then, %d in the end; finished %v after the last kill",
				records, len(k.srv.Records()), took.Round(time.Second))
			assert.LessOrEqual(t, took, killSettle+killMargin+30*time.Second)
			k.check()
		})
	}
}

// check holds the lines against the records.
func (k *kills) check() {
	byName, made := map[string][]string{}, map[string]bool{} // IDs; calls
	requests := k.srv.Requests()
	for _, r := range k.srv.Records() {
		byName[r.Name] = append(byName[r.Name], r.ID)
		made[requests[r.Request-1].Header.Get(callHeader)] = true
	}
	for name, ids := range byName {
		assert.Len(k.t, ids, 1, "records of %s", name)
	}
	ends := map[string]int{}
	for _, line := range k.lines {
		fields := strings.Fields(line)
		call, name, end := fields[1], fields[2], fields[3]
		switch end {
		case "stored":
			assert.Equal(k.t, []string{fields[5]}, byName[name], line)
			assert.Equal(k.t, fields[4] == "false", made[call], "who made it: %s", line)
			end += ", found " + fields[4]
		case "executed":
			assert.NotEmpty(k.t, byName[name], line)
		case "not":
			assert.False(k.t, made[call], line)
		}
		if !strings.HasPrefix(end, "stored") {
			assert.Contains(k.t, strings.SplitN(line, ":", 2)[0], "true", "not temporary: %s", line)
		}
		ends[end]++
	}
	assert.NotEmpty(k.t, k.stored)
	if *killsEnd {
		assert.Len(k.t, k.stored, len(k.names), "names that were finished")
		assert.Len(k.t, byName, len(k.names), "names that have a record")
	}
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		k.t.Logf("%s: %d calls", end, ends[end])
	}
}
