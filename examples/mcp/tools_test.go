package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// settleTime is longer than anything that the service does late in these tests.
const settleTime = 5 * time.Minute

// patience is how long a call waits that sends nothing.
const patience = 45 * time.Second

// bubble runs a test against a service in memory, in a bubble where waiting takes no time.
func bubble(t *testing.T, test func(*testing.T, *aicontenttest.Server), opts ...aicontenttest.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts = append(opts, aicontenttest.InMemoryNetwork(), aicontenttest.BasePath("/tenant"))
		test(t, aicontenttest.NewServer(t, opts...))
	})
}

// An agent is an MCP client of a server of its own.
type agent struct {
	*mcp.ClientSession
	mu       sync.Mutex
	progress []string // messages of the notifications
}

// startAgent starts a server, whose journal is in dir, and connects to it. A ledger replaces that of the journal.
func startAgent(
	t *testing.T, srv *aicontenttest.Server, dir string, limit uint, root *os.Root, ledger ...once.Ledger,
) *agent {
	t.Helper()
	ledger = append(ledger, once.Dir(filepath.Join(dir, "names")))
	b := &budget{filepath.Join(dir, "days"), limit}
	require.NoError(t, os.MkdirAll(b.dir, 0o700))
	client := srv.Client(aicontent.WithAttemptHook(b.attempt))
	names, err := once.New(client, ledger[0], once.WithSettleTime(settleTime), once.WithMaxWait(patience))
	require.NoError(t, err)
	here, there := mcp.NewInMemoryTransports()
	all := &tools{client, names, b, root, slog.New(slog.DiscardHandler), patience}
	server, err := all.server().Connect(t.Context(), there, nil)
	require.NoError(t, err)
	a := &agent{}
	a.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "agent"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.progress = append(a.progress, req.Params.Message)
		},
	}).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		a.Close()
		_ = server.Wait()
	})
	return a
}

// call calls a tool and returns the text of its result.
func (a *agent) call(
	ctx context.Context, tool string, arguments map[string]any,
) (text string, isError bool, err error) {
	res, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", false, err
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError, nil
}

// result calls a tool, and returns the text of its result, which must be an error if it fails.
func (a *agent) result(t *testing.T, fails bool, tool string, arguments map[string]any) string {
	t.Helper()
	text, isError, err := a.call(t.Context(), tool, arguments)
	require.NoError(t, err)
	require.Equal(t, fails, isError, text)
	return text
}

func (a *agent) must(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	return a.result(t, false, tool, arguments)
}

func (a *agent) mustFail(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	return a.result(t, true, tool, arguments)
}

// A created is what a tool that creates returns.
type created struct {
	Name   string
	Record struct{ ID, Name, URL, Result string }
	Billed bool `json:"billed_by_this_call"`
}

// mustCreate calls a tool that has to create or find a record.
func (a *agent) mustCreate(t *testing.T, tool string, arguments map[string]any) (c created) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.must(t, tool, arguments)), &c))
	return c
}

