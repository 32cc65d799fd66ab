package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const base = "https://content.example.com/ai"

// opened returns the open journal of a run.
func opened(t *testing.T, dir string) *journal {
	t.Helper()
	j := newJournal(time.Minute)
	require.NoError(t, j.open(dir, base, io.Discard))
	return j
}

// reopened starts the next run with nothing but what is in the file.
func reopened(t *testing.T, dir string, j *journal) *journal {
	t.Helper()
	j.close()
	return opened(t, dir)
}

func TestARunThatDiedLeavesTheLastMomentItMayHaveSent(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	start := time.Now()
	require.NoError(t, j.begin("a"))
	j = reopened(t, dir, j)
	until := j.entry("a").Until
	assert.WithinRange(t, until, start, time.Now().Add(j.lease))

	require.NoError(t, j.begin("a"))
	renewed, err := j.renew()
	require.NoError(t, err)
	j = reopened(t, dir, j)
	assert.True(t, renewed.Equal(j.entry("a").Until), "a sign of life moves it")

	j.sending["a"] = true
	j.pause("a")
	_, err = j.renew()
	require.NoError(t, err)
	assert.True(t, renewed.Equal(j.entry("a").Until), "between two requests nothing is sent")
	j.close()
}

func TestWhatACallCameTo(t *testing.T) {
	earlier := time.Now().Add(-time.Minute).Truncate(time.Second)
	unknown := &aicontent.TransportError{Err: errors.New("the connection broke")}
	for name, c := range map[string]struct {
		sent bool
		id   aicontent.ID
		err  error
		want entry
	}{
		"made":                           {true, "7", nil, entry{Name: "a", ID: "7"}},
		"found without sending":          {false, "7", nil, entry{Name: "a", ID: "7"}},
		"refused":                        {true, "", &aicontent.ValidationError{}, entry{Name: "a"}},
		"ended before anything was sent": {false, "", &aicontent.ValidationError{}, entry{Name: "a", Until: earlier}},
		"ended, unknown how, unsent":     {false, "", unknown, entry{Name: "a", Until: earlier}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := opened(t, dir)
			require.NoError(t, j.write(entry{Name: "a", Until: earlier}))
			if c.sent {
				require.NoError(t, j.begin("a"))
				j.pause("a")
			}
			require.NoError(t, j.finish("a", c.id, c.err))
			assert.Equal(t, c.want.ID, j.entry("a").ID)
			assert.True(t, c.want.Until.Equal(j.entry("a").Until))
			before := j.entry("a")
			j = reopened(t, dir, j)
			assert.Equal(t, before.ID, j.entry("a").ID)
			assert.True(t, before.Until.Equal(j.entry("a").Until))
			j.close()
		})
	}
	t.Run("unknown", func(t *testing.T) {
		j := opened(t, t.TempDir())
		defer j.close()
		require.NoError(t, j.begin("a"))
		before := time.Now()
		require.NoError(t, j.finish("a", "", unknown))
		assert.WithinRange(t, j.entry("a").Until, before, time.Now())
	})
}

// A power cut can tear the last line. The lines before it count, and new ones can be appended.
func TestATornLastLineIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	require.NoError(t, j.write(entry{Name: "a", ID: "1"}, entry{Name: "b", ID: "2"}))
	j.close()
	path := filepath.Join(dir, journalName(base))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := range len(whole) {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		j := newJournal(time.Minute)
		var warnings bytes.Buffer
		require.NoError(t, j.open(dir, base, &warnings))
		require.NoError(t, j.write(entry{Name: "c", ID: "3"}))
		j.close()
		assert.NotContains(t, warnings.String(), "unreadable")

		j = opened(t, dir)
		assert.Equal(t, aicontent.ID("3"), j.entry("c").ID, "cut at %d", cut)
		first := strings.Index(string(whole), "\n")
		if cut >= first {
			assert.Equal(t, aicontent.ID("1"), j.entry("a").ID, "cut at %d", cut)
		}
		j.close()
	}
}

func TestADamagedLineIsSaid(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, journalName(base))
	require.NoError(t, os.WriteFile(path, []byte("{\"name\":\"a\",\"id\":\"1\"}\n\x00\x00\x00\n{}\n{\"name\":\"b\",\"id\":\"2\"}\n"), 0o600))
	j := newJournal(time.Minute)
	var warnings bytes.Buffer
	require.NoError(t, j.open(dir, base, &warnings))
	defer j.close()
	assert.Contains(t, warnings.String(), "2 unreadable lines")
	assert.Equal(t, aicontent.ID("1"), j.entry("a").ID)
	assert.Equal(t, aicontent.ID("2"), j.entry("b").ID)
}

