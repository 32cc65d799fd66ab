package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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

// startAgent starts a server, whose journal is in dir, and connects to it.
func startAgent(t *testing.T, srv *aicontenttest.Server, dir string, limit uint, root *os.Root) *agent {
	t.Helper()
	return startWith(t, srv, dir, limit, root, once.Dir(filepath.Join(dir, "names")))
}

func startWith(
	t *testing.T, srv *aicontenttest.Server, dir string, limit uint, root *os.Root, ledger once.Ledger,
) *agent {
	t.Helper()
	b := &budget{filepath.Join(dir, "days"), limit}
	require.NoError(t, os.MkdirAll(b.dir, 0o700))
	client := srv.Client(aicontent.WithAttemptHook(b.attempt))
	names, err := once.New(client, ledger, once.WithSettleTime(settleTime), once.WithMaxWait(patience))
	require.NoError(t, err)
	here, there := mcp.NewInMemoryTransports()
	all := &tools{client, names, b, root, slog.New(slog.DiscardHandler)}
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
func (a *agent) call(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool, err error) {
	res, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "", false, err
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError, nil
}

// A created is what a tool that creates returns.
type created struct {
	Name   string
	Record struct{ ID, Name, URL, Result string }
	Billed bool `json:"billed_by_this_call"`
}

// mustCreate calls a tool that has to succeed.
func (a *agent) mustCreate(t *testing.T, tool string, arguments map[string]any) (c created) {
	t.Helper()
	text, isError, err := a.call(t.Context(), tool, arguments)
	require.NoError(t, err)
	require.False(t, isError, text)
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	return c
}

// mustFail calls a tool that has to fail, and returns the text of the error.
func (a *agent) mustFail(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	text, isError, err := a.call(t.Context(), tool, arguments)
	require.NoError(t, err)
	require.True(t, isError, text)
	return text
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

func TestEachCallMadeTwiceUnderFaultsIsBilledOnceAndTheLimitHolds(t *testing.T) {
	const calls, files, limit = 200, 40, 130
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		dir := t.TempDir()
		a := startAgent(t, srv, dir, limit, recordings(t, files))
		srv.Chaos(1, 0.2)
		tool := func(i int) (string, map[string]any) {
			if i < files {
				return "transcribe_file", map[string]any{"path": fmt.Sprintf("%d.wav", i), "language": "GB"}
			}
			return "create_image", lighthouse(i)
		}
		day := func() (ids []string) {
			ids = make([]string, calls)
			slots := make(chan struct{}, 8)
			var wg sync.WaitGroup
			for i := range calls {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					name, arguments := tool(i)
					if i%3 == 0 {
						// This agent loses patience, at a time of its own, before it calls twice.
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Millisecond)
						_, _, _ = a.call(ctx, name, arguments)
						cancel()
					}
					var both sync.WaitGroup
					var first, second created
					both.Go(func() { first, _ = a.obey(t, name, arguments) })
					both.Go(func() { second, _ = a.obey(t, name, arguments) })
					both.Wait()
					if first.Record.ID != "" && second.Record.ID != "" {
						assert.Equal(t, first.Record.ID, second.Record.ID, "the same call is the same record")
					}
					ids[i] = first.Record.ID
				})
			}
			wg.Wait()
			return ids
		}
		missing := func(ids []string) int {
			return len(slices.DeleteFunc(ids, func(id string) bool { return id != "" }))
		}

		days, before := 0, 0
		for left := calls; left > 0; days++ {
			require.Less(t, days, 5, "a day allows for some of the records at least")
			left = missing(day())
			today := len(srv.Records()) - before
			t.Logf("day %d: %d records, %d calls refused", days+1, today, left)
			assert.LessOrEqual(t, today, limit)
			assert.True(t, left == 0 || today > limit/2, "what created nothing must not count")
			before += today
			midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
			time.Sleep(time.Until(midnight))
		}
		assert.Greater(t, days, 1, "the limit must be met")
		assert.Len(t, srv.Records(), calls, "each call made twice is one record")
		names := make(map[string]bool)
		for _, record := range srv.Records() {
			names[record.Name] = true
		}
		assert.Len(t, names, calls)
		faulty := len(slices.DeleteFunc(srv.Requests(), func(r aicontenttest.Request) bool { return r.Fault == "" }))
		t.Logf("%d requests, %d of them faulty", len(srv.Requests()), faulty)
		assert.Greater(t, faulty*6, len(srv.Requests()), "a fifth of the requests is faulty")
	}, aicontenttest.Latency(time.Second))
}