// mustTimeOut calls a tool whose result the agent does not wait for.
func (a *agent) mustTimeOut(t *testing.T, patience time.Duration, arguments map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, _, err := a.call(ctx, "create_image", arguments)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// obey makes a call, and makes it again where the error says so, or says to ask the user, who is stubborn. It reports
// whether there is a record in the end.
func (a *agent) obey(t *testing.T, tool string, arguments map[string]any) (c created, ok bool) {
	for range 30 {
		text, isError, err := a.call(t.Context(), tool, arguments)
		switch {
		case err != nil:
			assert.NoError(t, err)
			return c, false
		case !isError:
			assert.NoError(t, json.Unmarshal([]byte(text), &c))
			return c, true
		case strings.Contains(text, "create nothing before midnight UTC"):
			return c, false
		}
		if !strings.Contains(text, "ask the user") && !assert.Contains(t, text, "Call again") {
			return c, false
		}
		time.Sleep(time.Minute)
	}
	assert.Fail(t, "an agent that does as it is told gets no record", "%s %v", tool, arguments)
	return c, false
}

func lighthouse(number int) map[string]any {
	return map[string]any{"description": fmt.Sprintf("Lighthouse %d", number), "resolution": "256x256"}
}

// recordings makes a folder with n recordings.
func recordings(t *testing.T, n int) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		data := fmt.Appendf([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), "recording %d", i)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.wav", i)), data, 0o600))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func TestTheSameArgumentsAreTheSameRecord(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		root := recordings(t, 2)
		data, err := root.ReadFile("0.wav")
		require.NoError(t, err)
		require.NoError(t, root.WriteFile("copy.wav", data, 0o600))
		a := startAgent(t, srv, t.TempDir(), 100, root)
		for tool, c := range map[string]struct {
			arguments   map[string]any
			same, other []map[string]any // changes of the arguments
		}{
			"create_image": {
				lighthouse(1),
				[]map[string]any{{}, {"again": 1}, {"style": ""}},
				[]map[string]any{
					{"again": 2}, {"again": 3}, {"style": "retro"}, {"medium": "chalk"}, {"filter": "sepia"},
					{"resolution": "512x512"}, {"description": "Lighthouse 1."},
				},
			},
			"transcribe_file": {
				map[string]any{"path": "0.wav"},
				[]map[string]any{{}, {"path": "copy.wav"}},
				[]map[string]any{{"path": "1.wav"}, {"language": "GB"}, {"description": "A talk"}, {"again": 2}},
			},
		} {
			changed := func(change map[string]any) map[string]any {
				arguments := maps.Clone(c.arguments)
				maps.Copy(arguments, change)
				return arguments
			}
			first := a.mustCreate(t, tool, c.arguments)
			assert.True(t, first.Billed)
			for _, change := range c.same {
				again := a.mustCreate(t, tool, changed(change))
				assert.Equal(t, first.Record.ID, again.Record.ID, "%s %v", tool, change)
				assert.False(t, again.Billed, "%s %v", tool, change)
			}
			seen := []string{first.Record.ID}
			for _, change := range c.other {
				another := a.mustCreate(t, tool, changed(change))
				assert.NotContains(t, seen, another.Record.ID, "%s %v", tool, change)
				assert.True(t, another.Billed)
				assert.Equal(t, another.Record.ID, a.mustCreate(t, tool, changed(change)).Record.ID)
				seen = append(seen, another.Record.ID)
			}
		}
		require.NoError(t, root.WriteFile("0.wav", append(data, "more"...), 0o600))
		changed := a.mustCreate(t, "transcribe_file", map[string]any{"path": "0.wav"})
		assert.True(t, changed.Billed, "other content is another record")
		assert.Contains(t, changed.Record.Result, "No transcript")
	})
}

func TestAPathOutOfTheFolderIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		outside := filepath.Join(t.TempDir(), "secret.wav")
		require.NoError(t, os.WriteFile(outside, []byte("RIFF\x00\x00\x00\x00WAVEfmt secret"), 0o600))
		root := recordings(t, 1)
		require.NoError(t, os.Symlink(outside, filepath.Join(root.Name(), "link.wav")))
		require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(root.Name(), "folder")))
		require.NoError(t, root.Symlink("0.wav", "inside.wav"))
		require.NoError(t, root.Mkdir("empty", 0o700))
		a := startAgent(t, srv, t.TempDir(), 100, root)
		up, err := filepath.Rel(root.Name(), outside)
		require.NoError(t, err)
		for _, path := range []string{
			outside, up, "link.wav", "folder/secret.wav", "empty/../" + up, "..", ".", "", "empty", "missing.wav",
			filepath.Join(root.Name(), "0.wav"), // a path is relative
		} {
			text := a.mustFail(t, "transcribe_file", map[string]any{"path": path})
			assert.True(t, strings.HasPrefix(text, "Nothing was sent. "+noUse+" Reason: "), text)
		}
		assert.Empty(t, srv.Requests(), "nothing was sent")
		a.mustCreate(t, "transcribe_file", map[string]any{"path": "inside.wav"})
	})
}

func TestToolsThatCreateSayThatTheyCostMoney(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		list, err := startAgent(t, srv, t.TempDir(), 17, recordings(t, 1)).ListTools(t.Context(), nil)
		require.NoError(t, err)
		var costly []string
		for _, tool := range list.Tools {
			if !tool.Annotations.ReadOnlyHint {
				assert.Contains(t, tool.Description, "COSTS MONEY: a new record is billed, at most 17 a day.")
				costly = append(costly, tool.Name)
			}
		}
		assert.ElementsMatch(t, []string{"create_image", "transcribe_file"}, costly)
		list, err = startAgent(t, srv, t.TempDir(), 17, nil).ListTools(t.Context(), nil)
		require.NoError(t, err)
		assert.Len(t, list.Tools, 5, "without a folder there is nothing to transcribe")
	})
}

