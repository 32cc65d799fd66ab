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

// newNames returns what Illustrate has in production, but for the ledger, which is forgotten with the test.
func newNames(t *testing.T, client *aicontent.Client) *once.Client {
	t.Helper()
	names, err := once.New(client, once.InMemory())
	if err != nil {
		t.Fatal(err)
	}
	return names
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
			// In a bubble the waits for what may still become a picture take no time.
			synctest.Test(t, func(t *testing.T) {
				srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
				srv.FaultOn(aicontent.ImagesStore, 1, fault)
				names := newNames(t, srv.Client())
				url, err := Illustrate(t.Context(), names, "4711", "A whale in the harbor")
				if aicontent.Retryable(err) { // the queue runs the job again
					url, err = Illustrate(t.Context(), names, "4711", "A whale in the harbor")
				}
				if err != nil {
					t.Fatal(err)
				}
				if url != srv.URL+"/pictures/1.png" {
					t.Errorf("the picture is at %q", url)
				}
				if n := len(srv.Records()); n != 1 {
					t.Errorf("%d pictures were made, and paid for", n)
				}
			})
		})
	}
}

func TestIllustrateSaysWhenItIsNotLetIn(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	srv.Fault(aicontenttest.Status(403, `{"message":"No credit left."}`))
	_, err := Illustrate(t.Context(), newNames(t, srv.Client()), "4711", "A whale in the harbor")
	if !errors.Is(err, aicontent.ErrForbidden) {
		t.Errorf("want an error that is ErrForbidden, got %v", err)
	}
	if len(srv.Images()) != 0 {
		t.Errorf("there are pictures: %v", srv.Images())
	}
}

// A headline that was changed must not go out with the picture of the old one.
func TestIllustrateNoticesAnotherHeadline(t *testing.T) {
	srv := aicontenttest.NewServer(t)
	names := newNames(t, srv.Client())
	if _, err := Illustrate(t.Context(), names, "4711", "A whale in the harbor"); err != nil {
		t.Fatal(err)
	}
	_, err := Illustrate(t.Context(), names, "4711", "A whale in the canal")
	var conflict *aicontent.ConflictError
	if !errors.As(err, &conflict) || len(conflict.IDs) != 1 {
		t.Fatalf("want a ConflictError with an ID, got %v", err)
	}
	if n := len(srv.Records()); n != 1 {
		t.Errorf("%d pictures were made, and paid for", n)
	}
}