func TestTheSameArgumentsAreTheSameRecord(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		root := recordings(t, 2)
		require.NoError(t, root.WriteFile("copy.wav", read(t, root, "0.wav"), 0o600))
		a := startAgent(t, srv, t.TempDir(), 100, root)

		first := a.mustCreate(t, "create_image", lighthouse(1))
		assert.True(t, first.Billed)
		assert.Equal(t, srv.URL+"/pictures/1.png", first.Record.URL)
		with := func(key string, value any) map[string]any {
			arguments := lighthouse(1)
			arguments[key] = value
			return arguments
		}
		for _, same := range []map[string]any{lighthouse(1), with("again", 1), with("style", "")} {
			c := a.mustCreate(t, "create_image", same)
			assert.Equal(t, first.Record.ID, c.Record.ID, "%v", same)
			assert.False(t, c.Billed, "%v", same)
		}
		seen := []string{first.Record.ID}
		for _, other := range []map[string]any{
			with("again", 2), with("again", 3), with("style", "retro"), with("medium", "chalk"), with("filter", "sepia"),
			with("resolution", "512x512"), with("description", "Lighthouse 1."),
		} {
			c := a.mustCreate(t, "create_image", other)
			assert.NotContains(t, seen, c.Record.ID, "%v", other)
			assert.True(t, c.Billed)
			assert.Equal(t, c.Record.ID, a.mustCreate(t, "create_image", other).Record.ID)
			seen = append(seen, c.Record.ID)
		}

		transcribe := func(path string, more ...any) created {
			arguments := map[string]any{"path": path}
			for i := 0; i < len(more); i += 2 {
				arguments[more[i].(string)] = more[i+1]
			}
			return a.mustCreate(t, "transcribe_file", arguments)
		}
		text := transcribe("0.wav")
		assert.Contains(t, text.Record.Result, "No transcript")
		assert.Equal(t, text.Record.ID, transcribe("copy.wav").Record.ID, "the path makes no difference")
		assert.NotEqual(t, text.Record.ID, transcribe("1.wav").Record.ID)
		assert.NotEqual(t, text.Record.ID, transcribe("0.wav", "language", "GB").Record.ID)
		assert.NotEqual(t, text.Record.ID, transcribe("0.wav", "description", "A talk").Record.ID)
		assert.NotEqual(t, text.Record.ID, transcribe("0.wav", "again", 2).Record.ID)
		require.NoError(t, root.WriteFile("0.wav", read(t, root, "1.wav"), 0o600))
		assert.NotEqual(t, text.Record.ID, transcribe("0.wav").Record.ID, "other content is another record")
	})
}

func read(t *testing.T, root *os.Root, path string) []byte {
	t.Helper()
	data, err := root.ReadFile(path)
	require.NoError(t, err)
	return data
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
			assert.Contains(t, text, "The same call would fail again: change the arguments or ask the user.", path)
			assert.NotContains(t, text, "created", path)
		}
		assert.Empty(t, srv.Requests(), "nothing was sent")
		a.mustCreate(t, "transcribe_file", map[string]any{"path": "inside.wav"})
	})
}

func TestToolsSayWhatTheyCostAndTake(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		with, err := startAgent(t, srv, t.TempDir(), 17, recordings(t, 1)).ListTools(t.Context(), nil)
		require.NoError(t, err)
		without, err := startAgent(t, srv, t.TempDir(), 17, nil).ListTools(t.Context(), nil)
		require.NoError(t, err)
		var names []string
		for _, tool := range with.Tools {
			names = append(names, tool.Name)
			hints := tool.Annotations
			creates := tool.Name == "create_image" || tool.Name == "transcribe_file"
			assert.True(t, hints.IdempotentHint, tool.Name)
			assert.Equal(t, !creates, hints.ReadOnlyHint, tool.Name)
			assert.Equal(t, creates, *hints.OpenWorldHint, tool.Name)
			if creates {
				assert.False(t, *hints.DestructiveHint, tool.Name)
				assert.Contains(t, tool.Description, "COSTS MONEY: a new record is billed, at most 17 a day.")
			} else {
				assert.Contains(t, tool.Description, "Free.", tool.Name)
			}
		}
		assert.ElementsMatch(t, names, strings.Fields(
			"create_image transcribe_file list_folder show_image show_transcription list_images list_transcriptions"))
		assert.Len(t, without.Tools, len(names)-2, "without a folder there is nothing to transcribe")
		i := slices.IndexFunc(with.Tools, func(tool *mcp.Tool) bool { return tool.Name == "create_image" })
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		data, err := json.Marshal(with.Tools[i].InputSchema)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &schema))
		for property, want := range map[string]string{
			"resolution": "1024x1024", "style": "pixel_art", "medium": "watercolor", "filter": "sepia",
		} {
			assert.Contains(t, schema.Properties[property].Enum, want)
		}
		assert.Contains(t, fmt.Sprint(with.Tools[i].InputSchema), "2 creates and bills a second one")
	})
}

