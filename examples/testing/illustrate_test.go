package illustrate

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func TestIllustrateMakesOnePictureWhateverGoesWrong(t *testing.T) {
	for _, fault := range []aicontenttest.Fault{
		aicontenttest.Status(503, "down for maintenance").WithRetryAfter("20"),
		aicontenttest.CloseMidUpload(10),
		aicontenttest.LoseResponse(),
		aicontenttest.LateAct(504, time.Minute),
		aicontenttest.HTMLPage(502),
	} {
		t.Run(fault.Name, func(t *testing.T) {
			// In a bubble the waits for a server that is down take no time.
			synctest.Test(t, func(t *testing.T) {
				srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
				srv.FaultOn(aicontenttest.ImagesStore, 1, fault)
				url, err := Illustrate(t.Context(), srv.Client(), "4711", "A whale in the harbour")
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
	_, err := Illustrate(t.Context(), srv.Client(), "4711", "A whale in the harbour")
	if !errors.Is(err, aicontent.ErrForbidden) {
		t.Errorf("want an error that is ErrForbidden, got %v", err)
	}
	if len(srv.Images()) != 0 {
		t.Errorf("there are pictures: %v", srv.Images())
	}
}

// A headline that was changed must not go out with the picture of the old one. It is noticed where the deployment sends
// descriptions back.
func TestIllustrateNoticesAnotherHeadline(t *testing.T) {
	srv := aicontenttest.NewServer(t, aicontenttest.FullRecords)
	client := srv.Client()
	if _, err := Illustrate(t.Context(), client, "4711", "A whale in the harbour"); err != nil {
		t.Fatal(err)
	}
	before, err := client.Images.Show(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Illustrate(t.Context(), client, "4711", "A whale in the canal")
	var conflict *aicontent.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("want a ConflictError, got %v", err)
	}
	after, err := client.Images.Show(t.Context(), conflict.IDs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !after.Equal(*before) {
		t.Errorf("the picture of the old headline is now %#v", after)
	}
}
