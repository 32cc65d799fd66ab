package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

var redirects = []int{301, 302, 303, 307, 308}

// isGet reports whether the operation of allTen is a GET.
func isGet(name string) bool {
	return strings.HasSuffix(name, ".list") || strings.HasSuffix(name, ".all") || strings.HasSuffix(name, ".show")
}

// A service that was taken over, or a proxy with a wrong idea of its host, must not be able to send the key elsewhere.
// Nor is a redirect within the origin followed: a create request could be executed twice, a delete could hit something
// else.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var strayed atomic.Int64
	stray := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strayed.Add(1)
		fakes.RespondToAll(w, r)
	})
	otherPort := httptest.NewServer(stray)
	defer otherPort.Close()
	otherScheme := httptest.NewTLSServer(stray)
	defer otherScheme.Close()

	var target atomic.Pointer[func(r *http.Request) (int, string)]
	var home string
	baseURL, requests := fakes.Counted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != home {
			strayed.Add(1)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		status, location := (*target.Load())(r)
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	})
	home = strings.TrimSuffix(strings.TrimPrefix(baseURL, "http://"), "/tenant")
	port := home[strings.LastIndexByte(home, ':'):]
	c := newClient(t, baseURL, fakes.Key, quick)

	for name, location := range map[string]string{
		"port":                    otherPort.URL + "/tenant/api/v1/images/7",
		"scheme and port":         otherScheme.URL + "/tenant/api/v1/images/7",
		"scheme":                  "https://" + home + "/tenant/api/v1/images/7",
		"host, by name":           "http://localhost" + port + "/tenant/api/v1/images/7",
		"host, without scheme":    "//localhost" + port + "/",
		"host behind a user name": "http://" + home + "@localhost" + port + "/",
		"upper case host":         "HTTP://LOCALHOST" + port + "/",
		"default port":            "http://127.0.0.1/",
		"no http at all":          "file:///etc/passwd",
		"path alone":              "/moved/tenant/api/v1/images/7?kept=1",
	} {
		where, err := url.Parse("http://" + home)
		require.NoError(t, err)
		where, err = where.Parse(location)
		require.NoError(t, err)
		for _, status := range redirects {
			target.Store(new(func(*http.Request) (int, string) { return status, location }))
			for op, call := range allTen(c) {
				before := requests.Load()
				err := call(t.Context())
				var refused *aicontent.APIError
				if !assert.ErrorAs(t, err, &refused, "%s %d %s", name, status, op) {
					continue
				}
				assert.Equal(t, status, refused.StatusCode)
				assert.Contains(t, err.Error(), "is the base URL "+baseURL+" right?", "%s %d %s", name, status, op)
				to := strings.ToLower(where.Host + where.Path)
				assert.Contains(t, strings.ToLower(err.Error()), to, "it must name where to")
				assert.NotContains(t, err.Error(), "kept")
				assert.EqualValues(t, 1, requests.Load()-before, "not followed, and not retried")
				want := aicontent.OutcomeNotExecuted
				if !isGet(op) && status <= 303 {
					want = aicontent.OutcomeUnknown
				}
				assert.Equal(t, want, aicontent.OutcomeOf(err), "%s %d %s", name, status, op)
				fakes.AssertNoKey(t, err, fakes.Key)
			}
		}
	}
	assert.Zero(t, strayed.Load(), "another origin was asked, with the key or without")
}

// An HTML page instead of JSON points to a broken response. Where it is a login page, the key is wrong.
func TestOnlyARedirectToALoginPageIsUnauthorized(t *testing.T) {
	t.Parallel()
	for login, known := range map[string]bool{ // by the name alone: nothing is followed to find out
		"/login": true, "/tenant/Login/": true,
		"/login?next=/api/v1/images": true, "https://sso.example.com/login": true,
		"/welcome": false, "/login/help": false,
	} {
		baseURL, requests := fakes.Counted(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Location", login)
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, "<title>Redirecting</title>")
		})
		c := newClient(t, baseURL, fakes.Key, quick)
		for op, call := range allTen(c) {
			before := requests.Load()
			err := call(t.Context())
			assert.EqualValues(t, 1, requests.Load()-before, "%s %s", login, op)
			assert.Equal(t, known, errors.Is(err, aicontent.ErrUnauthorized), "%s %s", login, op)
			assert.Equal(t, known, strings.Contains(err.Error(), "the API key is not accepted"), "%s %s", login, op)
		}
	}
	// A page without a redirect is a proxy's or a portal's.
	page := fakes.Respond(200, "<!DOCTYPE html><title>Log in</title><form></form>", "Content-Type", "text/html")
	c := newClient(t, nowhere, fakes.Key, through(page))
	for op, call := range allTen(c) {
		var unread *aicontent.DecodeError
		err := call(t.Context())
		assert.ErrorAs(t, err, &unread, op)
		assert.NotErrorIs(t, err, aicontent.ErrUnauthorized, op)
	}
}

