package aicontenttest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
)

// TestRequestsAddUpUnderChaos compares requests, records and the promises of the faults.
func TestRequestsAddUpUnderChaos(t *testing.T) {
	promised := make(map[string]Fault)
	for _, f := range Faults() {
		promised[f.Name] = f
	}
	overEveryNetwork(t, func(t *testing.T, s *Server) {
		s.Chaos(99, 0.6)
		hc := unredirected(s)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 20 {
					r := post("/api/v1/images", storeForm)
					if i%4 == 0 {
						r = upload(namePart, filePart)
					}
					req, err := r.sign(s)
					if !assert.NoError(t, err) {
						return
					}
					if resp, err := hc.Do(req); err == nil {
						resp.Body.Close()
					}
				}
			})
		}
		wg.Wait()
		s.Close()
		acted := 0
		for _, r := range s.Requests() {
			f := promised[r.Fault]
			if f.kind == network.ActsLate && !r.Acted {
				continue // the server was closed before
			}
			// A connection that another request's fault resets takes this one with it.
			if r.Acted || r.Status != 0 {
				assert.Equal(t, r.Fault == "" || f.Acts || f.kind == network.ActsLate, r.Acted, "%+v", r)
			}
			if r.Acted {
				acted++
			}
		}
		assert.Len(t, s.Records(), acted)
		assert.Len(t, s.Images(), acted-len(s.Transcriptions()))
		assert.NotZero(t, acted)
	})
}
