package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stores counts the create requests that the service received.
func stores(srv *aicontenttest.Server) (n int) {
	for _, r := range srv.Requests() {
		if r.Operation == aicontenttest.TranscriptionsStore {
			n++
		}
	}
	return n
}

func isStore(r *aicontenttest.Request) bool { return r.Operation == aicontenttest.TranscriptionsStore }

// Files with equal content are one record, within a run and across runs.
func TestEqualContentIsPaidForOnce(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	for i := range 6 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), byte(i%2), 1000)
	}
	out := t.TempDir()
	flags = append(flags, "-o", out, dir)
	status, _, stderr := transcribe(t, append(flags, filepath.Join(dir, "0.wav"))...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Contains(t, stderr, "Files: 6. Different recordings: 2. Made: 2. Found: 0.\n")
	texts, err := filepath.Glob(filepath.Join(out, "*", "*.txt"))
	require.NoError(t, err)
	assert.Len(t, texts, 6)

	status, _, stderr = transcribe(t, flags...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Contains(t, stderr, "Made: 0. Found: 2.\n")
	assert.Equal(t, 2, stores(srv))
}

// Without the journal a finished record is found by its name.
func TestWithoutItsJournalARecordIsStillFound(t *testing.T) {
	srv, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	transcribe(t, append(flags, file)...)
	status, stdout, stderr := transcribe(t, append(flags, "-journal", t.TempDir(), file)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Contains(t, stderr, "Made: 0. Found: 1.\n")
	assert.Contains(t, stdout, "No transcript")
	assert.Equal(t, 1, stores(srv))
}

// Other settings lead to another text, so to another record.
func TestOtherSettingsAreAnotherRecord(t *testing.T) {
	srv, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	for _, more := range [][]string{nil, {"-language", "DE"}, {"-description", "DE"}} {
		status, _, stderr := transcribe(t, append(append(flags, file), more...)...)
		assert.Equal(t, exitDone, status, stderr)
	}
	assert.Equal(t, 3, stores(srv))
}

// A deleted record is made again; a corrected text is fetched.
func TestChangesMadeInTheServiceCount(t *testing.T) {
	srv, flags := deployment(t)
	client := srv.Client()
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	transcribe(t, append(flags, file)...)
	record := srv.Transcriptions()[0]
	corrected := "Good morning."
	_, err := client.Transcriptions.Update(t.Context(), aicontent.ID(record.ID), aicontent.TranscriptionUpdateParams{Result: &corrected})
	require.NoError(t, err)
	_, stdout, _ := transcribe(t, append(flags, file)...)
	assert.Equal(t, corrected+"\n", stdout)

	require.NoError(t, client.Transcriptions.Delete(t.Context(), aicontent.ID(record.ID)))
	_, _, stderr := transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "Made: 1. Found: 0.\n")
}

// If a proxy gives up, the record may still appear: it is waited for and not paid for again.
func TestALostResponseIsNotPaidForAgain(t *testing.T) {
	for _, fault := range []aicontenttest.Fault{aicontenttest.ActThenStatus(504), aicontenttest.LoseResponse(), aicontenttest.LateAct(502, 200*time.Millisecond)} {
		t.Run(fault.Name, func(t *testing.T) {
			srv, flags := deployment(t)
			srv.FaultWhen(isStore, 1, fault)
			status, _, stderr := transcribe(t, append(flags, recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000))...)
			assert.Equal(t, exitDone, status, stderr)
			assert.Contains(t, stderr, "Found: 1.")
			assert.Len(t, srv.Records(), 1)
		})
	}
}

