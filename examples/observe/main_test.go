package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
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

// environment leaves only these variables of those that the program reads, as main does.
func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, name := range []string{
		"AICONTENT_BASE_URL", "AICONTENT_API_KEY", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
		"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER",
	} {
		t.Setenv(name, variables[name])
	}
	terminalAlone()
}

// program runs the program, with these variables alone.
func program(t *testing.T, variables map[string]string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	environment(t, variables)
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), modeVariable+"=program")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Whoever gives arguments expects something of them.
func TestArgumentsAreRejectedAndHelpHelps(t *testing.T) {
	for _, c := range []struct {
		arg    string
		status int
		says   string
	}{
		{"talk.wav", 2, `unexpected argument "talk.wav"`},
		{"-endpoint", 2, "flag provided but not defined: -endpoint"},
		{"-h", 0, "Usage: observe [-demo]"},
	} {
		t.Run(c.arg, func(t *testing.T) {
			status, out, said := program(t, nil, c.arg)
			assert.Equal(t, c.status, status)
			assert.Contains(t, said, c.says)
			assert.Empty(t, out)
		})
	}
}

// A key without a base URL is a deployment that was not reached: a fake service in its place would look like success.
func TestTheFakeServiceIsUsedOnlyWhenAskedFor(t *testing.T) {
	const missing = "AICONTENT_BASE_URL and AICONTENT_API_KEY must be set"
	for name, c := range map[string]struct {
		variables map[string]string
		says      string
	}{
		"no base URL": {map[string]string{"AICONTENT_API_KEY": "canary"}, missing},
		"no key":      {map[string]string{"AICONTENT_BASE_URL": "https://content.example.com"}, missing},
		"neither":     {nil, missing},
		"a bad base URL": {
			map[string]string{"AICONTENT_API_KEY": "canary", "AICONTENT_BASE_URL": "ftp://canary.example.com"}, "base_url",
		},
		"a base URL that is none": {
			map[string]string{"AICONTENT_API_KEY": "canary", "AICONTENT_BASE_URL": "https://canary@exa mple"}, "not a URL",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := program(t, c.variables)
			assert.Equal(t, 2, status)
			assert.Contains(t, said, c.says)
			assert.NotContains(t, said, "canary")
			assert.Empty(t, out)
		})
	}
}

// Nothing else has to run: a program that looked for a collector on this machine would complain that there is none.
func TestTheDemoNeedsNothing(t *testing.T) {
	status, out, said := program(t, map[string]string{"AICONTENT_API_KEY": "canary"}, "-demo")
	assert.Equal(t, 0, status)
	assert.Contains(t, out, "transcriptions.store")
	assert.Empty(t, said)
}

// collector is an OTLP endpoint that keeps what it is sent.
type collector struct {
	URL  string
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
	c.URL = srv.URL
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

// The two attempts of the upload appear below its call, with their results, and log lines name the trace.
func TestAnUploadWithTwoAttempts(t *testing.T) {
	environment(t, nil)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), true, nil, &out))
	_, after, found := strings.Cut(out.String(), "\ntranscriptions.store ")
	require.True(t, found, out.String())
	trace, _, _ := strings.Cut(after, "\n\n")
	var posts []string
	for line := range strings.SplitSeq(trace, "\n") {
		if strings.HasPrefix(line, "  POST ") {
			posts = append(posts, line)
		}
	}
	require.Len(t, posts, 2)
	assert.Regexp(t, `^ .* aicontent\.outcome=executed\n`, trace)
	assert.Regexp(t, `,aicontent\.outcome=not executed,aicontent\.pause=1s,error\.type=429,http\.request\.size=\d{5,},`+
		`http\.response\.status_code=429,url\.full=http://127\.0\.0\.1:\d+/api/v1/transcriptions$`, posts[0])
	assert.Regexp(t, `,aicontent\.outcome=executed,http\.request\.resend_count=1,http\.request\.size=\d{5,},`+
		`http\.response\.status_code=201,url\.full=http://`, posts[1])
	lines := 0
	for line := range strings.SplitSeq(out.String(), "\n") {
		if strings.Contains(line, "op=transcriptions.store") && strings.HasPrefix(line, "time=") {
			_, id, found := strings.Cut(line, "trace_id=")
			require.True(t, found, line)
			assert.Contains(t, out.String(), "\ntrace "+strings.Fields(id)[0]+"\ntranscriptions.store ")
			lines++
		}
	}
	assert.Equal(t, 2, lines)
}

