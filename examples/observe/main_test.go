package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
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

// Whoever gives arguments expects something of them.
func TestArgumentsAreRefusedAndHelpHelps(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	for _, c := range []struct {
		arg    string
		status int
		says   string
	}{
		{"talk.wav", 2, `unexpected argument "talk.wav"`},
		{"-endpoint", 2, "flag provided but not defined: -endpoint"},
		{"-h", 0, "It takes no arguments."},
	} {
		t.Run(c.arg, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.arg)
			cmd.Env = append(os.Environ(), modeVariable+"=program")
			said, _ := cmd.CombinedOutput()
			assert.Equal(t, c.status, cmd.ProcessState.ExitCode())
			assert.Contains(t, string(said), c.says)
			assert.NotContains(t, string(said), "transcriptions.store")
		})
	}
}

// Two runs can be compared line by line.
func TestMetricsAreInAFixedOrder(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter(scope)
	counter, err := meter.Int64Counter("aicontent.attempts")
	require.NoError(t, err)
	for i := range 20 {
		counter.Add(t.Context(), 1, metric.WithAttributes(attribute.String("op", fmt.Sprintf("%02d", (i*7)%20))))
	}
	var out bytes.Buffer
	require.NoError(t, printMetrics(t.Context(), reader, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	assert.Len(t, lines, 20)
	assert.IsNonDecreasing(t, lines)
}

// collector is an OTLP endpoint that keeps what it is sent.
type collector struct {
	mu   sync.Mutex
	sent map[string]*bytes.Buffer // by path
}

func newCollector(t *testing.T) *collector {
	c := &collector{sent: make(map[string]*bytes.Buffer)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sent[r.URL.Path] == nil {
			c.sent[r.URL.Path] = new(bytes.Buffer)
		}
		_, _ = io.Copy(c.sent[r.URL.Path], r.Body)
	}))
	t.Cleanup(srv.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	return c
}

func (c *collector) received(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent[path] == nil {
		return ""
	}
	return c.sent[path].String()
}

// The two attempts of the upload appear below its call, with their results.
func TestAnUploadWithTwoAttempts(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	_, after, found := strings.Cut(out.String(), "\ntranscriptions.store ")
	require.True(t, found, out.String())
	trace, _, _ := strings.Cut(after, "\n\n")
	assert.Regexp(t, `(?s)^ .* outcome=done\n`+
		`  POST .* attempt=1 .*status=503 outcome=rejected sent=\d{5,} pause=1s error\.type=503\n`+
		`  POST .* attempt=2 .*status=201 outcome=done sent=\d{5,}$`, trace)
	assert.Equal(t, 2, strings.Count(trace, "  POST "))
	for _, row := range []string{
		`aicontent\.attempts +op=transcriptions\.store outcome=\w+ status=503 +1 `,
		`aicontent\.attempts +op=transcriptions\.show outcome=\w+ status=404 +1 `,
		`aicontent\.attempt\.duration +op=transcriptions\.store status=201 +1, mean [\d.]+ s`,
		`aicontent\.sent +op=transcriptions\.store +\d{5,} By`,
		`aicontent\.retry_budget +\d+`,
	} {
		assert.Regexp(t, row, out.String())
	}
	// Log lines carry the id of their trace.
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.Contains(line, "op=transcriptions.store") && strings.HasPrefix(line, "time=") {
			_, id, found := strings.Cut(line, "trace_id=")
			require.True(t, found, line)
			assert.Contains(t, out.String(), "\ntrace "+strings.Fields(id)[0]+"\ntranscriptions.store ")
		}
	}
}

func TestSpansAndMetricsAreSentByOTLP(t *testing.T) {
	t.Setenv("AICONTENT_BASE_URL", "")
	c := newCollector(t)
	require.NoError(t, run(t.Context(), io.Discard))
	for path, words := range map[string][]string{
		"/v1/traces":  {"transcriptions.store", "POST", "outcome", "status", "url.path"},
		"/v1/metrics": {"aicontent.attempts", "aicontent.attempt.duration", "aicontent.sent", "aicontent.retry_budget"},
	} {
		for _, word := range words {
			assert.Contains(t, c.received(path), word, path)
		}
	}
}

// The service receives the trace id, so that its spans can join the trace.
func TestTheServiceIsToldTheTrace(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	t.Setenv("AICONTENT_BASE_URL", srv.URL)
	t.Setenv("AICONTENT_API_KEY", srv.APIKey)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	require.NotEmpty(t, srv.Requests())
	for _, r := range srv.Requests() {
		parts := strings.Split(r.Header.Get("Traceparent"), "-")
		require.Len(t, parts, 4)
		assert.Contains(t, out.String(), "trace "+parts[1])
	}
	assert.Empty(t, srv.Transcriptions(), "what was made is deleted")
}