// A bad recording does not stop the others, and the summary says what is wrong with it.
func TestOneBadRecordingDoesNotStopTheOthers(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	good := recordingFile(t, filepath.Join(dir, "good.wav"), 1, 1000)
	picture, empty, missing := filepath.Join(dir, "scan.mp3"), filepath.Join(dir, "empty.mp3"), filepath.Join(dir, "missing.mp3")
	require.NoError(t, os.WriteFile(picture, []byte("%PDF-1.7 and so on"), 0o600))
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	other := recordingFile(t, filepath.Join(dir, "other.wav"), 2, 1000)

	status, stdout, stderr := transcribe(t, append(flags, picture, empty, missing, other, good)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Regexp(t, `\A# .*other\.wav\nNo transcript.*\n\n# .*good\.wav\nNo transcript.*\n\z`, stdout)
	assert.Contains(t, stderr, "Made: 2. Found: 0. Failed: 3.")
	for _, path := range []string{picture, empty, missing} {
		assert.Equal(t, 1, strings.Count(stderr, "  "+path+": "), "%s in\n%s", path, stderr)
	}
	assert.NotContains(t, stderr, srv.APIKey)
	assert.NotContains(t, stderr, "Run it again", "none of the three would succeed")
	assert.Contains(t, stderr, "Reading the files (5).\n")
	assert.Contains(t, stderr, "\nFiles: 5. Different recordings: 4.", "as many as were announced")
}

// Running again is advised where it helps, and only for the recordings that it helps.
func TestRunningAgainIsAdvisedWhereItHelps(t *testing.T) {
	dir := t.TempDir()
	good := recordingFile(t, filepath.Join(dir, "good.wav"), 1, 1000)
	missing := filepath.Join(dir, "missing.wav")
	down := aicontenttest.Status(503, "down").WithRetryAfter("3600") // longer than a run waits
	for name, c := range map[string]struct {
		fault aicontenttest.Fault
		files []string
		says  string // nothing if empty
	}{
		"a service that is down":    {down, []string{good}, "Run it again for the rest. Nothing is paid for twice."},
		"and a missing file":        {down, []string{good, missing}, "Run it again for 1 of these."},
		"a recording that is wrong": {aicontenttest.Status(422, `{"message":"No."}`), []string{good}, ""},
		"a key without permission":  {aicontenttest.Status(403, `{"message":"No."}`), []string{good}, ""},
		"an unreadable response":    {aicontenttest.InvalidJSON(), []string{good}, "Run it again for the rest."},
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				if r.Request.Operation == aicontenttest.TranscriptionsList {
					r.SetJSON(map[string]any{"data": []any{}, "links": map[string]any{"next": nil}})
				}
			}))
			srv.FaultWhen(isStore, 100, c.fault)
			status, _, stderr := transcribe(t, append(flags, append([]string{"-settle", "1s"}, c.files...)...)...)
			assert.Equal(t, exitSomeFailed, status)
			if c.says == "" {
				assert.NotContains(t, stderr, "Run it again")
			}
			assert.Contains(t, stderr, c.says)
		})
	}
}

// Whoever transcribes does not know the SDK: what it says to programmers is left out or translated.
func TestErrorsAreInPlainWords(t *testing.T) {
	dir := t.TempDir()
	good, scan := recordingFile(t, filepath.Join(dir, "good.wav"), 1, 1000), filepath.Join(dir, "scan.mp3")
	require.NoError(t, os.WriteFile(scan, []byte("%PDF-1.7 and so on"), 0o600))
	empty := filepath.Join(dir, "empty.mp3")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	search := func(r *aicontenttest.Request) bool { return r.Operation == aicontenttest.TranscriptionsList }
	for name, c := range map[string]struct {
		file  string
		match func(*aicontenttest.Request) bool
		fault aicontenttest.Fault
		says  string
	}{
		"a scan":               {scan, nil, aicontenttest.Fault{}, "PDF"},
		"an empty file":        {empty, nil, aicontenttest.Fault{}, "empty"},
		"a search that fails":  {good, search, aicontenttest.Status(401, `{"message":"No."}`), "401: No."},
		"a search with a page": {good, search, aicontenttest.HTMLPage(200), "page"},
		"an upload that fails": {good, isStore, aicontenttest.Status(422, `{"message":"No."}`), "422: No."},
		"an upload that is lost": {
			good, isStore, aicontenttest.LateAct(504, time.Hour), "looks for it first)\nRun it again for the rest.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t)
			if c.match != nil {
				srv.FaultWhen(c.match, 100, c.fault)
			}
			_, _, stderr := transcribe(t, append(flags, "-settle", "1s", c.file)...)
			assert.Contains(t, stderr, c.says)
			assert.NotRegexp(t, `With(out)?[A-Z]|transcriptions\.|aicontent\.[A-Z]|[Oo]utcome`, stderr)
		})
	}
	t.Run("a name like an option's", func(t *testing.T) {
		_, flags := deployment(t)
		song := filepath.Join(dir, "WithoutYou.mp3")
		_, _, stderr := transcribe(t, append(flags, song)...)
		assert.Contains(t, stderr, "stat "+song+": no such file")
	})
	t.Run("no key", func(t *testing.T) {
		deployment(t)
		t.Setenv("AICONTENT_API_KEY", "")
		_, _, stderr := transcribe(t, good)
		assert.Equal(t, "transcribe: AICONTENT_API_KEY: must be set in the environment\n", stderr)
	})
	t.Run("no encryption", func(t *testing.T) {
		deployment(t)
		t.Setenv("AICONTENT_BASE_URL", "http://content.example.com")
		_, _, stderr := transcribe(t, good)
		assert.Contains(t, stderr, "must begin with https://")
		assert.NotContains(t, stderr, "With")
	})
}

