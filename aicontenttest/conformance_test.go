package aicontenttest

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/conformance"
	"github.com/aicontent/aicontent-go/internal/fakes"
)

// TestEveryPersonalityThatConformsPassesTheSuite runs the suite against every personality that conforms.
func TestEveryPersonalityThatConformsPassesTheSuite(t *testing.T) {
	for _, p := range Personalities() {
		if len(must[p]) > 0 {
			continue // TestDeploymentsThatDoNotConformFailTheirScenarios
		}
		t.Run(string(p), func(t *testing.T) {
			conforms(t, p)
		})
	}
	for name, opts := range map[string][]Option{
		"lenient":                {Lenient()},
		"words":                  {BooleanWords()},
		"HTTP/2":                 {HTTP2()},
		"http links under TLS":   {TLS(), ForeignNextLinks},
		"plain and simple":       {PlainPaginator, SimplePaginator},
		"plain by cursor":        {PlainPaginator, CursorPaginator, FilterlessNextLinks},
		"foreign and filterless": {ForeignNextLinks, FilterlessNextLinks},
		"as seen on a deployment": {
			Lenient(), FieldsAsMessage, LengthLimits, NoChunkedUploads,
		},
		"as little as can be": {UnwrappedRecords, MissingMembers, DeleteResponds204, SimplePaginator},
	} {
		t.Run(name, func(t *testing.T) { conforms(t, opts...) })
	}
	t.Run("in virtual time", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *Server) {
			for _, scenario := range conformance.New("in a bubble", s.Client).Scenarios() {
				scenario.Run(t) // a bubble has no subtests
			}
		})
	})
}

// conforms runs the suite beside other records, which it must leave alone.
func conforms(t *testing.T, opts ...Option) {
	s := NewServer(t, append(opts, BasePath("/tenant"))...)
	for range 12 {
		s.AddImage(aicontent.Image{Name: "other", Style: "anime", Favorite: true})
		s.AddTranscription(aicontent.Transcription{Name: "other"})
	}
	t.Cleanup(func() {
		if len(s.Images()) != 12 || len(s.Transcriptions()) != 12 {
			t.Errorf("the suite has left records behind, or deleted others")
		}
	})
	TestService(t, s.Client)
}

// TestDeploymentOfTheEnvironmentPassesTheSuite runs the suite against the deployment named by the environment, or else
// against a server of the kit.
func TestDeploymentOfTheEnvironmentPassesTheSuite(t *testing.T) {
	if os.Getenv("AICONTENT_BASE_URL") == "" {
		s := started(t)
		t.Setenv("AICONTENT_BASE_URL", s.URL)
		t.Setenv("AICONTENT_API_KEY", s.APIKey)
	}
	TestService(t, func(opts ...aicontent.Option) *aicontent.Client {
		c, err := aicontent.NewClientFromEnv(opts...)
		require.NoError(t, err)
		return c
	})
}

// suite is a test that records the failures of its subtests.
type suite struct {
	*recorder
	failures map[string][]string
}

func newSuite() *suite { return &suite{recorder: new(recorder), failures: make(map[string][]string)} }

func (s *suite) Run(name string, f func(*suite)) bool {
	sub := &suite{recorder: new(recorder), failures: s.failures}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil && p != fatal {
				panic(p)
			}
		}()
		f(sub)
	}()
	<-done
	if len(sub.errors) > 0 {
		s.failures[name] = sub.errors
	}
	return len(sub.errors) == 0
}

// TestTheSuiteFindsServicesThatDiffer breaks the service and looks for the scenario that fails.
func TestTheSuiteFindsServicesThatDiffer(t *testing.T) {
	hook := func(operation aicontent.Operation, change func(*Response)) Option {
		return OnResponse(func(r *Response) {
			if r.Request.Operation == operation && r.Status < 300 {
				change(r)
			}
		})
	}
	replace := func(old, new string) func(*Response) {
		return func(r *Response) { r.Body = []byte(strings.ReplaceAll(string(r.Body), old, new)) }
	}
	gone := OnResponse(func(r *Response) { r.Status = max(r.Status, 410) })
	misdirected := OnResponse(func(r *Response) { r.Status = min(r.Status, 421) })
	for scenario, opt := range map[string]Option{
		"images/store":         hook("images.store", replace("vaporwave", "retro")),
		"images/show":          hook("images.show", replace("watercolor", "ink")),
		"images/list by style": hook("images.list", replace(`"id":`, `"none":`)),
		"images/pages": OnResponse(func(r *Response) {
			if r.Request.Query.Get("page") == "2" {
				r.Status = 404
			}
		}),
		"images/update by PUT":        hook("images.update", replace("changed", "ignored")),
		"images/update by PATCH":      hook("images.update", func(r *Response) { r.Status = 500 }),
		"images/delete":               hook("images.delete", func(r *Response) { r.Status = 500 }),
		"transcriptions/store":        hook("transcriptions.store", replace(`e":false`, `e":true`)),
		"transcriptions/list by name": hook("transcriptions.list", replace(`"id":`, `"none":`)),
		"images/errors":               gone,
		"transcriptions/errors":       misdirected,
	} {
		t.Run(scenario, func(t *testing.T) {
			s := started(t, opt)
			test := newSuite()
			TestService(test, func(opts ...aicontent.Option) *aicontent.Client {
				return s.Client(append(opts, oneAttempt)...)
			})
			test.end()
			assert.Contains(t, test.failures, scenario)
			assert.Empty(t, s.Violations())
		})
	}
}

func TestTheSuiteFindsPagesOfAnotherSize(t *testing.T) {
	s := started(t)
	larger := aicontent.WithMiddleware(func(next http.RoundTripper) http.RoundTripper {
		return fakes.RoundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "per_page=10&", "per_page=25&", 1)
			return next.RoundTrip(r)
		})
	})
	test := newSuite()
	TestService(test, func(opts ...aicontent.Option) *aicontent.Client { return s.Client(append(opts, larger)...) })
	test.end()
	assert.Equal(t, map[string][]string{"images/pages": {"the first page of 10 has 16 records, not 10"}}, test.failures)
}

func TestTheSuiteDeletesItsRecordsEvenIfItFails(t *testing.T) {
	s := started(t)
	late := func(r *Request) bool { return r.Operation == aicontent.ImagesStore && r.Number > 5 }
	s.FaultWhen(late, 1000, Status(500, ""))
	s.FaultOn(aicontent.TranscriptionsStore, 1000, Status(500, ""))
	test := newSuite()
	TestService(test, s.Client)
	assert.Contains(t, test.failures["images/store"][0], "500")
	assert.NotContains(t, test.failures, "images/show", "which has five records")
	const notRun = "not run: transcriptions/store has created no record"
	assert.Equal(t, []string{notRun}, test.failures["transcriptions/show"])
	assert.Len(t, s.Images(), 4, "one is deleted")
	test.end()
	assert.Empty(t, s.Images())
	assert.Empty(t, test.errors)

	s = started(t)
	test = newSuite()
	TestService(test, s.Client)
	assert.Empty(t, test.failures)
	s.FaultN(1000, Status(400, ""))
	test.end()
	assert.Len(t, test.errors, 19, "each record that cannot be deleted is named")
}
