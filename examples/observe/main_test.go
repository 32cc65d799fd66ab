package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
)

// modeVariable turns the test binary into the program.
const modeVariable = "OBSERVE_TEST_MODE"

func TestMain(m *testing.M) {
	if os.Getenv(modeVariable) == "program" {
		main()
		return
	}
	os.Exit(m.Run())
}

type variables = map[string]string

// environment leaves only these variables of those that the program reads.
func environment(t *testing.T, set variables) {
	t.Helper()
	for _, name := range []string{
		"AICONTENT_BASE_URL", "AICONTENT_API_KEY", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
	} {
		t.Setenv(name, set[name])
	}
}

// program runs the program with these variables alone.
func program(t *testing.T, set variables, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	status, stderr = programTo(t, &out, set, args...)
	return status, out.String(), stderr
}

func programTo(t *testing.T, stdout io.Writer, set variables, args ...string) (status int, stderr string) {
	t.Helper()
	environment(t, set)
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), modeVariable+"=program")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), errs.String()
}

// A span is one line of the program's output.
type span struct {
	Name                string
	SpanContext, Parent struct{ TraceID, SpanID string }
	Attributes          []pair
	Events              []struct{ Attributes []pair }
}

type pair struct {
	Key   string
	Value struct{ Value any }
}

func value(list []pair, key string) string {
	for _, p := range list {
		if p.Key == key {
			return fmt.Sprint(p.Value.Value)
		}
	}
	return ""
}

// spans reads the program's output, and returns the spans by name.
func spans(t *testing.T, output string) map[string][]span {
	t.Helper()
	byName := make(map[string][]span)
	for line := range strings.Lines(output) {
		var s span
		require.NoError(t, json.Unmarshal([]byte(line), &s), line)
		byName[s.Name] = append(byName[s.Name], s)
	}
	return byName
}

func TestWrongUseExits2AndPrintsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		set  variables
		args []string
		says string
	}{
		"an argument":     {nil, []string{"talk.wav"}, `unexpected argument "talk.wav"`},
		"an unknown flag": {nil, []string{"-endpoint"}, "flag provided but not defined: -endpoint"},
		"no base URL":     {variables{"AICONTENT_API_KEY": "canary-key"}, nil, "AICONTENT_BASE_URL: must be like"},
		"a bad base URL": {
			variables{"AICONTENT_API_KEY": "canary-key", "AICONTENT_BASE_URL": "ftp://canary.example.com"}, nil,
			"AICONTENT_BASE_URL: must",
		},
		"another protocol": {
			variables{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "pigeon"},
			[]string{"-demo"}, "invalid OTLP protocol",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := program(t, c.set, c.args...)
			assert.Equal(t, 2, status)
			assert.Contains(t, said, c.says)
			assert.NotContains(t, said, "canary")
			assert.Empty(t, out)
		})
	}
}

func TestTheDemoNeedsNothingAndShowsBothAttemptsOfAnUpload(t *testing.T) {
	status, out, said := program(t, variables{"AICONTENT_API_KEY": "canary-key"}, "-demo")
	require.Zero(t, status, said)
	assert.Empty(t, said, "no collector is looked for")
	found := spans(t, out)
	require.Len(t, found["transcriptions.store"], 1)
	call := found["transcriptions.store"][0]
	assert.Equal(t, "executed", value(call.Attributes, "aicontent.outcome"))
	posts := found["HTTP POST"]
	require.Len(t, posts, 2)
	require.Len(t, call.Events, 2)
	for i, want := range []struct{ status, outcome, pause string }{
		{"429", "not executed", "1s"}, {"201", "executed", "0s"},
	} {
		assert.Equal(t, call.SpanContext.SpanID, posts[i].Parent.SpanID)
		assert.Equal(t, want.status, value(posts[i].Attributes, "http.response.status_code"))
		assert.Equal(t, want.status, value(call.Events[i].Attributes, "http.response.status_code"))
		assert.Equal(t, want.outcome, value(call.Events[i].Attributes, "aicontent.outcome"))
		assert.Equal(t, want.pause, value(call.Events[i].Attributes, "aicontent.pause"))
	}
}

func TestADeploymentIsToldTheTraceAndCreatesNothing(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	status, out, said := program(t, variables{"AICONTENT_BASE_URL": srv.URL, "AICONTENT_API_KEY": srv.APIKey})
	require.Zero(t, status, said)
	gets := spans(t, out)["HTTP GET"]
	require.Len(t, gets, 1)
	for _, r := range srv.Requests() {
		want := gets[0].SpanContext.TraceID + "-" + gets[0].SpanContext.SpanID
		assert.Contains(t, r.Header.Get("Traceparent"), want)
	}
	assert.Empty(t, srv.Records())
}

// A collector is an OTLP endpoint that keeps what it receives.
type collector struct {
	URL  string
	mu   sync.Mutex
	sent map[string]string // by path
}

func newCollector(t *testing.T) *collector {
	c := &collector{sent: make(map[string]string)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent[r.URL.Path] += string(body)
	}))
	t.Cleanup(srv.Close)
	c.URL = srv.URL
	return c
}