// A refused key fails every recording, so nothing is uploaded and a thousand files do not fail one by one.
func TestARefusedKeyStopsTheRunEarly(t *testing.T) {
	srv, flags := deployment(t)
	t.Setenv("AICONTENT_API_KEY", "an-old-key")
	dir := t.TempDir()
	for i := range 40 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), byte(i), 1000)
	}
	status, _, stderr := transcribe(t, append(flags, dir)...)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, stderr, "Stopped: the API key was refused; see AICONTENT_API_KEY.")
	assert.Contains(t, stderr, "Not tried: ")
	assert.NotContains(t, stderr, "Run it again", "it would be refused again")
	assert.LessOrEqual(t, len(srv.Requests()), 5)
	assert.Zero(t, stores(srv))
	assert.NotContains(t, stderr, "an-old-key")
}

// Five forbidden uploads in a row end the run; invalid recordings never do.
func TestAServiceThatTakesNothingStopsTheRun(t *testing.T) {
	for _, test := range []struct {
		status, tried int
	}{{403, maxInRow}, {422, 12}} {
		t.Run(fmt.Sprint(test.status), func(t *testing.T) {
			srv, flags := deployment(t)
			srv.FaultWhen(isStore, 100, aicontenttest.Status(test.status, `{"message":"No."}`))
			dir := t.TempDir()
			for i := range 12 {
				recordingFile(t, filepath.Join(dir, fmt.Sprintf("%02d.wav", i)), byte(i), 1000)
			}
			status, _, stderr := transcribe(t, append(flags, "-j", "1", dir)...)
			assert.Equal(t, exitSomeFailed, status)
			assert.Equal(t, test.tried, stores(srv), stderr)
		})
	}
}

// A file that changes after it was hashed leads to no record: the name would stand for other content.
func TestAChangedFileMakesNoRecord(t *testing.T) {
	for name, size := range map[string]int{"of the same size": 4 << 20, "of another size": 1 << 20, "a short one": 400} {
		t.Run(name, func(t *testing.T) {
			path := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 4<<20)
			if size == 400 {
				recordingFile(t, path, 1, 400)
			}
			var once sync.Once
			srv, flags := deployment(t, aicontenttest.OnRequest(func(r aicontenttest.Request) {
				// The SDK has looked for the record and sends the file next.
				once.Do(func() { recordingFile(t, path, 2, size) })
			}))
			status, _, stderr := transcribe(t, append(flags, path)...)
			assert.Equal(t, exitSomeFailed, status)
			assert.Contains(t, stderr, errChanged.Error())
			assert.Empty(t, srv.Records())
		})
	}
}

func TestATextThatCannotBeSavedIsAFailure(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	file := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a.wav.txt"), 0o700))
	status, _, stderr := transcribe(t, append(flags, "-o", dir, file)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Contains(t, stderr, filepath.Join(dir, "a.wav.txt"))
	assert.Len(t, srv.Records(), 1)
	require.NoError(t, os.Remove(filepath.Join(dir, "a.wav.txt")))
	status, _, _ = transcribe(t, append(flags, "-o", dir, file)...)
	assert.Equal(t, exitDone, status)
	assert.Equal(t, 1, stores(srv), "the text is fetched, not made again")
	info, err := os.Stat(filepath.Join(dir, "a.wav.txt"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0), info.Mode()&fs.ModeType)
}