func TestRecordsAreShownByIDAndListedByName(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, recordings(t, 1))
		image := a.mustCreate(t, "create_image", lighthouse(1))
		text := a.mustCreate(t, "transcribe_file", map[string]any{"path": "0.wav"})
		srv.AddImage(aicontenttest.Image{Name: "Harbor", Description: "A harbor", Resolution: "256x256"})

		find := func(tool, argument, value string) string {
			found, isError, err := a.call(t.Context(), tool, map[string]any{argument: value})
			require.NoError(t, err)
			require.False(t, isError, found)
			return found
		}
		assert.Contains(t, find("show_image", "id", image.Record.ID), image.Record.URL)
		assert.Contains(t, find("show_transcription", "id", text.Record.ID), text.Record.Result)
		assert.Contains(t, find("list_images", "name", "arb"), `"Harbor"`)
		assert.NotContains(t, find("list_images", "name", "arb"), image.Record.Name)
		assert.Contains(t, find("list_images", "name", ""), image.Record.Name)
		assert.Contains(t, find("list_transcriptions", "name", text.Record.Name), text.Record.ID)

		missing := a.mustFail(t, "show_image", map[string]any{"id": "404"})
		assert.Regexp(t, `^The same call would fail again: change the arguments .* Reason: Resource not found`, missing)
		assert.Contains(t, a.mustFail(t, "show_image", map[string]any{"id": " "}), "is required")
		srv.FaultN(20, aicontenttest.HTMLPage(502))
		down := a.mustFail(t, "list_images", map[string]any{})
		assert.Equal(t, "Call again with the same arguments in 1m0s. Reason: 502 Bad Gateway", down)
	})
}

func TestTwoRecordsOfOneNameAreShownByID(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		name := nameOf("Lighthouse 1", imageArguments{Description: "Lighthouse 1", Resolution: "256x256", Again: 1})
		first := srv.AddImage(aicontenttest.Image{Name: name}).ID
		second := srv.AddImage(aicontenttest.Image{Name: name}).ID
		text := a.mustFail(t, "create_image", lighthouse(1))
		const prefix = "It was created. The same call would fail again: change the arguments or ask the user. Reason: "
		assert.Contains(t, text, prefix+"more than one record has the name (ids: ["+second+" "+first+"])")
		for _, id := range []string{first, second} {
			found, isError, err := a.call(t.Context(), "show_image", map[string]any{"id": id})
			require.NoError(t, err)
			require.False(t, isError, found)
			assert.Contains(t, found, `"id":"`+id+`"`)
		}
	})
}

