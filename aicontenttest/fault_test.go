package aicontenttest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// connected returns a client with a connection, so that the next fault strikes a request.
func connected(t *testing.T, s *Server) *http.Client {
	t.Helper()
	hc := unredirected(s)
	resp, err := hc.Do(signed(t, s, get("/api/v1/images")))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return hc
}

// TestEachFaultDoesToClientAndServiceWhatItSays creates an image while each fault strikes, and compares what the client
// sees with what the service did.
func TestEachFaultDoesToClientAndServiceWhatItSays(t *testing.T) {
	for _, c := range []struct {
		fault  Fault
		acted  bool
		status int // that the client sees; 0 for none
		broken bool
		body   string // that the response contains
	}{
		{Status(503, `{"message":"Busy"}`).WithRetryAfter("5"), false, 503, false, `{"message":"Busy"}`},
		{Status(503, "busy").Early(), false, 503, false, "busy"},
		{Status(201, "").Acting(), true, 201, false, ""},
		{HTMLPage(200), false, 200, false, "<h1>200 OK</h1>"},
		{RedirectTo(307, "https://elsewhere.example/x"), false, 307, false, ""},
		{ActThenStatus(504), true, 504, false, "<h1>504 Gateway Timeout</h1>"},
		{RefuseConnection(), false, 0, true, ""},
		{CloseBeforeRead(), false, 0, true, ""},
		{CloseBeforeRead().WithReset(), false, 0, true, ""},
		{CloseMidUpload(10), false, 0, true, ""},
		{CloseMidUpload(10).WithReset(), false, 0, true, ""},
		{CloseMidUpload(1 << 20), false, 0, true, ""},
		{LoseResponse(), true, 0, true, ""},
		{LoseResponse().WithReset(), true, 0, true, ""},
		{CloseMidResponse(), true, 201, true, `{"data":`},
		{TruncatedJSON(), true, 201, false, `{"data":`},
		{InvalidJSON(), true, 201, false, `{"data" =>`},
	} {
		t.Run(c.fault.Name, func(t *testing.T) {
			overEveryNetwork(t, func(t *testing.T, s *Server) {
				s.FaultOn(aicontent.ImagesStore, 1, c.fault)
				hc := connected(t, s)
				var body []byte
				resp, err := hc.Do(signed(t, s, post("/api/v1/images", storeForm)))
				if err == nil {
					body, err = io.ReadAll(resp.Body)
					resp.Body.Close()
					assert.Equal(t, c.status, resp.StatusCode)
				} else {
					assert.Zero(t, c.status, "no response: %v", err)
				}
				assert.Equal(t, c.broken, err != nil, "%v", err)
				assert.Contains(t, string(body), c.body)
				s.Close()
				entry := s.Requests()[1]
				assert.Equal(t, c.acted, entry.Acted)
				assert.Equal(t, c.status, entry.Status)
				assert.Equal(t, c.fault.Name, entry.Fault)
				assert.Equal(t, c.acted, len(s.Images()) == 1)
				assert.Equal(t, c.acted, len(s.Records()) == 1)
			})
		})
	}
}

// Proxies respond like this after the service has acted, or before it does: a client that takes the response for a
// refusal has two records.
func TestFaultsOfProxiesHideWhetherTheServiceActed(t *testing.T) {
	const page, plain, words = "text/html; charset=UTF-8", "text/plain", "application/json"
	ingress := Status(404, "default backend").Acting().WithHeader("Content-Type", plain)
	busy := Status(503, `{"error":"busy"}`).Acting().WithRetryAfter("5")
	for name, c := range map[string]struct {
		fault       Fault
		status      int
		contentType string
		body        string
		retryAfter  string
		now, later  int // records
	}{
		"Varnish":             {LateAct(503, time.Minute).WithRetryAfter("5"), 503, page, "<h1>503 ", "5", 0, 1},
		"nginx":               {LateAct(504, time.Minute), 504, page, "<h1>504 Gateway Timeout</h1>", "", 0, 1},
		"an ingress":          {ingress, 404, plain, "default backend", "", 1, 1},
		"JSON of a proxy":     {busy, 503, words, `{"error":"busy"}`, "5", 1, 1},
		"acting is not early": {Status(403, "no").Early().Acting(), 403, page, "no", "", 1, 1},
		"a lost response":     {CloseMidUpload(5).Acting(), 0, "", "", "", 1, 1},
		"the service":         {Status(403, `{"message":"No."}`), 403, words, `{"message":"No."}`, "", 0, 0},
		"a proxy alone":       {Status(403, ""), 403, page, "", "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, func(t *testing.T, s *Server) {
				s.FaultOn(aicontent.ImagesStore, 1, c.fault)
				got, err := trySend(s, post("/api/v1/images", storeForm))
				if assert.Equal(t, c.status != 0, err == nil, "%v", err); err == nil {
					assert.Equal(t, c.status, got.status)
					assert.Equal(t, c.contentType, got.header.Get("Content-Type"))
					assert.Equal(t, c.retryAfter, got.header.Get("Retry-After"))
					assert.Contains(t, got.body, c.body)
				}
				assert.Len(t, s.Records(), c.now)
				time.Sleep(time.Minute + time.Second)
				assert.Len(t, s.Records(), c.later)
				assert.Equal(t, c.later == 1, s.Requests()[0].Acted)
			})
		})
	}
}