// rotation is a service that accepts one key, and a source that returns one after the other.
type rotation struct {
	mu     sync.Mutex
	keys   []string // what the source returns; the last one for ever
	asked  int
	got    []string // what the service got
	bodies []string
}

func (r *rotation) source(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.keys[min(r.asked, len(r.keys)-1)]
	r.asked++
	if key == "" {
		return "", errVault
	}
	return key, nil
}

var errVault = errors.New("the vault is sealed")

func (r *rotation) client(t *testing.T, good string, opts ...aicontent.Option) *aicontent.Client {
	baseURL, _ := fakes.Counted(t, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		assert.NoError(t, err)
		key := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		r.mu.Lock()
		r.got = append(r.got, key)
		r.bodies = append(r.bodies, req.Header.Get("Content-Type")+string(body))
		r.mu.Unlock()
		if key != good {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"message":"Unauthenticated: %s"}`, key)
			return
		}
		req.Body = http.NoBody
		fakes.RespondToAll(w, req)
	})
	opts = append([]aicontent.Option{aicontent.WithAPIKeySource(r.source), quick}, opts...)
	return newClient(t, baseURL, "", opts...)
}

const oldKey, newKey = "sk-old-0123456789", "sk-new-0123456789"

// A key that is replaced while a program runs must fail no call, not even a Store call: after a 401 nothing was
// created. A renewed key is no retry, and is renewed once. An error of the source ends the call.
func TestKeyThatIsReplacedFailsNoCall(t *testing.T) {
	t.Parallel()
	const third = "sk-third-0123456789"
	refused := []error{aicontent.ErrUnauthorized}
	twice := aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 2})
	for name, tt := range map[string]struct {
		keys  []string // empty for an error of the source
		opt   aicontent.Option
		got   []string
		asked int
		errs  []error
	}{
		"another key":                {[]string{oldKey, newKey}, quick, []string{oldKey, newKey}, 2, nil},
		"another key, one attempt":   {[]string{oldKey, newKey}, oneAttempt, []string{oldKey, newKey}, 2, nil},
		"the same key":               {[]string{oldKey}, quick, []string{oldKey}, 2, refused},
		"another bad key":            {[]string{oldKey, third, newKey}, quick, []string{oldKey, third}, 2, refused},
		"a bad key and two attempts": {[]string{oldKey, third}, twice, []string{oldKey, third}, 2, refused},
		"no key":                     {[]string{""}, quick, nil, 1, []error{errVault}},
		"no other key":               {[]string{oldKey, ""}, quick, []string{oldKey}, 2, append(refused, errVault)},
	} {
		for op := range allTen(&aicontent.Client{}) {
			r := &rotation{keys: tt.keys}
			var resp *aicontent.Response
			err := allTen(r.client(t, newKey, tt.opt))[op](t.Context(), aicontent.WithResponse(&resp))
			assert.Equal(t, tt.got, r.got, "%s %s", name, op)
			assert.Equal(t, tt.asked, r.asked, "%s %s", name, op)
			if tt.errs == nil {
				require.NoError(t, err, "%s %s", name, op)
				assert.Equal(t, r.bodies[0], r.bodies[1], "the same is sent again")
				continue
			}
			for _, want := range tt.errs {
				assert.ErrorIs(t, err, want, "%s %s", name, op)
			}
			if errors.Is(err, errVault) {
				assert.ErrorContains(t, err, "API key source: the vault is sealed", op)
			}
			assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err), "%s %s", name, op)
			for _, key := range tt.got {
				fakes.AssertNoKey(t, err, key)
				fakes.AssertNoKey(t, resp, key)
			}
		}
	}
}

// The source gets the context of the call.
func TestKeySourceHearsTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	baseURL, requests := fakes.Counted(t, fakes.RespondToAll)
	c, err := aicontent.NewClient(baseURL, "", aicontent.WithAPIKeySource(func(ctx context.Context) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}))
	require.NoError(t, err)
	_, err = c.Images.Show(ctx, "7")
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, aicontent.OutcomeNotExecuted, aicontent.OutcomeOf(err))
	assert.Zero(t, requests.Load())
}

// What cannot be read a second time is not sent a second time, with whichever key.
func TestReaderThatCannotBeRewoundIsNotSentWithANewKey(t *testing.T) {
	t.Parallel()
	r := &rotation{keys: []string{oldKey, newKey}}
	c := r.client(t, newKey)
	body := io.MultiReader(strings.NewReader("RIFF\x04\x00\x00\x00WAVE" + strings.Repeat("\x00", 4096)))
	params := aicontent.TranscriptionStoreParams{Name: "n", File: aicontent.FileFromReader("a.wav", body)}
	_, err := c.Transcriptions.Store(t.Context(), params)
	assert.ErrorIs(t, err, aicontent.ErrUnauthorized)
	assert.Equal(t, []string{oldKey}, r.got)
}