func TestListsHaveTheBeginningsOfTexts(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		long := strings.Repeat("wörd ", 200_000)
		srv.AddImage(aicontenttest.Image{Name: "Lighthouse", Description: long})
		id := srv.AddTranscription(aicontenttest.Transcription{Name: "Talk", Description: long, Result: long}).ID
		a := startAgent(t, srv, t.TempDir(), 100, nil)
		for _, tool := range []string{"list_images", "list_transcriptions"} {
			list, isError, err := a.call(t.Context(), tool, nil)
			require.NoError(t, err)
			require.False(t, isError, list)
			assert.Contains(t, list, "wörd wörd ")
			assert.Contains(t, list, "… (1200000 bytes; show has all)")
			assert.Less(t, len(list), 2000)
			assert.True(t, utf8.ValidString(list))
		}
		text, _, err := a.call(t.Context(), "show_transcription", map[string]any{"id": id})
		require.NoError(t, err)
		assert.Contains(t, text, long)
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
	for name, c := range map[string]struct {
		fault aicontenttest.Fault
		text  string
	}{
		"an outage":           {aicontenttest.HTMLPage(502), maybe + soon + "an earlier request may still create the record"},
		"no response":         {aicontenttest.CloseBeforeRead(), maybe + soon},
		"not implemented":     {aicontenttest.Status(501, "{}"), maybe + fails},
		"a redirect":          {aicontenttest.RedirectTo(302, "https://elsewhere.example/"), maybe + soon},
		"no record":           {aicontenttest.Status(201, `{"ok":true}`), done + soon},
		"too many requests":   {aicontenttest.Status(429, `{"message":"Too Many Attempts."}`), not + again + "Too Many Attempts."},
		"a refused form":      {aicontenttest.Status(422, `{"message":"Not this."}`), not + fails + "Not this."},
		"a key that is wrong": {aicontenttest.Status(401, `{"message":"Unauthenticated."}`), not + fails + "Unauthenticated."},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
				srv.FaultOn(aicontenttest.ImagesStore, 100, c.fault)
				a := startAgent(t, srv, t.TempDir(), 100, nil)
				text := a.mustFail(t, "create_image", lighthouse(1))
				assert.True(t, strings.HasPrefix(text, c.text), text)
				srv.ClearFaults()
				start := time.Now()
				if c.text == done+soon { // but no list has it, and nothing is sent again
					time.Sleep(settleTime)
					assert.Contains(t, a.mustFail(t, "create_image", lighthouse(1)), done+fails)
					assert.Equal(t, 1, requests(srv, aicontenttest.ImagesStore))
					return
				}
				_, ok := a.obey(t, "create_image", lighthouse(1))
				assert.True(t, ok)
				assert.Less(t, time.Since(start), settleTime+2*time.Minute)
				assert.Len(t, srv.Records(), 1)
			})
		})
	}
	t.Run("no connection", func(t *testing.T) {
		bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
			srv.RefuseConnections(100)
			text := startAgent(t, srv, t.TempDir(), 100, nil).mustFail(t, "create_image", lighthouse(1))
			assert.True(t, strings.HasPrefix(text, not+again+"no connection to the service"), text)
		})
	})
	t.Run("values", func(t *testing.T) {
		bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
			a := startAgent(t, srv, t.TempDir(), 100, nil)
			for field, value := range map[string]any{"resolution": "1x1", "style": "cubism", "description": " "} {
				arguments := lighthouse(1)
				arguments[field] = value
				assert.Regexp(t, field+": (enum|is required)", a.mustFail(t, "create_image", arguments))
			}
			assert.Empty(t, srv.Requests(), "a wrong value costs no search")
			for _, again := range []any{-1, "2", 1.5} {
				text := a.mustFail(t, "create_image", map[string]any{"again": again, "description": "x", "resolution": "256x256"})
				assert.Contains(t, text, "again")
			}
			assert.Zero(t, requests(srv, aicontenttest.ImagesStore))
		})
	})
}

func TestANameIsFoundAgainByTheWordsOfTheDescription(t *testing.T) {
	bubble(t, func(t *testing.T, srv *aicontenttest.Server) {
		a := startAgent(t, srv, t.TempDir(), 100, recordings(t, 1))
		long := strings.Repeat("A lighthouse, in the <b>fog</b>! ", 20)
		for _, arguments := range []map[string]any{lighthouse(1), {"description": long, "resolution": "256x256"}} {
			c := a.mustCreate(t, "create_image", arguments)
			assert.Equal(t, c.Name, c.Record.Name)
			assert.Equal(t, c.Name, a.mustCreate(t, "create_image", arguments).Name)
			assert.Regexp(t, `^mcp-[a-z0-9-]{8,60}-[0-9a-f]{32}$`, c.Name)
			list, _, err := a.call(t.Context(), "list_images", map[string]any{"name": "lighthouse"})
			require.NoError(t, err)
			assert.Contains(t, list, c.Record.ID)
		}
		c := a.mustCreate(t, "transcribe_file", map[string]any{"path": "0.wav", "description": "Talk of 灯台"})
		assert.Regexp(t, `^mcp-talk-of-[0-9a-f]{32}$`, c.Name)
	})
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
			text, isError, err := a.call(t.Context(), "list_folder", map[string]any{"contains": contains})
			require.NoError(t, err)
			require.False(t, isError, text)
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
	}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, 25*time.Second))
}
