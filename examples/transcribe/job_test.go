package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
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
	for i := range 6 {
		assert.Contains(t, stderr, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), "each file is named")
	}
	texts, err := filepath.Glob(filepath.Join(out, "*", "*.txt"))
	require.NoError(t, err)
	assert.Len(t, texts, 6)

	status, _, stderr = transcribe(t, flags...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Contains(t, stderr, "Made: 0. Found: 2.\n")
	assert.Equal(t, 2, stores(srv))
}

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

func TestOtherSettingsAreAnotherRecord(t *testing.T) {
	srv, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	for _, more := range [][]string{nil, {"-language", "DE"}, {"-description", "DE"}} {
		status, _, stderr := transcribe(t, append(append(flags, file), more...)...)
		assert.Equal(t, exitDone, status, stderr)
	}
	assert.Equal(t, 3, stores(srv))
}

func TestADeletedRecordIsMadeAgainAndACorrectedTextIsFetched(t *testing.T) {
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
	assert.Contains(t, stderr, "if it was not deleted, the next run fetches it", "it may be a list that lags")
	age(t, flags[1], time.Hour)
	_, _, stderr = transcribe(t, append(flags, file)...)
	assert.Contains(t, stderr, "Made: 1. Found: 0.\n")
}

func TestALostResponseIsNotPaidForAgain(t *testing.T) {
	for _, fault := range []aicontenttest.Fault{aicontenttest.ActThenStatus(504), aicontenttest.LoseResponse(), aicontenttest.LateAct(502, 200*time.Millisecond)} {
		t.Run(fault.Name, func(t *testing.T) {
			srv, flags := deployment(t)
			srv.FaultWhen(isStore, 1, fault)
			status, _, stderr := transcribe(t, append(flags, recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000))...)
			assert.Equal(t, exitDone, status, stderr)
			assert.Contains(t, stderr, "Made: 1. Found: 0.", "what this run was billed for is counted, whoever found it")
			assert.Len(t, srv.Records(), 1)
		})
	}
}

func TestATextThatComesLateIsWaitedFor(t *testing.T) {
	shows := 0
	srv, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		switch r.Request.Operation {
		case aicontenttest.TranscriptionsList:
			r.SetJSON(map[string]any{"data": []any{map[string]any{"id": 1, "name": r.Request.Query.Get("search")}}})
		case aicontenttest.TranscriptionsShow:
			if shows++; shows < 3 {
				r.SetJSON(map[string]any{"data": map[string]any{"id": 1, "result": nil}})
			}
		}
	}))
	// Nothing is listed until a request was sent.
	srv.FaultOn(aicontenttest.TranscriptionsList, 1, aicontenttest.Status(200, `{"data":[],"links":{"next":null}}`))
	srv.FaultOn(aicontenttest.TranscriptionsStore, 1, aicontenttest.ActThenStatus(504))
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	status, stdout, stderr := transcribe(t, append(flags, "-settle", "1m", file)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Contains(t, stdout, "No transcript")
	assert.Equal(t, 3, shows)
	assert.Equal(t, 1, stores(srv))
}

