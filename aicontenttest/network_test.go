package aicontenttest

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

// running returns the stacks of goroutines that serve, call or act late.
func running() []string {
	buf := make([]byte, 1<<20)
	var stacks []string
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "net/http.(*") || strings.Contains(stack, "aicontenttest.(*Server)") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// gone reports whether they end. A goroutine may still be about to end when Close returns.
func gone() bool {
	for range 100_000 {
		if len(running()) == 0 {
			return true
		}
		runtime.Gosched()
	}
	return false
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	require.True(t, gone(), "left by the tests before: %v", running())
	for network, opts := range everyNetwork {
		t.Run(network, func(t *testing.T) {
			s := started(t, opts...)
			connected(t, s)
			_, err := s.Client().Images.List(t.Context(), aicontent.ImageListParams{})
			require.NoError(t, err)
			s.Fault(LateAct(504, time.Hour))
			send(t, s, post("/api/v1/images", storeForm))

			s.Fault(Stall(BeforeResponse))
			s.Fault(Stall(BeforeRead))
			failed := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := trySend(s, post("/api/v1/images", storeForm))
					failed <- err
				}()
			}
			for len(s.Requests()) < 5 {
				runtime.Gosched()
			}
			s.Close()
			assert.Error(t, <-failed)
			assert.Error(t, <-failed)
			assert.True(t, gone(), "left: %v", running())
		})
	}
}