func TestRecordsAreShownByIDAndListedByName(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, recordings(t, 1))
		image := a.mustCreate(t, "create_image", lighthouse(1))
		text := a.mustCreate(t, "transcribe_file", map[string]any{"path": "0.wav"})
		srv.AddImage(aicontent.Image{Name: "Harbor", Description: "A harbor", Resolution: "256x256"})

		find := func(tool, argument, value string) string {
			return a.must(t, tool, map[string]any{argument: value})
		}
		assert.Contains(t, find("show_image", "id", image.Record.ID), image.Record.URL)
		assert.Contains(t, find("show_transcription", "id", text.Record.ID), text.Record.Result)
		assert.Contains(t, find("list_images", "name", "arb"), `"Harbor"`)
		assert.NotContains(t, find("list_images", "name", "arb"), image.Record.Name)
		assert.Contains(t, find("list_images", "name", ""), image.Record.Name)
		assert.Contains(t, find("list_transcriptions", "name", text.Record.Name), text.Record.ID)

		missing := a.mustFail(t, "show_image", map[string]any{"id": "404"})
		assert.Regexp(t, `^The same call would fail again: change the arguments .* Reason: Resource not found`, missing)
		assert.Contains(t, a.mustFail(t, "show_image", map[string]any{"id": " "}), "id: must be ")
		srv.FaultN(20, aicontenttest.HTMLPage(502))
		down := a.mustFail(t, "list_images", map[string]any{})
		assert.Equal(t, "Call again with the same arguments in 1m0s. Reason: 502 Bad Gateway", down)
	})
}

func TestListsHaveTheBeginningsOfTexts(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		long := strings.Repeat("wörd ", 200_000)
		srv.AddImage(aicontent.Image{Name: "Lighthouse", Description: long})
		id := srv.AddTranscription(aicontent.Transcription{Name: "Talk", Description: long, Result: long}).ID
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		for _, tool := range []string{"list_images", "list_transcriptions"} {
			list := a.must(t, tool, nil)
			assert.Contains(t, list, "wörd wörd ")
			assert.Contains(t, list, "… (1200000 bytes; show has all)")
			assert.Less(t, len(list), 2000)
			assert.True(t, utf8.ValidString(list))
		}
		assert.Contains(t, a.must(t, "show_transcription", map[string]any{"id": id}), long)
	}, aicontenttest.FullRecords)
}

func TestAnErrorSaysWhatIsKnownAndWhatToDo(t *testing.T) {
	const (
		soon  = "Call again with the same arguments in 16s. Reason: "
		again = "Call again with the same arguments in 1m0s. Reason: "
		fails = "The same call would fail again: change the arguments or ask the user. Reason: "
		maybe = "It may have been created. "
		done  = "It was created. "
		not   = "Nothing was created. "
	)
	refused := func(status int, message string) aicontenttest.Fault {
		return aicontenttest.Status(status, `{"message":"`+message+`"}`)
	}
	for name, c := range map[string]struct {
		fault aicontenttest.Fault
		text  string
	}{
		"an outage":         {aicontenttest.HTMLPage(502), maybe + soon + "an earlier request may still create"},
		"no record":         {aicontenttest.Status(201, `{"ok":true}`), done + soon},
		"too many requests": {refused(429, "Too Many Attempts."), not + again + "Too Many Attempts. Its name: "},
		"a refused form":    {refused(422, "Not this."), not + fails + "Not this. Its name: "},
		"a wrong key":       {refused(401, "Unauthenticated."), not + fails + "Unauthenticated. Its name: "},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
				srv.FaultOn(aicontent.ImagesStore, 100, c.fault)
				a := startAgent(t, srv, t.TempDir(), 100, nil)
				text := a.mustFail(t, "create_image", lighthouse(1))
				assert.True(t, strings.HasPrefix(text, c.text), text)
				srv.ClearFaults()
				start := time.Now()
				if c.text == done+soon { // but no list has it, and nothing is sent again
					time.Sleep(settleTime)
					assert.Contains(t, a.mustFail(t, "create_image", lighthouse(1)), done+fails)
					assert.Equal(t, 1, requests(srv, aicontent.ImagesStore))
					return
				}
				_, ok := a.obey(t, "create_image", lighthouse(1))
				assert.True(t, ok)
				assert.Less(t, time.Since(start), settleTime+2*time.Minute)
				assert.Len(t, srv.Records(), 1)
			})
		})
	}
}