func TestOneBadRecordingDoesNotStopTheOthers(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	good := recordingFile(t, filepath.Join(dir, "good.wav"), 1, 1000)
	picture, empty, missing := filepath.Join(dir, "scan.mp3"), filepath.Join(dir, "empty.mp3"), filepath.Join(dir, "missing.mp3")
	require.NoError(t, os.WriteFile(picture, []byte("%PDF-1.7 and so on"), 0o600))
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	other := recordingFile(t, filepath.Join(dir, "other.wav"), 2, 1000)

	status, stdout, stderr := transcribe(t, append(flags, "-j", "1", picture, empty, missing, other, good)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Regexp(t, `\A# .*other\.wav\nNo transcript.*\n\n# .*good\.wav\nNo transcript.*\n\n\z`, stdout)
	assert.Contains(t, stderr, "Made: 2. Found: 0. Failed: 3.")
	for _, path := range []string{picture, empty, missing} {
		assert.Equal(t, 1, strings.Count(stderr, "  "+path+": "), "%s in\n%s", path, stderr)
	}
	assert.NotContains(t, stderr, srv.APIKey)
	assert.NotContains(t, stderr, "Run it again", "none of the three would succeed")
	assert.Contains(t, stderr, "Reading the files (5).\n")
	assert.Contains(t, stderr, "\nFiles: 5. Different recordings: 3.", "as many as were announced")
}

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
		"a service that is down":    {down, []string{good}, "Run it again for 1 of these."},
		"and a missing file":        {down, []string{good, missing}, "Run it again for 1 of these."},
		"a recording that is wrong": {aicontenttest.Status(422, `{"message":"No."}`), []string{good}, ""},
		"a key without permission":  {aicontenttest.Status(403, `{"message":"No."}`), []string{good}, ""},
		"a firewall in between":     {aicontenttest.ActThenStatus(403), []string{good}, "Run it again for 1 of these."},
		"a record nowhere to find":  {aicontenttest.InvalidJSON(), []string{good}, ""},
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

func TestErrorsNameNothingOfTheSDK(t *testing.T) {
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
		"a search that fails":  {good, search, aicontenttest.Status(401, `{"message":"No."}`), ": No.\n"},
		"a search with a page": {good, search, aicontenttest.HTMLPage(200), "the response could not be read"},
		"an upload that fails": {good, isStore, aicontenttest.Status(422, `{"message":"No."}`), ": No.\n"},
		"an upload that is lost": {
			good, isStore, aicontenttest.LateAct(504, time.Hour), "504 Gateway Timeout",
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
		song := filepath.Join(dir, "Song (WithoutYou).mp3")
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

func TestErrorsHaveTheWholeMessageOfTheServiceAndItsWait(t *testing.T) {
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	for name, c := range map[string]struct {
		fault aicontenttest.Fault
		says  string
	}{
		"parentheses": {
			aicontenttest.Status(422, `{"message":"Not (WithoutPrefix.mp3) (see (a) and (b)), WithIt: no."}`),
			": Not (WithoutPrefix.mp3) (see (a) and (b)), WithIt: no.\n",
		},
		"two hours after a limit": {
			aicontenttest.Status(429, `{"message":"Too many (for now)."}`).WithRetryAfter("7200"),
			": Too many (for now).; the service asks to wait 2h0m0s",
		},
		"two hours of maintenance": {
			aicontenttest.Status(503, `{"message":"Down (planned)."}`).WithRetryAfter("7200"),
			": an earlier request may still create the record; the service asks to wait 2h0m0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t)
			srv.FaultWhen(isStore, 100, c.fault)
			_, _, stderr := transcribe(t, append(flags, "-settle", "1h", file)...)
			assert.Contains(t, stderr, "  "+file+c.says)
			assert.NotContains(t, stderr, "when the others are done", "a run does not wait for hours")
		})
	}
}

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

func TestARecordingPutOffDoesNotHideAnOutage(t *testing.T) {
	down := &recording{result: result{err: &aicontent.APIError{StatusCode: 429}}}
	later := &recording{result: result{err: &once.Error{}, later: true}}
	j := new(job)
	for range maxInRow - 1 {
		assert.NoError(t, j.verdict(down))
		assert.NoError(t, j.verdict(later))
	}
	assert.EqualError(t, j.verdict(down), "5 in a row failed")

	j = new(job)
	for range 2 * maxInRow {
		assert.NoError(t, j.verdict(down))
		assert.NoError(t, j.verdict(&recording{}), "a success does")
	}
}

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

func TestATextThatCannotBeSavedIsNotPaidFor(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	file, other := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000), recordingFile(t, filepath.Join(dir, "b.wav"), 2, 1000)
	long := recordingFile(t, filepath.Join(dir, strings.Repeat("n", 240)+".wav"), 3, 1000)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a.wav.txt"), 0o700))
	status, _, stderr := transcribe(t, append(flags, "-o", dir, file, other, long)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Contains(t, stderr, "  "+file+": "+filepath.Join(dir, "a.wav.txt")+" is a directory\n")
	assert.Regexp(t, "  "+long+": open .*: file name too long\n", stderr)
	assert.Contains(t, stderr, "Made: 1. Found: 0. Failed: 2.")
	assert.Equal(t, 1, stores(srv))
	assert.FileExists(t, filepath.Join(dir, "b.wav.txt"))
	assert.Equal(t, []string{"a.wav", "a.wav.txt", "b.wav", "b.wav.txt", filepath.Base(long)}, names(t, dir))
}

// names lists what is in a directory.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

func TestNothingThatIsThereIsOverwritten(t *testing.T) {
	srv, flags := deployment(t)
	out, elsewhere, files := t.TempDir(), t.TempDir(), t.TempDir()
	corrected, linked := filepath.Join(out, "a.wav.txt"), filepath.Join(elsewhere, "text")
	for i, name := range []string{"a.wav", "b.wav", "c.wav"} {
		recordingFile(t, filepath.Join(files, name), byte(i), 1000)
	}
	flags = append(flags, "-o", out, filepath.Join(files, "a.wav"), filepath.Join(files, "b.wav"))
	require.NoError(t, os.WriteFile(linked, []byte("linked to"), 0o600))
	if err := os.Symlink(linked, filepath.Join(out, "c.wav.txt")); err != nil {
		t.Skip(err) // Windows may not allow it.
	}
	status, _, stderr := transcribe(t, flags...)
	assert.Equal(t, exitDone, status, stderr)
	require.NoError(t, os.WriteFile(corrected, []byte("corrected"), 0o600))
	for range 2 {
		status, _, stderr = transcribe(t, append(flags, filepath.Join(files, "c.wav"))...)
		assert.Equal(t, exitSomeFailed, status)
		assert.Contains(t, stderr, corrected+" has another text, perhaps a corrected one; move it away")
		assert.Contains(t, stderr, "c.wav.txt is there, and the service has no text for it; move it away")
		assert.Contains(t, stderr, "Made: 0. Found: 2. Failed: 2.")
		assert.NotContains(t, stderr, "Stopped")
		for path, content := range map[string]string{corrected: "corrected", linked: "linked to"} {
			kept, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, content, string(kept), path)
		}
	}
	assert.Equal(t, 2, stores(srv))
	assert.Equal(t, []string{"a.wav.txt", "b.wav.txt", "c.wav.txt"}, names(t, out))
}

func TestATextFileIsNotSent(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	for _, name := range []string{"notes.mp3", "notes.txt"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("Buy milk.\n"), 0o600))
		status, _, stderr := transcribe(t, append(flags, path)...)
		assert.Equal(t, exitSomeFailed, status)
		assert.Contains(t, stderr, "  "+path+": is text, not a recording\n")
	}
	assert.Empty(t, srv.Requests())
}

