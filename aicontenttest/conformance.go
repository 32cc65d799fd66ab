package aicontenttest

import (
	"crypto/rand"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/conformance"
)

// TestService checks a service against the documented API: it runs scenarios as subtests of t against the deployment
// that the clients of newClient call. newClient is called once without options, and again with options that it must
// pass on.
//
// It creates 16 images and 3 transcriptions of half a second, which may be billed, with about 180 requests; the clients
// wait where these exceed the rate limit. The records' names begin with "aicontenttest" and a random part. They are
// deleted at the end, even if a scenario fails. Other records do not matter.
func TestService[T interface {
	TB
	Run(name string, f func(T)) bool
}](t T, newClient func(...aicontent.Option) *aicontent.Client) {
	t.Helper()
	suite := conformance.New("aicontenttest "+rand.Text()[:10], newClient)
	t.Cleanup(func() { suite.RemoveAll(t) })
	for _, s := range suite.Scenarios() {
		t.Run(s.Name, func(t T) { s.Run(t) })
	}
}
