package illustrate

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// illustrate calls Illustrate as in production, but with a ledger that is forgotten with the test.
func illustrate(t *testing.T, srv *aicontenttest.Server) func(headline string) (string, error) {
	t.Helper()
	client := srv.Client()
	names, err := once.New(client, once.InMemory())
	if err != nil {
		t.Fatal(err)
	}
	return func(headline string) (string, error) {
		return Illustrate(t.Context(), client, names, "4711", headline)
	}
}

func TestIllustrateMakesOnePictureWhateverGoesWrong(t *testing.T) {
	for _, fault := range []aicontenttest.Fault{
		aicontenttest.Status(503, "down for maintenance").WithRetryAfter("20"),
		aicontenttest.CloseMidUpload(10),
		aicontenttest.LoseResponse(),
		aicontenttest.LateAct(504, time.Minute),
		aicontenttest.HTMLPage(502),
	} {
		t.Run(fault.Name, func(t *testing.T) {
			// In a bubble, waiting takes no time.
			synctest.Test(t, func(t *testing.T) {
				srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork(), aicontenttest.LateResult)
				srv.FaultOn(aicontent.ImagesStore, 1, fault)
				run := illustrate(t, srv)
				url, err := run("A whale in the harbor")
				if aicontent.Retryable(err) { // the queue runs the job again
					url, err = run("A whale in the harbor")
				}
				if err != nil || url != srv.URL+"/pictures/1.png" {
					t.Errorf("the picture is at %q; error %v", url, err)
				}
				if n := len(srv.Created()); n != 1 {
					t.Errorf("%d pictures were made, and paid for", n)
				}
			})
		})
	}
}

func TestIllustrateSaysWhenItIsNotLetIn(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	srv.Fault(aicontenttest.Status(403, `{"message":"No credit left."}`))
	if _, err := illustrate(t, srv)("A whale in the harbor"); !errors.Is(err, aicontent.ErrForbidden) {
		t.Errorf("want an error that is ErrForbidden, got %v", err)
	}
}

// A headline that was changed must not go out with the picture of the old one.
func TestIllustrateNoticesAnotherHeadline(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	run := illustrate(t, srv)
	if _, err := run("A whale in the harbor"); err != nil {
		t.Fatal(err)
	}
	_, err := run("A whale in the canal")
	var conflict *aicontent.ConflictError
	if !errors.As(err, &conflict) || len(conflict.IDs) != 1 {
		t.Fatalf("want a ConflictError with an ID, got %v", err)
	}
	if n := len(srv.Created()); n != 1 {
		t.Errorf("%d pictures were made, and paid for", n)
	}
}