func TestOneFileByTwoPathsIsOneText(t *testing.T) {
	_, flags := deployment(t)
	dir, out := t.TempDir(), t.TempDir()
	file := recordingFile(t, filepath.Join(dir, "talks", "a.wav"), 1, 1000)
	t.Chdir(filepath.Join(dir, "talks"))
	for _, args := range [][]string{{"a.wav", file}, {".", filepath.Join(dir, "talks")}} {
		status, _, stderr := transcribe(t, append(flags, append(args, "-o", out)...)...)
		assert.Equal(t, exitDone, status, stderr)
		assert.Contains(t, stderr, "Files: 1. Different recordings: 1.")
	}
}

func TestAFolderWithoutRecordingsIsListedAsFailed(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".hidden"), 0o700))
	recordingFile(t, filepath.Join(dir, ".hidden", "a.wav"), 1, 1000)
	status, _, stderr := transcribe(t, append(flags, dir)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Contains(t, stderr, "  "+dir+": skipped: no audio file in it (.aac ")
	assert.Empty(t, srv.Requests())

	file := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	status, _, stderr = transcribe(t, append(flags, file, dir)...)
	assert.Equal(t, exitDone, status, "the folder's file was named before: %s", stderr)
}

func TestOneTextThatCannotBeSavedStopsNoOtherAndFiveInARowEndTheRun(t *testing.T) {
	for blocked, says := range map[int]string{
		1: "Made: 9. Found: 0. Failed: 1.", 9: "Stopped: 5 in a row failed.\n\nFiles: 9. Different recordings: 9. Made: 5.",
	} {
		t.Run(fmt.Sprint(blocked), func(t *testing.T) {
			dir, n := t.TempDir(), 0
			// Somebody makes directories with the names of texts while the service works.
			_, flags := deployment(t, aicontenttest.OnRequest(func(r aicontenttest.Request) {
				if r.Operation == aicontenttest.TranscriptionsStore && n < blocked {
					assert.NoError(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("%d.wav.txt", n)), 0o700))
					n++
				}
			}))
			flags = append(flags, "-o", dir, "-j", "1")
			for i := range 9 {
				flags = append(flags, recordingFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", i)), byte(i), 1000))
			}
			status, _, stderr := transcribe(t, flags...)
			assert.Equal(t, exitSomeFailed, status)
			assert.Contains(t, stderr, says)
			assert.Contains(t, stderr, "the text cannot be saved: ")

			text := filepath.Join(dir, "0.wav.txt")
			require.NoError(t, os.Remove(text))
			_, _, stderr = transcribe(t, flags...)
			assert.Contains(t, stderr, "0.wav: found, id 1\n", "the text is fetched, not made again")
			assert.FileExists(t, text)
		})
	}
}