func TestTwoRunsDoNotShareAJournal(t *testing.T) {
	dir := t.TempDir()
	j := opened(t, dir)
	assert.ErrorContains(t, newJournal(time.Minute).open(dir, base, io.Discard), "another run is using the journal")
	require.NoError(t, newJournal(time.Minute).open(dir, base+"/other", io.Discard), "of another deployment is another")
	j.close()
	opened(t, dir).close()
}

// Each spelling of a base URL must lead to the same journal: two journals know nothing of each other's uploads.
func TestADeploymentHasOneJournal(t *testing.T) {
	for _, same := range []string{base + "/", "HTTPS://content.EXAMPLE.com:443/ai"} {
		assert.Equal(t, journalName(base), journalName(same))
	}
	for _, other := range []string{"http://content.example.com/ai", "https://content.example.com/AI", "https://content.example.com", base + ":8443"} {
		assert.NotEqual(t, journalName(base), journalName(other))
	}
	for _, same := range []string{"LOCALHOST", "127.0.0.1", "127.255.1.2", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"} {
		assert.Equal(t, journalName("http://localhost:8080/ai"), journalName("http://"+same+":8080/ai/"), same)
		assert.Equal(t, journalName("http://localhost"), journalName("http://"+same+":80"), same)
	}
	for _, other := range []string{"http://localhost:8081", "https://localhost:8080", "http://localhost:8080/ai", "http://10.0.0.1:8080", "http://[2001:db8::1]:8080"} {
		assert.NotEqual(t, journalName("http://localhost:8080"), journalName(other))
	}
	assert.Regexp(t, `^[0-9a-z.-]+\.jsonl$`, journalName("http://[2001:db8::1]:8080"))
}

// The second spelling of loopback is the second run of one journal.
func TestTwoSpellingsOfLoopbackAreOneAccount(t *testing.T) {
	srv, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	j := newJournal(time.Minute)
	require.NoError(t, j.open(flags[1], srv.URL, io.Discard))
	defer j.close()
	t.Setenv("AICONTENT_BASE_URL", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1))
	status, _, stderr := transcribe(t, append(flags, file)...)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, stderr, "another run is using the journal "+filepath.Join(flags[1], journalName(srv.URL)))
	assert.Empty(t, srv.Requests())
}

// Only one who knows which journal is used can tell whether it is the right one.
func TestTheJournalIsNamed(t *testing.T) {
	srv, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	path := filepath.Join(flags[1], journalName(srv.URL))
	_, _, stderr := transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "New journal: "+path+". It does not know the uploads in another one.\n")
	_, _, stderr = transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "Journal: "+path+"\n")
	assert.NotContains(t, stderr, "New journal")
}

// A search sends no recording: the next run need not wait for what it might have made.
func TestASearchIsNotJournalled(t *testing.T) {
	srv, flags := deployment(t)
	srv.FaultOn(aicontenttest.TranscriptionsList, 1, aicontenttest.Status(403, `{"message":"No."}`))
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	status, _, stderr := transcribe(t, append(flags, file)...)
	assert.Equal(t, exitSomeFailed, status, stderr)
	data, err := os.ReadFile(filepath.Join(flags[1], journalName(srv.URL)))
	require.NoError(t, err)
	assert.Empty(t, string(data))
}

// If the journal cannot be written, nothing more is sent: after a crash there would be no trace of it.
func TestWithoutAJournalNothingIsSent(t *testing.T) {
	j := opened(t, t.TempDir())
	require.NoError(t, j.file.Close())
	srv := aicontenttest.NewServer(t)
	client := srv.Client(aicontent.WithAttemptHook(j.mark))
	for _, name := range []string{"a", "b"} {
		_, err := client.Images.Store(context.WithValue(t.Context(), nameKey{}, name), aicontent.ImageStoreParams{Name: name, Description: name, Resolution: "256x256"})
		assert.ErrorContains(t, err, "the journal: ")
	}
	assert.Empty(t, srv.Requests())

	j.lease = 50 * time.Millisecond
	ctx, stop := context.WithCancelCause(t.Context())
	j.keepAlive(ctx, stop)
	assert.ErrorContains(t, context.Cause(ctx), "the journal: ")
}

// If the disk hangs, the run stops sending before its leases run out.
func TestADiskThatHangsStopsTheRun(t *testing.T) {
	j := opened(t, t.TempDir())
	j.lease = 50 * time.Millisecond
	ctx, stop := context.WithCancelCause(t.Context())
	j.mu.Lock()
	ended := make(chan struct{})
	go func() {
		j.keepAlive(ctx, stop)
		close(ended)
	}()
	<-ctx.Done()
	assert.ErrorContains(t, context.Cause(ctx), "could not be written for 50ms")
	j.mu.Unlock()
	<-ended
	j.close()
}
