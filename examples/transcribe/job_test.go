package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEqualContentIsPaidForOnce(t *testing.T) {
	srv, flags := deployment(t)
	dir, out := t.TempDir(), t.TempDir()
	for i := range 6 {
		file(t, wav(i%2), dir, fmt.Sprintf("%d.wav", i))
	}
	_, stderr := transcribe(t, exitDone, append(flags, "-o", out, dir)...)
	assert.Contains(t, stderr, "Files: 6. Made: 2. Found: 4.\n")
	texts, err := filepath.Glob(filepath.Join(out, "*", "*.txt"))
	require.NoError(t, err)
	assert.Len(t, texts, 6)

	_, stderr = transcribe(t, exitDone, append(flags, dir)...)
	assert.Contains(t, stderr, "Made: 0. Found: 6.\n")
	_, stderr = transcribe(t, exitDone, append(flags, "-journal", t.TempDir(), dir)...)
	assert.Contains(t, stderr, "Made: 0. Found: 6.\n", "without its journal, a record is still found")
	assert.Equal(t, 2, stores(srv))
}

func TestOtherSettingsAreAnotherRecord(t *testing.T) {
	srv, flags := deployment(t)
	dir := folder(t, 1)
	for _, more := range [][]string{nil, {"-language", "DE"}, {"-description", "DE"}} {
		transcribe(t, exitDone, append(append(flags, dir), more...)...)
	}
	assert.Equal(t, 3, stores(srv))
}

func TestADeletedRecordIsMadeAgainAndACorrectedTextIsFetched(t *testing.T) {
	srv, flags := deployment(t)
	texts, dir := srv.Client().Transcriptions, folder(t, 1)
	transcribe(t, exitDone, append(flags, dir)...)
	corrected := aicontent.TranscriptionUpdateParams{Result: new("Good morning.")}
	_, err := texts.Update(t.Context(), "1", corrected)
	require.NoError(t, err)
	stdout, _ := transcribe(t, exitDone, append(flags, dir)...)
	assert.Equal(t, "Good morning.\n", stdout)

	require.NoError(t, texts.Delete(t.Context(), "1"))
	_, stderr := transcribe(t, exitDone, append(flags, dir)...)
	assert.Regexp(t, `(?s)its text is not there yet; .*: made, id 2.*Made: 1\. Found: 0\.`, stderr, "a list may lag")
}

func TestATextThatComesLateIsWaitedFor(t *testing.T) {
	for name, fault := range map[string]aicontenttest.Fault{
		"after the others": aicontenttest.ActThenStatus(504), // The run finds the record.
		"at the end":       aicontenttest.HTMLPage(504),      // The run sends again when nothing has appeared.
	} {
		t.Run(name, func(t *testing.T) {
			var shows atomic.Int64
			srv, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				record, isRecord := r.JSON().(map[string]any)["data"].(map[string]any)
				if isRecord && (r.Request.Operation != showOp || shows.Add(1) < 2) {
					record["result"] = nil
					r.SetJSON(map[string]any{"data": record})
				}
			}))
			srv.FaultOn(storeOp, 1, fault)
			stdout, _ := transcribe(t, exitDone, append(flags, folder(t, 1))...)
			assert.Contains(t, stdout, "No transcript")
			assert.Len(t, srv.Created(), 1)
		})
	}
}