// windowsReset is WSAECONNRESET: the ECONNRESET of package syscall is another number there.
const windowsReset = syscall.Errno(10054)

func TestResetsAndClosesLookDifferent(t *testing.T) {
	for _, network := range []string{"loopback", "memory"} {
		for _, f := range []Fault{CloseBeforeRead(), CloseMidUpload(5), LoseResponse()} {
			s := NewServer(t, everyNetwork[network]...)
			s.Fault(f.WithReset())
			_, err := trySend(s, post("/api/v1/images", storeForm))
			reset := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, windowsReset)
			assert.True(t, reset, "%s, %s: %v", network, f.Name, err)
			s.Fault(f)
			_, err = trySend(s, post("/api/v1/images", storeForm))
			assert.ErrorIs(t, err, io.EOF, "%s, %s", network, f.Name)
		}
	}
}

func TestRefusedConnectionsReadNoByteAndAreCounted(t *testing.T) {
	t.Run("over loopback no byte is read", func(t *testing.T) {
		s := NewServer(t, BasePath("/tenant"))
		s.RefuseConnections(2)
		s.Fault(RefuseConnection())
		for range 3 {
			_, err := trySend(s, post("/api/v1/images", storeForm))
			assert.Error(t, err)
		}
		assert.Equal(t, 201, send(t, s, post("/api/v1/images", storeForm)).status)
		book := s.Requests()
		require.Len(t, book, 4)
		for i, r := range book[:3] {
			assert.Equal(t, Request{Number: i + 1, Fault: "refuse-connection"}, r)
		}
	})
	t.Run("in memory dialing fails", func(t *testing.T) {
		s := NewServer(t, InMemoryNetwork())
		s.RefuseConnections(1)
		_, err := trySend(s, get("/api/v1/images"))
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, 200, send(t, s, get("/api/v1/images")).status)
		assert.Equal(t, Request{Number: 1, Fault: "refuse-connection"}, s.Requests()[0])
	})
}

func TestTakeOverHandsOverTheConnection(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.Fault(TakeOver(func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nshort")
	}).Acting())
	_, err := trySend(s, post("/api/v1/images", storeForm))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, s.Images(), 1)
}

func TestFaultsStrikeInOrder(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.FaultN(2, Status(500, ""))
	deletes := func(r *Request) bool { return r.Method == "DELETE" && r.Header.Get("Accept") != "" }
	s.FaultWhen(deletes, 1, Status(418, ""))
	s.Fault(Status(503, ""))
	list, remove := get("/api/v1/images"), remove("/api/v1/images/1")
	for i, want := range []int{500, 500, 503, 200, 418, 404} {
		r := []request{list, remove, list, list, remove, remove}[i]
		assert.Equal(t, want, send(t, s, r).status, "request %d", i+1)
	}
	s.FaultN(5, Status(500, ""))
	s.RefuseConnections(5)
	s.Chaos(1, 1, Status(500, ""))
	s.ClearFaults()
	assert.Equal(t, 200, send(t, s, list).status)
}

