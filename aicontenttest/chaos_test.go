package aicontenttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/network"
)

// TestRequestsAddUpUnderChaos compares requests, records and what the faults promise.
func TestRequestsAddUpUnderChaos(t *testing.T) {
	for name, opts := range everyNetwork {
		t.Run(name, func(t *testing.T) {
			s := NewServer(t, opts...)
			promised := make(map[string]Fault)
			for _, f := range Faults() {
				promised[f.Name] = f
			}
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
}

// TestTheSDKCreatesNothingTwiceUnderChaos creates records while every fault strikes, in virtual time, and counts them.
func TestTheSDKCreatesNothingTwiceUnderChaos(t *testing.T) {
	for _, opts := range bubbleNetworks {
		synctest.Test(t, func(t *testing.T) {
			s := NewServer(t, append(opts, Latency(time.Second))...)
			s.Chaos(4711, 0.4, append(Faults(), Stall(BeforeRead), Stall(MidUpload), Stall(BeforeResponse), Stall(MidResponse))...)
			c := s.Client()
			type end struct {
				name string
				err  error
			}
			ends := make(chan end)
			const callers, stores = 4, 60
			for caller := range callers {
				go func() {
					for i := range stores {
						name := fmt.Sprintf("job %d/%d", caller, i)
						var err error
						if i%2 == 0 {
							_, err = c.Images.Store(t.Context(), aicontent.ImageStoreParams{
								Name: name, Description: "d", Resolution: aicontent.Resolution256x256,
							})
						} else {
							_, err = c.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
								Name: name, File: aicontent.FileFromBytes("talk.wav", make([]byte, 1000)),
							})
						}
						ends <- end{name, err}
					}
				}()
			}
			errs := make(map[string]error)
			for range callers * stores {
				e := <-ends
				errs[e.name] = e.err
			}
			s.ClearFaults()
			<-time.After(time.Minute) // for what is late
			made := make(map[string]int)
			for _, r := range s.Records() {
				made[r.Name]++
			}
			for name, err := range errs {
				n := made[name]
				require.LessOrEqual(t, n, 1, "%s was made twice", name)
				switch aicontent.OutcomeOf(err) {
				case aicontent.OutcomeExecuted:
					require.Equal(t, 1, n, "%s: %v", name, err)
				case aicontent.OutcomeNotExecuted:
					require.Zero(t, n, "%s: %v", name, err)
				}
				require.False(t, err != nil && errors.Is(err, aicontent.ErrInvalid), "%v", err)
			}
		})
	}
}
