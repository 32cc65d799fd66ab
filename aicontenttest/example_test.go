package aicontenttest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A ledger in a database of your own is tested in this way. InMemory is one for a single process.
func ExampleTestLedger() {
	shared := once.InMemory()
	err := aicontenttest.TestLedger(func() (once.Ledger, error) { return shared, nil })
	fmt.Println(err)
	// Output: <nil>
}

// Illustrate is the function under test.
func Illustrate(ctx context.Context, client *aicontent.Client, headline string) (string, error) {
	image, err := client.Images.Store(ctx, aicontent.ImageStoreParams{
		Name: headline, Description: headline, Resolution: aicontent.Resolution512x512,
	})
	if err != nil {
		return "", err
	}
	return image.Name, nil
}

// test is used instead of a *testing.T.
type test struct{ cleanups []func() }

func (*test) Helper()                 {}
func (*test) Name() string            { return "TestIllustrate" }
func (t *test) Cleanup(f func())      { t.cleanups = append(t.cleanups, f) }
func (*test) Logf(f string, a ...any) { fmt.Printf(f+"\n", a...) }

func (t *test) Errorf(f string, a ...any) { t.Logf(f, a...) }
func (t *test) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *test) end() {
	for _, f := range t.cleanups {
		f()
	}
}

func ExampleNewServer() {
	t := new(test)
	defer t.end()

	srv := aicontenttest.NewServer(t)
	srv.Fault(aicontenttest.Status(429, "slow down").WithRetryAfter("0"))

	picture, err := Illustrate(context.Background(), srv.Client(fast), "A whale in the harbor")
	if err != nil {
		t.Fatalf("%v", err)
	}
	fmt.Printf("%s, made once: %v\n", picture, len(srv.Records()) == 1)
	for _, r := range srv.Requests() {
		fmt.Println(r.Operation, r.Status, "acted on:", r.Acted)
	}
	// Output:
	// A whale in the harbor, made once: true
	// images.store 429 acted on: false
	// images.store 201 acted on: true
}

// fast shortens the pauses between attempts.
var fast = aicontent.WithRetryPolicy(aicontent.RetryPolicy{
	MaxAttempts: 3, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond,
})

func ExampleNewServer_strict() {
	t := new(test)
	defer t.end()

	srv := aicontenttest.NewServer(t)
	req, _ := http.NewRequest(http.MethodGet, srv.URL+"/api/v1/images?favorite=yes", nil)
	req.Header.Set("Authorization", "Bearer "+srv.APIKey)
	req.Header.Set("Accept", "application/json")
	resp, _ := http.DefaultClient.Do(req)
	resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output:
	// aicontenttest: not allowed by the API: request 1: GET /api/v1/images?favorite=yes: boolean: favorite="yes"
	// 422
}

func ExampleServer_FaultOn() {
	srv, err := aicontenttest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LoseResponse())

	_, err = Illustrate(context.Background(), srv.Client(), "A whale in the harbor")
	fmt.Println("failed:", err != nil, "outcome unknown:", aicontent.OutcomeOf(err) == aicontent.OutcomeUnknown)
	fmt.Println("created nevertheless:", srv.Images()[0].Name)
	// Output:
	// failed: true outcome unknown: true
	// created nevertheless: A whale in the harbor
}

func ExampleServer_FaultWhen() {
	srv, err := aicontenttest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	for n := range 15 {
		srv.AddImage(aicontent.Image{Name: fmt.Sprint("Image ", n)})
	}
	page2 := func(r *aicontenttest.Request) bool { return r.Query.Get("page") == "2" }
	srv.FaultWhen(page2, 1, aicontenttest.Status(403, `{"message":"This plan has one page."}`))

	images, err := aicontent.Collect(srv.Client().Images.All(context.Background(), aicontent.ImageListParams{}))
	fmt.Println(len(images), "images,", "forbidden:", errors.Is(err, aicontent.ErrForbidden))
	// Output: 10 images, forbidden: true
}

func ExampleSlowUpload() {
	srv, err := aicontenttest.Start(aicontenttest.SlowUpload(1 << 20))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	start := time.Now()
	transcription, err := srv.Client().Transcriptions.Store(context.Background(), aicontent.TranscriptionStoreParams{
		Name: "Meeting", File: aicontent.FileFromBytes("meeting.wav", make([]byte, 200<<10)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(transcription.Name, time.Since(start) > 150*time.Millisecond)
	// Output: Meeting true
}

func ExampleServer_Certificate() {
	srv, err := aicontenttest.Start(aicontenttest.TLS())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.AddImage(aicontent.Image{Name: "Lighthouse"})

	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	client, err := aicontent.NewClient(srv.URL, srv.APIKey, aicontent.WithHTTPClient(&http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	image, err := client.Images.Show(context.Background(), "1")
	fmt.Println(image.Name, err)
	// Output: Lighthouse <nil>
}

func ExampleOnResponse() {
	srv, err := aicontenttest.Start(aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if body, ok := r.JSON().(map[string]any); ok {
			r.SetJSON(map[string]any{"image": body["data"]})
		}
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	id := srv.AddImage(aicontent.Image{Name: "Lighthouse"}).ID

	image, err := srv.Client().Images.Show(context.Background(), aicontent.ID(id))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(image.ID, image.Name)
	// Output: 1 Lighthouse
}

func ExampleServer_AddTranscription() {
	srv, err := aicontenttest.Start(aicontenttest.CursorPaginator)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	for n := range 25 {
		srv.AddTranscription(aicontent.Transcription{Name: fmt.Sprint("Recording ", n), Favorite: n%2 == 0})
	}
	found := 0
	params := aicontent.TranscriptionListParams{Favorite: new(true)}
	for _, err := range srv.Client().Transcriptions.All(context.Background(), params) {
		if err != nil {
			fmt.Println(err)
			return
		}
		found++
	}
	fmt.Println(found, "favorites in", len(srv.Requests()), "pages")
	// Output: 13 favorites in 2 pages
}