// The metrics do not depend on log lines.
func TestTheMetricsNeedNoLogger(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	var out bytes.Buffer
	telemetry, err := newTelemetry(t.Context(), io.Discard)
	require.NoError(t, err)
	telemetry.out = &out
	client := aicontenttest.NewServer(t).Client(aicontent.WithAttemptHook(telemetry.attempts.hook))
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)
	require.NoError(t, telemetry.close(t.Context()))
	assert.Regexp(t, `aicontent\.attempts +op=images\.list outcome=done status=200 +1 `, out.String())
}

// A logger that was given attributes or a group still tells the trace.
func TestLogLinesOfADerivedLoggerTellTheTrace(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	_, err := newTelemetry(t.Context(), io.Discard)
	require.NoError(t, err)
	var out bytes.Buffer
	logger := slog.New(traced{slog.NewTextHandler(&out, nil)}).With("tenant", "a").WithGroup("sdk")
	_, err = call(t.Context(), "op", func(ctx context.Context) (struct{}, error) {
		logger.InfoContext(ctx, "line")
		return struct{}{}, nil
	})
	require.NoError(t, err)
	assert.Regexp(t, `tenant=a sdk\.trace_id=[0-9a-f]{32}\n`, out.String())
}

// Neither the key nor anything from a body or a query appears in spans, metrics or log lines, whatever goes wrong.
func TestNoSecretIsExported(t *testing.T) {
	const (
		key    = "canary-key-3141592653"
		secret = "canary-content"
	)
	faults := map[string]aicontenttest.Fault{
		"none":          {},
		"refused":       aicontenttest.Status(422, `{"message":"`+secret+`","errors":{"name":["`+secret+" "+key+`"]}}`),
		"failed":        aicontenttest.Status(500, secret+" "+key),
		"a page":        aicontenttest.Status(200, "<html>"+secret+" "+key),
		"another shape": aicontenttest.Status(200, `"`+secret+`"`),
		"redirected":    aicontenttest.RedirectTo(302, "/api/v1/images?search="+secret),
		"sent away":     aicontenttest.RedirectTo(307, "https://example.com/?"+secret+"="+key),
		"cut off":       aicontenttest.CloseMidResponse(),
		"no HTTP":       aicontenttest.TakeOver(func(c net.Conn) { fmt.Fprintf(c, "%s %s\r\n\r\n", secret, key) }),
		"a bad header": aicontenttest.TakeOver(func(c net.Conn) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%s %s\r\n\r\n", secret, key)
		}),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			srv, err := aicontenttest.Start(aicontenttest.WithAPIKey(key), aicontenttest.Lenient())
			require.NoError(t, err)
			defer srv.Close()
			if fault.Name != "" {
				srv.FaultN(100, fault)
			}
			var out bytes.Buffer
			telemetry, err := newTelemetry(t.Context(), &out)
			require.NoError(t, err)
			policy := aicontent.RetryPolicy{MaxAttempts: 2, MaxBackoff: 1}
			client := srv.Client(append(telemetry.options(), aicontent.WithRetryPolicy(policy))...)
			calls(t.Context(), client, secret)
			require.NoError(t, telemetry.close(t.Context()))

			told := map[string]string{
				"the terminal": out.String(),
				"the spans":    c.received("/v1/traces"), "the metrics": c.received("/v1/metrics"),
			}
			for where, text := range told {
				require.Contains(t, text, "images.list", where)
				for _, line := range strings.Split(text, "\n") {
					assert.NotContains(t, line, key, where)
					assert.NotContains(t, line, secret, where)
				}
			}
		})
	}
}

// calls makes calls with the secret wherever a caller can put it.
func calls(ctx context.Context, client *aicontent.Client, secret string) {
	_, _ = call(ctx, "images.list", func(ctx context.Context) (*aicontent.Page[aicontent.Image], error) {
		return client.Images.List(ctx, aicontent.ImageListParams{Search: secret},
			aicontent.WithQuery("tenant", secret), aicontent.WithHeader("X-Tenant", secret))
	})
	_, _ = call(ctx, "images.store", func(ctx context.Context) (*aicontent.Image, error) {
		return client.Images.Store(ctx, aicontent.ImageStoreParams{
			Name: secret, Description: secret, Resolution: "256x256",
		})
	})
	_, _ = call(ctx, "images.update", func(ctx context.Context) (*aicontent.Image, error) {
		return client.Images.Update(ctx, "1", aicontent.ImageUpdateParams{Name: &secret})
	})
	_, _ = call(ctx, "transcriptions.store", func(ctx context.Context) (*aicontent.Transcription, error) {
		return client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: secret, Description: secret,
			File: aicontent.FileFromBytes(secret+".wav", append(silence(), secret...)),
		}, aicontent.WithOnce())
	})
	_, _ = call(ctx, "transcriptions.delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, client.Transcriptions.Delete(ctx, "1")
	})
}