// The collector gets all three signals, by the names that its dashboards know.
func TestSpansMetricsAndLogLinesAreSent(t *testing.T) {
	c := newCollector(t)
	for _, name := range []string{"aicontent-observe", "newsroom"} {
		variables := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL}
		if name == "newsroom" {
			variables["OTEL_SERVICE_NAME"] = name
		}
		environment(t, variables)
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), true, nil, &out))
		for path, words := range map[string][]string{
			"/v1/traces": {
				"transcriptions.store", "POST", "aicontent.outcome", "http.request.method", "http.response.status_code",
				"http.request.resend_count", "http.request.size", "server.address", "server.port", "url.full", "error.type",
			},
			"/v1/metrics": {
				"http.client.request.duration", "http.request.method", "http.response.status_code", "error.type",
				"aicontent.operation", "aicontent.sent", "aicontent.retry_budget",
			},
			"/v1/logs": {"aicontent attempt", "transcriptions.store", "outcome"},
		} {
			for _, word := range append(words, "service.name", name) {
				assert.Contains(t, c.received(path), word, path)
			}
		}
		_, id, found := strings.Cut(out.String(), "trace_id=")
		require.True(t, found)
		trace, err := hex.DecodeString(strings.Fields(id)[0])
		require.NoError(t, err)
		assert.Contains(t, c.received("/v1/logs"), string(trace), "a log line belongs to its trace")
	}
}

// A variable that is ignored sends the telemetry to the wrong place, or to none.
func TestTheStandardVariablesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		variables func(collector string) map[string]string
		paths     []string
	}{
		"an endpoint of one signal": {func(collector string) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector + "/spans"}
		}, []string{"/spans"}},
		"no exporter of one signal": {func(collector string) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_LOGS_EXPORTER": "none"}
		}, []string{"/v1/metrics", "/v1/traces"}},
		"another protocol": {func(collector string) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "OTEL_EXPORTER_OTLP_PROTOCOL": "pigeon"}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			collector := newCollector(t)
			environment(t, c.variables(collector.URL))
			err := run(t.Context(), true, nil, io.Discard)
			if c.paths == nil {
				require.ErrorIs(t, err, errUsage)
				require.ErrorContains(t, err, "invalid OTLP protocol")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.paths, slices.Sorted(maps.Keys(collector.sent)))
		})
	}
	t.Run("the console", func(t *testing.T) {
		_, out, _ := program(t, map[string]string{"OTEL_METRICS_EXPORTER": "console"}, "-demo")
		assert.Contains(t, out, `"Name":"http.client.request.duration"`)
	})
}

// Telemetry that is down must not take the work down with it, nor hold it up.
func TestADeadCollectorFailsNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // whose connections wait in the kernel, unanswered
	require.NoError(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, addr := range map[string]string{"refuses": closed.Addr().String(), "does not respond": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			status, out, said := program(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + addr}, "-demo")
			assert.Equal(t, 0, status)
			assert.Contains(t, out, "transcriptions.show")
			assert.Contains(t, said, "observe: telemetry: ")
		})
	}
}

// The service receives the trace id, so that its spans can join the trace, and nothing that it bills.
func TestADeploymentIsToldTheTraceAndCreatesNothing(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	environment(t, map[string]string{"AICONTENT_BASE_URL": srv.URL, "AICONTENT_API_KEY": srv.APIKey})
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), false, nil, &out))
	require.NotEmpty(t, srv.Requests())
	for _, r := range srv.Requests() {
		parts := strings.Split(r.Header.Get("Traceparent"), "-")
		require.Len(t, parts, 4)
		assert.Contains(t, out.String(), "trace "+parts[1])
	}
	assert.Empty(t, srv.Records(), "a deployment bills what is created")
}

// An interrupt ends the calls, and what was observed of them is sent all the same.
func TestWhatWasObservedIsSentAfterAnInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	srv := aicontenttest.NewServer(t)
	srv.FaultWhen(func(*aicontenttest.Request) bool {
		interrupt()
		return true
	}, 1, aicontenttest.Stall(aicontenttest.BeforeResponse))
	c := newCollector(t)
	environment(t, map[string]string{
		"AICONTENT_BASE_URL": srv.URL, "AICONTENT_API_KEY": srv.APIKey, "OTEL_EXPORTER_OTLP_ENDPOINT": c.URL,
	})
	require.ErrorIs(t, run(ctx, false, nil, io.Discard), context.Canceled)
	assert.Contains(t, c.received("/v1/traces"), "transcriptions.list")
	assert.Contains(t, c.received("/v1/metrics"), "http.client.request.duration")
}