// received returns everything that was sent so far, by path.
func (c *collector) received() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.sent)
}

func TestSpansAndMetricsReachTheCollectorThatTheVariablesName(t *testing.T) {
	to := newCollector(t)
	status, _, said := program(t, variables{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL}, "-demo")
	require.Zero(t, status, said)
	received := to.received()
	for path, words := range map[string][]string{
		"/v1/traces": {
			"transcriptions.store", "HTTP POST", "aicontent.outcome", "http.response.status_code", "url.full",
		},
		"/v1/metrics": {
			"http.client.request.duration", "aicontent.attempts", "aicontent.operation", "aicontent.retry_budget",
		},
	} {
		for _, word := range append(words, "service.name", "aicontent-observe") {
			assert.Contains(t, received[path], word, path)
		}
	}
}

func TestADeadCollectorFailsNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // Its connections wait in the kernel, unanswered.
	require.NoError(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, addr := range map[string]net.Addr{"refuses": closed.Addr(), "does not respond": silent.Addr()} {
		t.Run(name, func(t *testing.T) {
			set := variables{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + addr.String()}
			status, out, said := program(t, set, "-demo")
			assert.Zero(t, status)
			assert.Contains(t, out, "transcriptions.store")
			assert.Contains(t, said, "observe: telemetry: ")
		})
	}
}

// started starts the program with a deployment, and returns when the service has received its request.
func started(t *testing.T, stdout io.Writer, fault aicontenttest.Fault) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	reached := make(chan struct{})
	srv := aicontenttest.NewServer(t)
	srv.FaultWhen(func(*aicontenttest.Request) bool {
		close(reached)
		return true
	}, 1, fault)
	environment(t, variables{"AICONTENT_BASE_URL": srv.URL, "AICONTENT_API_KEY": srv.APIKey})
	cmd, stderr = exec.CommandContext(t.Context(), os.Args[0]), new(bytes.Buffer)
	cmd.Env = append(os.Environ(), modeVariable+"=program")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	require.NoError(t, cmd.Start())
	<-reached
	return cmd, stderr
}

func TestASignalEndsTheCallAndItsSpansArePrinted(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			var out bytes.Buffer
			cmd, stderr := started(t, &out, aicontenttest.Stall(aicontenttest.BeforeResponse))
			require.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait()
			assert.Equal(t, 1, cmd.ProcessState.ExitCode())
			assert.Contains(t, stderr.String(), "observe: transcriptions.list: "+signal.String()+" signal received")
			assert.Len(t, spans(t, out.String())["transcriptions.list"], 1)
		})
	}
}

func TestNoKeyBodyOrQueryIsExported(t *testing.T) {
	const key, secret = "canary-key-3141592653", "canary-content"
	for name, fault := range map[string]aicontenttest.Fault{
		"none":       {},
		"refused":    aicontenttest.Status(422, `{"message":"`+secret+`","errors":{"name":["`+secret+" "+key+`"]}}`),
		"redirected": aicontenttest.RedirectTo(302, "/api/v1/images?search="+secret),
	} {
		t.Run(name, func(t *testing.T) {
			srv, err := aicontenttest.Start(aicontenttest.APIKey(key), aicontenttest.Lenient())
			require.NoError(t, err)
			defer srv.Close()
			if fault.Name != "" {
				srv.FaultN(100, fault)
			}
			to := newCollector(t)
			environment(t, variables{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL})
			var out, errs bytes.Buffer
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(&errs, err) }))
			opts, end, err := telemetry(t.Context(), &out)
			require.NoError(t, err)
			client, err := aicontent.NewClient(srv.URL, key, opts...)
			require.NoError(t, err)
			callsWith(t.Context(), client, secret)
			end(t.Context())
			assert.Empty(t, errs.String())
			for where, text := range map[string]string{
				"the terminal": out.String(),
				"the spans":    to.received()["/v1/traces"],
				"the metrics":  to.received()["/v1/metrics"],
			} {
				require.Contains(t, text, "images.list", where)
				for line := range strings.Lines(text) {
					assert.NotContains(t, line, key, where)
					assert.NotContains(t, line, secret, where)
				}
			}
		})
	}
}

// callsWith makes calls with the secret wherever a caller can put it.
func callsWith(ctx context.Context, client *aicontent.Client, secret string) {
	twice := aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 2, MaxBackoff: 1})
	file := aicontent.FileFromBytes(secret+".wav", append(make([]byte, 16_000), secret...))
	for op, f := range map[string]func(context.Context) error{
		"images.list": func(ctx context.Context) error {
			_, err := client.Images.List(ctx, aicontent.ImageListParams{Search: secret}, twice,
				aicontent.WithQuery("tenant", secret), aicontent.WithHeader("X-Tenant", secret))
			return err
		},
		"transcriptions.store": func(ctx context.Context) error {
			params := aicontent.TranscriptionStoreParams{Name: secret, Description: secret, File: file}
			_, err := client.Transcriptions.Store(ctx, params, twice)
			return err
		},
	} {
		_ = call(ctx, op, f)
	}
}