func TestAFailureStopsNoOtherRecordingAndIsExplainedInPlainWords(t *testing.T) {
	const again = "Run it again for 1 of these."
	refused := func(status int, message string) aicontenttest.Fault {
		return aicontenttest.Status(status, `{"message":"`+message+`"}`)
	}
	busy := refused(429, "No.").WithRetryAfter("7200")
	for name, c := range map[string]struct {
		content string // of the file that fails; none if empty
		op      aicontent.Operation
		fault   aicontenttest.Fault
		says    string
		advises string
	}{
		"a missing file":     {"", "", aicontenttest.Fault{}, ": no such file or directory\n", ""},
		"a scan":             {"%PDF-1.7 and so on", "", aicontenttest.Fault{}, "a PDF document\n", ""},
		"a bad recording":    {wav(2), storeOp, refused(422, "Not (a) (see (b))."), ": Not (a) (see (b)).\n", ""},
		"too many requests":  {wav(2), storeOp, busy, ": No.; the service asks to wait 2h0m0s\n", again},
		"a firewall":         {wav(2), storeOp, aicontenttest.ActThenStatus(403), ": 403 Forbidden\n", again},
		"a page for a list":  {wav(2), listOp, aicontenttest.HTMLPage(200), "the response could not be read\n", again},
		"an outage":          {wav(2), storeOp, aicontenttest.HTMLPage(503), ": 503 Service Unavailable\n", again},
		"no record is shown": {wav(2), storeOp, aicontenttest.InvalidJSON(), "; another -journal has it made anew", ""},
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				if r.Request.Operation == listOp {
					r.SetJSON(map[string]any{"data": []any{}, "links": map[string]any{"next": nil}})
				}
			}))
			dir := folder(t, 1)
			bad := filepath.Join(dir, "bad.mp3")
			if c.content != "" {
				file(t, c.content, bad)
			}
			transcribe(t, exitDone, append(flags, filepath.Join(dir, "0.wav"))...)
			if c.op != "" {
				srv.FaultOn(c.op, 100, c.fault)
			}
			args := append(flags, "-settle", "1s", "-j", "1", bad, filepath.Join(dir, "0.wav"))
			stdout, stderr := transcribe(t, exitSomeFailed, args...)
			assert.Regexp(t, `\A# \S+0\.wav\nNo transcript.*\n\n\z`, stdout)
			assert.Equal(t, 1, strings.Count(stderr, "  "+bad+": "), stderr)
			assert.Contains(t, stderr, c.says)
			assert.Contains(t, stderr, c.advises)
			assert.Equal(t, c.advises != "", strings.Contains(stderr, "Run it again"), stderr)
			assert.Contains(t, stderr, "Failed: 1.")
			assert.NotRegexp(t, `With[A-Zo]|transcriptions\.|aicontent\.|[Oo]utcome|ledger|`+srv.APIKey, stderr)
		})
	}
}

func TestARefusedKeyStopsTheRunEarly(t *testing.T) {
	srv, flags := deployment(t)
	t.Setenv("AICONTENT_API_KEY", "an-old-key")
	_, stderr := transcribe(t, exitUsage, append(flags, folder(t, 40))...)
	assert.Contains(t, stderr, "Stopped: the API key was refused; see AICONTENT_API_KEY.")
	assert.Contains(t, stderr, "Not tried: ")
	assert.NotContains(t, stderr, "Run it again", "it would be refused again")
	assert.LessOrEqual(t, len(srv.Requests()), 5)
	assert.Zero(t, stores(srv))
	assert.NotContains(t, stderr, "an-old-key")
}