func TestSeveralRecordsOfARecordingAreOne(t *testing.T) {
	srv, flags := deployment(t)
	file := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000)
	name, day := recordingsIn(t, file)[0].name, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for id, text := range map[string]string{"9": "nine", "10": "ten", "8": "eight, but later"} {
		created := day
		if id == "8" {
			created = day.Add(time.Second)
		}
		srv.AddTranscription(aicontenttest.Transcription{ID: id, Name: name, Result: text, CreatedAt: created})
	}
	srv.AddTranscription(aicontenttest.Transcription{ID: "1", Name: name + "0", Result: "another", CreatedAt: day.Add(-time.Hour)})
	status, stdout, stderr := transcribe(t, append(flags, file)...)
	assert.Equal(t, exitDone, status, stderr)
	assert.Regexp(t, `: found, id (8|9|10)\n`, stderr)
	assert.Zero(t, stores(srv))

	_, again, _ := transcribe(t, append(flags, file)...)
	assert.Equal(t, stdout, again, "a text that changes with each run cannot be saved")
	assert.Zero(t, stores(srv))
}

func TestARecordWithAnotherNameIsNotTheText(t *testing.T) {
	for name, becomes := range map[string]string{
		"of this program": namePrefix + "another", "of somebody else": "My talk",
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t)
			file, out := recordingFile(t, filepath.Join(t.TempDir(), "a.wav"), 1, 1000), t.TempDir()
			flags = append(flags, "-o", out, file)
			transcribe(t, flags...)
			text, err := os.ReadFile(filepath.Join(out, "a.wav.txt"))
			require.NoError(t, err)
			record := srv.Transcriptions()[0]
			update := func(params aicontent.TranscriptionUpdateParams) {
				_, err := srv.Client().Transcriptions.Update(t.Context(), aicontent.ID(record.ID), params)
				require.NoError(t, err)
			}
			update(aicontent.TranscriptionUpdateParams{Name: &becomes, Result: new("The text of another recording.")})

			status, _, stderr := transcribe(t, flags...)
			assert.Equal(t, exitSomeFailed, status)
			assert.Contains(t, stderr, "another name")
			assert.Contains(t, stderr, record.ID, "to look at it")
			assert.NotContains(t, stderr, "Run it again", "it would fail again")
			kept, err := os.ReadFile(filepath.Join(out, "a.wav.txt"))
			require.NoError(t, err)
			assert.Equal(t, string(text), string(kept))
			assert.Equal(t, 1, stores(srv))

			update(aicontent.TranscriptionUpdateParams{Name: &record.Name, Result: &record.Result})
			status, _, stderr = transcribe(t, flags...)
			assert.Equal(t, exitDone, status, stderr)
		})
	}
}