func TestMistakesEndTheTest(t *testing.T) {
	for says, mistake := range map[string]func(*Server){
		`FaultOn: unknown operation "image.store"`: func(s *Server) {
			s.FaultOn("image.store", 1, LoseResponse())
		},
		`the fault "lose-response": n must be at least 1, not 0`: func(s *Server) { s.FaultN(0, LoseResponse()) },
		`the fault "status-503": n must be at least 1, not -1`: func(s *Server) {
			s.FaultOn(aicontent.ImagesStore, -1, Status(503, ""))
		},
		`the fault "refuse-connection": n must be at least 1, not 0`: func(s *Server) { s.RefuseConnections(0) },
		"Chaos: the rate must be from 0 to 1, not 2.5":               func(s *Server) { s.Chaos(1, 2.5) },
		"Chaos: the rate must be from 0 to 1, not NaN":               func(s *Server) { s.Chaos(1, math.NaN()) },
		`added record: unknown style "cubism"; Allow("style") permits it`: func(s *Server) {
			s.AddImage(aicontent.Image{Name: "n", Style: "cubism"})
		},
		`added record: unknown language "gb"; Allow("language") permits it`: func(s *Server) {
			s.AddTranscription(aicontent.Transcription{Name: "n", Language: "gb"})
		},
	} {
		t.Run(says, func(t *testing.T) {
			test := new(recorder)
			assert.PanicsWithValue(t, fatal, func() { mistake(NewServer(test)) })
			test.end()
			assert.Equal(t, []string{"aicontenttest: " + says}, test.errors)
			assert.PanicsWithValue(t, "aicontenttest: "+says, func() { mistake(started(t)) })
		})
	}
	NewServer(t, Lenient()).AddImage(aicontent.Image{Name: "n", Style: "cubism"})
	NewServer(t, Allow("style")).AddImage(aicontent.Image{Name: "n", Style: "cubism"})
}

// A test whose fault strikes nothing would pass without having tested anything.
func TestFaultThatStrikesNoRequestFailsTheTest(t *testing.T) {
	const says = `aicontenttest: the fault "status-503" has struck no request; UnusedFaults permits that`
	for name, c := range map[string]struct {
		opts   []Option
		failed bool
		after  func(*Server)
		want   []string
	}{
		"by default":               {want: []string{says}},
		"in a test that failed":    {failed: true},
		"with UnusedFaults":        {opts: []Option{UnusedFaults()}},
		"after ClearFaults":        {after: (*Server).ClearFaults},
		"with refused connections": {after: func(s *Server) { s.RefuseConnections(1) }, want: []string{says, "refuse"}},
	} {
		t.Run(name, func(t *testing.T) {
			test := &recorder{failed: c.failed}
			s := NewServer(test, c.opts...)
			s.FaultOn(aicontent.TranscriptionsStore, 1, Status(503, ""))
			s.FaultN(1000, Status(500, "")) // strikes once, which is enough
			assert.Equal(t, 500, send(t, s, get("/api/v1/images")).status)
			if c.after != nil {
				c.after(s)
			}
			test.end()
			require.Len(t, test.errors, len(c.want))
			for i, want := range c.want {
				assert.Contains(t, test.errors[i], want)
			}
		})
	}
}

func TestChaosIsReplayedFromItsSeed(t *testing.T) {
	run := func(seed uint64) (faults []string) {
		s := started(t, Lenient())
		s.Chaos(seed, 0.5)
		for range 60 {
			_, _ = trySend(s, get("/api/v1/images"))
		}
		for _, r := range s.Requests() {
			faults = append(faults, r.Fault)
		}
		return faults
	}
	once := run(7)
	assert.Equal(t, once, run(7))
	assert.NotEqual(t, once, run(8))
	assert.Contains(t, once, "")
}

func TestChaosLogsItsSeedWhenTheTestFails(t *testing.T) {
	for _, failed := range []bool{true, false} {
		test := &recorder{failed: failed}
		NewServer(test).Chaos(4711, 0.25)
		test.end()
		if failed {
			require.Len(t, test.logs, 1)
			assert.Contains(t, test.logs[0], "TestOfSomeUser with Chaos(4711, 0.25")
		} else {
			assert.Empty(t, test.logs)
		}
	}
}

func TestStallAtAPlaceThatDoesNotExistPanics(t *testing.T) {
	for _, place := range []Place{-1, 4, 9} {
		assert.PanicsWithValue(t, fmt.Sprintf("aicontenttest: Stall(%d): the place must be "+
			"BeforeRead, MidUpload, BeforeResponse or MidResponse", int(place)), func() { Stall(place) })
	}
}
