package aicontenttest

import (
	"crypto/rand"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/conformance"
)

// TestService checks a deployment against the documented API, with scenarios as subtests of t. newClient returns
// clients of the deployment. It must pass its options to the client.
//
// TestService makes about 200 requests, and waits if these exceed the rate limit. It creates 16 images and 3
// transcriptions of half a second, which may be billed, with names that begin with "aicontenttest". It deletes them at
// the end, even if a scenario fails. It ignores other records.
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