// The metrics depend on neither spans nor log lines.
func TestTheMetricsNeedTheHookAlone(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	reader := sdkmetric.NewManualReader()
	m, err := newAttempts(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter(scope), srv.URL)
	require.NoError(t, err)
	client := srv.Client(aicontent.WithAttemptHook(m.hook))
	srv.FaultOn(aicontenttest.ImagesList, 1, aicontenttest.LoseResponse())
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{}, single)
	require.Error(t, err)
	_, err = client.Images.List(t.Context(), aicontent.ImageListParams{})
	require.NoError(t, err)

	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	var durations []string
	for _, metric := range all.ScopeMetrics[0].Metrics {
		if data, ok := metric.Data.(metricdata.Histogram[float64]); ok {
			for _, p := range data.DataPoints {
				durations = append(durations, fmt.Sprint(p.Count, " ", p.Attributes.Encoded(attribute.DefaultEncoder())))
			}
		}
	}
	slices.Sort(durations)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(srv.URL, "http://"))
	const what = "1 aicontent.operation=images.list,aicontent.outcome="
	server := "server.address=127.0.0.1,server.port=" + port
	assert.Equal(t, []string{
		what + "done,http.request.method=GET,http.response.status_code=200," + server,
		what + "unknown,error.type=*aicontent.CallError,http.request.method=GET," + server,
	}, durations)
}

// single is a policy without retries.
var single = aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1})

// A base URL without a port has that of its scheme.
func TestTheServerHasAPort(t *testing.T) {
	for base, want := range map[string]int{
		"https://example.com/tenant": 443, "http://localhost": 80, "https://example.com:8443": 8443,
	} {
		m, err := newAttempts(noop.NewMeterProvider().Meter(scope), base)
		require.NoError(t, err)
		assert.Contains(t, m.server, semconv.ServerPort(want), base)
	}
}

// A logger that was given attributes or a group still tells the trace.
func TestLogLinesOfADerivedLoggerTellTheTrace(t *testing.T) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider())
	var out bytes.Buffer
	logger := slog.New(traced{slog.NewTextHandler(&out, nil)}).With("tenant", "a").WithGroup("sdk")
	require.NoError(t, call(t.Context(), "op", func(ctx context.Context) error {
		logger.InfoContext(ctx, "line")
		return nil
	}))
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
			environment(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
			var out bytes.Buffer
			client, end, err := observed(t.Context(), srv.URL, key, &out)
			require.NoError(t, err)
			calls(t.Context(), client, secret)
			end(t.Context())

			told := map[string]string{
				"the terminal": out.String(), "the log lines": c.received("/v1/logs"),
				"the spans": c.received("/v1/traces"), "the metrics": c.received("/v1/metrics"),
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
	twice := aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 2, MaxBackoff: 1})
	file := aicontent.FileFromBytes(secret+".wav", append(make([]byte, 16_000), secret...))
	for op, f := range map[string]func(context.Context) error{
		"images.list": func(ctx context.Context) error {
			_, err := client.Images.List(ctx, aicontent.ImageListParams{Search: secret}, twice,
				aicontent.WithQuery("tenant", secret), aicontent.WithHeader("X-Tenant", secret))
			return err
		},
		"images.store": func(ctx context.Context) error {
			_, err := client.Images.Store(ctx, aicontent.ImageStoreParams{
				Name: secret, Description: secret, Resolution: "256x256",
			}, twice)
			return err
		},
		"images.update": func(ctx context.Context) error {
			_, err := client.Images.Update(ctx, "1", aicontent.ImageUpdateParams{Name: &secret}, twice)
			return err
		},
		"transcriptions.store": func(ctx context.Context) error {
			_, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
				Name: secret, Description: secret, File: file,
			}, twice)
			return err
		},
		"transcriptions.delete": func(ctx context.Context) error {
			return client.Transcriptions.Delete(ctx, "1", twice)
		},
	} {
		_ = call(ctx, op, f)
	}
}