func TestFiveServiceFailuresInARowEndTheRunAndBadRecordingsDoNot(t *testing.T) {
	for name, c := range map[string]struct {
		fault aicontenttest.Fault
		tried int
		says  string
	}{
		"no permission": {
			aicontenttest.Status(403, `{"message":"No."}`), maxInRow,
			`Stopped: 5 in a row failed.*Not tried: 7\. Failed: 5\.`,
		},
		"an outage": {
			aicontenttest.HTMLPage(502), maxInRow,
			`Not tried: 7\. Interrupted: 5\.\nBilled: 0\. Perhaps billed: 5\.\nRun it again for 12 `,
		},
		"recordings that are bad": {aicontenttest.Status(422, `{"message":"No."}`), 12, `Failed: 12\.\nBilled: 0\.\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			srv, flags := deployment(t)
			srv.FaultOn(storeOp, 100, c.fault)
			_, stderr := transcribe(t, exitSomeFailed, append(flags, "-settle", "1h", "-j", "1", folder(t, 12))...)
			assert.Equal(t, c.tried, stores(srv), stderr)
			assert.Regexp(t, `(?s)`+c.says, stderr)
		})
	}
}

func TestAFileThatChangesMakesNoRecord(t *testing.T) {
	long := wav(1) + strings.Repeat("\x00", 4<<20)
	path := file(t, long, t.TempDir(), "a.wav")
	var once sync.Once
	srv, flags := deployment(t, aicontenttest.OnRequest(func(r aicontenttest.Request) {
		// The SDK has looked for the record and sends the file next.
		once.Do(func() { file(t, strings.Replace(long, "1", "2", 1), path) })
	}))
	_, stderr := transcribe(t, exitSomeFailed, append(flags, path)...)
	assert.Contains(t, stderr, path+": the file changed after it was first read; run again\n")
	assert.Contains(t, stderr, "Run it again for 1 of these.")
	assert.Empty(t, srv.Records())
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

func TestATextThatCannotBeSavedIsNotPaidFor(t *testing.T) {
	srv, flags := deployment(t)
	dir, out := folder(t, 2), t.TempDir()
	long := strings.Repeat("n", 240) + ".wav"
	file(t, wav(3), dir, long)
	blocked := filepath.Join(out, filepath.Base(dir), "0.wav.txt")
	require.NoError(t, os.MkdirAll(blocked, 0o700))
	_, stderr := transcribe(t, exitSomeFailed, append(flags, "-o", out, dir)...)
	assert.Contains(t, stderr, "0.wav: "+blocked+" is a directory\n")
	assert.Regexp(t, "  .*"+long+": open .*: file name too long\n", stderr)
	assert.Contains(t, stderr, "Made: 1. Found: 0. Failed: 2.")
	assert.Equal(t, 1, stores(srv))
	assert.Equal(t, []string{"0.wav.txt", "1.wav.txt"}, names(t, filepath.Dir(blocked)))
}

func TestNothingThatIsThereIsOverwritten(t *testing.T) {
	srv, flags := deployment(t)
	dir, out := folder(t, 2), t.TempDir()
	flags = append(flags, "-o", out, dir)
	transcribe(t, exitDone, flags...)
	out = filepath.Join(out, filepath.Base(dir))
	corrected := file(t, "corrected", out, "0.wav.txt")
	linked := file(t, "linked to", t.TempDir(), "text")
	file(t, wav(3), dir, "2.wav")
	if err := os.Symlink(linked, filepath.Join(out, "2.wav.txt")); err != nil {
		t.Skip(err) // Windows may not allow it.
	}
	for range 2 {
		_, stderr := transcribe(t, exitSomeFailed, flags...)
		assert.Contains(t, stderr, corrected+" has another text, perhaps a corrected one; move it away")
		assert.Contains(t, stderr, "2.wav.txt is there, and the service has no text for it; move it away")
		assert.Contains(t, stderr, "Made: 0. Found: 1. Failed: 2.")
		assert.NotContains(t, stderr, "Stopped")
		assert.Equal(t, "corrected", contentOf(t, corrected))
		assert.Equal(t, "linked to", contentOf(t, linked))
	}
	assert.Equal(t, 2, stores(srv))
	assert.Equal(t, []string{"0.wav.txt", "1.wav.txt", "2.wav.txt"}, names(t, out))
}

func TestOtherRecordingsComeBeforeOneThatHasToWait(t *testing.T) {
	srv, flags := deployment(t)
	srv.FaultOn(storeOp, 1, aicontenttest.LateAct(504, 300*time.Millisecond))
	_, stderr := transcribe(t, exitDone, append(flags, "-j", "1", folder(t, 3))...)
	assert.Regexp(t, `(?s)0\.wav: its text is not there yet; .*1\.wav: made, .*2\.wav: made, .*0\.wav: made, `, stderr)
	assert.Len(t, srv.Records(), 3)
	assert.Equal(t, 3, stores(srv))
}

func TestARunSaysWhereItsJournalIsAndWhetherItIsNew(t *testing.T) {
	_, flags := deployment(t)
	dir := folder(t, 1)
	_, stderr := transcribe(t, exitDone, append(flags, dir)...)
	assert.Contains(t, stderr, "Journal: "+flags[1]+"\nIt is new: it does not know the uploads in another one.\n")
	_, stderr = transcribe(t, exitDone, append(flags, dir)...)
	assert.Contains(t, stderr, "Journal: "+flags[1]+"\n")
	assert.NotContains(t, stderr, "It is new")
}

func TestWithoutAJournalNothingIsSent(t *testing.T) {
	var gone sync.Once
	var journal string
	srv, flags := deployment(t, aicontenttest.OnRequest(func(aicontenttest.Request) {
		// The program looks for the first recording, and would send it next.
		gone.Do(func() {
			assert.NoError(t, os.RemoveAll(journal))
			file(t, "", journal)
		})
	}))
	journal = flags[1]
	_, stderr := transcribe(t, exitSomeFailed, append(flags, "-j", "1", folder(t, 12))...)
	assert.Zero(t, stores(srv))
	assert.Contains(t, stderr, "Not tried: 7. Failed: 5.")
	assert.Contains(t, stderr, "Journal: "+journal+"\n")
	assert.Contains(t, stderr, ": failed: the journal failed (")
	assert.NotContains(t, stderr, "ledger")
}