// noUse is the next step if the same call would fail again.
const noUse = "The same call would fail again: change the arguments or ask the user."

func TestAWrongValueCostsNoRequest(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		for field, values := range map[string][]any{
			"resolution": {"1x1"}, "style": {"cubism"}, "description": {" "}, "again": {-1, "2", 1.5},
		} {
			for _, value := range values {
				arguments := lighthouse(1)
				arguments[field] = value
				assert.Contains(t, a.mustFail(t, "create_image", arguments), field, "%v", value)
			}
		}
		assert.Empty(t, srv.Requests())
	})
}

func TestWordsOfAnyScriptFindTheRecordOfADescription(t *testing.T) {
	for description, c := range map[string]struct {
		words    string   // in the name
		searches []string // besides the description
	}{
		"Lighthouse, in the <b>fog</b>!": {"lighthouse-in-the-b-fog-b",
			[]string{"Lighthouse in the fog", "lighthouse fog"}},
		"Маяк в тумане":               {"маяк-в-тумане", []string{"маяк", "МАЯК", "Маяк, тумане"}},
		"霧の中の灯台":                      {"霧の中の灯台", []string{"灯台"}},
		"Heart ❤️ of 100%_stone":      {"heart-of-100-stone", []string{"heart of 100% stone", "100%_"}},
		strings.Repeat("Туман ", 100): {strings.Repeat("туман-", 10), []string{"ТУМАН туман"}},
	} {
		t.Run(c.words, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
				a := startAgent(t, srv, t.TempDir(), 100, nil)
				arguments := map[string]any{"description": description, "resolution": "256x256"}
				created := a.mustCreate(t, "create_image", arguments)
				assert.Regexp(t, "^mcp-"+c.words+"-[0-9a-f]{32}$", created.Name)
				assert.LessOrEqual(t, utf8.RuneCountInString(created.Name), 128)
				assert.False(t, a.mustCreate(t, "create_image", arguments).Billed)
				srv.AddImage(aicontent.Image{Name: "Harbor"})
				for _, search := range append(c.searches, description, created.Name) {
					list := a.must(t, "list_images", map[string]any{"name": search})
					assert.Contains(t, list, created.Name, search)
					assert.NotContains(t, list, "Harbor", search)
				}
			})
		})
	}
}

func TestTheFilesOfTheFolderAreListed(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		root := recordings(t, mostFiles+10)
		require.NoError(t, root.MkdirAll("talks/.trash", 0o700))
		for _, path := range []string{"talks/a.wav", "talks/.b.wav", "talks/.trash/c.wav"} {
			require.NoError(t, root.WriteFile(path, []byte("RIFF"), 0o600))
		}
		require.NoError(t, root.WriteFile("talks/empty.wav", nil, 0o600))
		require.NoError(t, root.Symlink("../0.wav", "talks/link.wav"))
		require.NoError(t, os.Symlink(os.Args[0], filepath.Join(root.Name(), "talks", "outside.wav")))
		a := startAgent(t, srv, t.TempDir(), 100, root)
		list := func(contains string) (listed struct {
			Paths []string
			More  bool
		}) {
			text := a.must(t, "list_folder", map[string]any{"contains": contains})
			require.NoError(t, json.Unmarshal([]byte(text), &listed))
			return listed
		}
		talks := list("talks")
		assert.Equal(t, []string{"talks/a.wav", "talks/link.wav"}, talks.Paths)
		assert.False(t, talks.More)
		all := list("")
		assert.Len(t, all.Paths, mostFiles)
		assert.True(t, all.More)
		a.mustCreate(t, "transcribe_file", map[string]any{"path": talks.Paths[1]})
	})
}

func TestAnAgentThatAsksForItIsToldOfProgressWhileAStoreWaits(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		params := &mcp.CallToolParams{Name: "create_image", Arguments: lighthouse(1)}
		params.SetProgressToken("token")
		_, err := a.CallTool(t.Context(), params)
		require.NoError(t, err)
		a.mustCreate(t, "create_image", lighthouse(2)) // It did not ask.
		synctest.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		assert.Equal(t, []string{"waiting for the record for 10s", "waiting for the record for 20s"}, a.progress)
	}, aicontenttest.LatencyOn(aicontent.ImagesStore, 25*time.Second))
}