func TestOtherRecordingsComeBeforeOneThatHasToWait(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	for i, name := range []string{"a.wav", "b.wav", "c.wav"} {
		recordingFile(t, filepath.Join(dir, name), byte(i), 1000)
	}
	srv.FaultWhen(isStore, 1, aicontenttest.LateAct(504, 300*time.Millisecond))
	status, _, stderr := transcribe(t, append(flags, "-j", "1", dir)...)
	assert.Equal(t, exitDone, status)
	assert.Regexp(t, `(?s)a\.wav: its text is not there yet; .*b\.wav: made, .*c\.wav: made, .*a\.wav: made, `, stderr)
	assert.Len(t, srv.Records(), 3)
	assert.Equal(t, 3, stores(srv))
}

func TestOtherRecordingsComeBeforeOneThatAnEarlierRunSent(t *testing.T) {
	srv, flags := deployment(t)
	dir := t.TempDir()
	first := recordingFile(t, filepath.Join(dir, "a.wav"), 1, 1000)
	ctx, interrupt := context.WithCancel(t.Context())
	srv.FaultWhen(isStore, 1, aicontenttest.LateAct(504, time.Hour))
	waits := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "its text is not there yet") {
			interrupt()
		}
		return len(p), nil
	})
	flags = append(flags, "-settle", "1h")
	assert.Equal(t, exitInterrupted, run(ctx, append(flags, first), io.Discard, waits))

	recordingFile(t, filepath.Join(dir, "b.wav"), 2, 1000)
	var record sync.Once
	var stderr strings.Builder
	shows := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "b.wav: made") {
			// The service was slow, but made it.
			record.Do(func() { addRecord(t, srv, first) })
		}
		return stderr.Write(p)
	})
	assert.Equal(t, exitDone, run(t.Context(), append(flags, "-j", "1", dir), io.Discard, shows))
	const story = `(?s)a\.wav: its text is not there yet; looking for it when the others are done\n` +
		`\S+b\.wav: made, .*a\.wav: found, `
	assert.Regexp(t, story, stderr.String())
	assert.Equal(t, 2, stores(srv))
}

func TestAnOutageEndsTheRun(t *testing.T) {
	srv, flags := deployment(t)
	srv.FaultWhen(isStore, 100, aicontenttest.Status(503, "down").WithRetryAfter("7200"))
	dir := t.TempDir()
	for i := range 12 {
		recordingFile(t, filepath.Join(dir, fmt.Sprintf("%02d.wav", i)), byte(i), 1000)
	}
	status, _, stderr := transcribe(t, append(flags, "-settle", "1h", "-j", "1", dir)...)
	assert.Equal(t, exitSomeFailed, status)
	assert.Equal(t, maxInRow, stores(srv))
	assert.Contains(t, stderr, "Not tried: 7. Failed: 5.")
	assert.Contains(t, stderr, "; the service asks to wait 2h0m0s (the text may still be created; ")
	assert.Contains(t, stderr, "Run it again for 12 of these.")
}
