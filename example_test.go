package aicontent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

// service is a deployment in memory, so that the examples run anywhere.
func service() *aicontenttest.Server {
	srv, err := aicontenttest.Start(aicontenttest.BasePath("/tenant"))
	if err != nil {
		log.Fatal(err)
	}
	return srv
}

func Example() {
	srv := service()
	defer srv.Close()
	baseURL, apiKey := srv.URL, srv.APIKey

	client, err := aicontent.NewClient(baseURL, apiKey)
	if err != nil {
		log.Fatal(err)
	}
	image, err := client.Images.Store(context.Background(), aicontent.ImageStoreParams{
		Name:        "Lighthouse",
		Description: "A lighthouse on a cliff at dusk, seen from the sea",
		Resolution:  aicontent.Resolution1024x1024,
		Style:       aicontent.StyleIllustration,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.ID, image.Name, image.Style.Label())
	// Output: 1 Lighthouse Illustration
}

func ExampleNewClient() {
	_, err := aicontent.NewClient("https://content.example.com/api/v1/", "")
	var invalid *aicontent.ValidationError
	if errors.As(err, &invalid) {
		for _, p := range invalid.Problems {
			fmt.Printf("%s: %s\n", p.Field, p.Reason)
		}
	}
	// Output:
	// base_url: must be like https://content.example.com, with a path before /api/v1 or none
	// api_key: must be at least 8 ASCII characters without spaces and line breaks, such as sk-live-0123456789
}

func ExampleImagesService() {
	srv := service()
	defer srv.Close()
	ctx, client := context.Background(), srv.Client()

	image, err := client.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        "Harbor",
		Description: "Fishing boats in a harbor in the fog",
		Resolution:  aicontent.Resolution512x512,
		Medium:      aicontent.MediumWatercolor,
		Filter:      aicontent.FilterSepia,
	})
	if err != nil {
		log.Fatal(err)
	}
	image, err = client.Images.Update(ctx, image.ID, aicontent.ImageUpdateParams{Favorite: new(true)})
	if err != nil {
		log.Fatal(err)
	}
	favorites, err := client.Images.List(ctx, aicontent.ImageListParams{Favorite: new(true)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.Name, len(favorites.Items))
	err = client.Images.Delete(ctx, image.ID)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Images.Show(ctx, image.ID)
	fmt.Println(errors.Is(err, aicontent.ErrNotFound))
	// Output:
	// Harbor 1
	// true
}

func ExampleImagesService_All() {
	srv := service()
	defer srv.Close()
	for n := range 120 {
		srv.AddImage(aicontent.Image{
			Name: fmt.Sprintf("Study no. %d", n+1), Resolution: "256x256", Style: "sketch",
		})
	}
	ctx, client, names := context.Background(), srv.Client(), []string(nil)

	params := aicontent.ImageListParams{Style: aicontent.StyleSketch, PerPage: aicontent.PerPage100}
	for image, err := range client.Images.All(ctx, params) {
		if err != nil {
			log.Fatal(err)
		}
		names = append(names, image.Name)
	}
	fmt.Println(len(names), names[0], len(srv.Requests()))
	// Output: 120 Study no. 120 2
}

func ExamplePage_Next() {
	srv := service()
	defer srv.Close()
	for n := range 30 {
		srv.AddTranscription(aicontent.Transcription{Name: fmt.Sprintf("Interview %d", n+1)})
	}
	ctx, client := context.Background(), srv.Client()

	page, err := client.Transcriptions.List(ctx, aicontent.TranscriptionListParams{PerPage: aicontent.PerPage25})
	for ; page != nil && err == nil; page, err = page.Next(ctx) {
		fmt.Printf("page %d of %d: %d transcriptions\n", page.Current, page.Last, len(page.Items))
	}
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// page 1 of 2: 25 transcriptions
	// page 2 of 2: 5 transcriptions
}

func ExampleTranscriptionsService_Store() {
	srv := service()
	defer srv.Close()
	ctx, client := context.Background(), srv.Client()
	shown := ""
	show := func(sent, total int64) { shown = fmt.Sprintf("%d of %d bytes sent", sent, total) }

	transcription, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name:     "Lighthouse keeper",
		File:     aicontent.FileFromPath("examples/quickstart/speech.wav"),
		Language: "GB", // the API asks for a country: ISO 3166-1 alpha-2
	}, aicontent.WithProgress(func(p aicontent.Progress) { show(p.Sent, p.Total) }))
	if err != nil {
		log.Fatal(err)
	}
	transcription, err = client.Transcriptions.Update(ctx, transcription.ID, aicontent.TranscriptionUpdateParams{
		Result: new("The lighthouse keeper counts the ships at dusk."),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(shown)
	fmt.Println(transcription.Result)
	// Output:
	// 164124 of 164124 bytes sent
	// The lighthouse keeper counts the ships at dusk.
}

func ExampleFileFromReader() {
	srv := service()
	defer srv.Close()
	client := srv.Client()

	// A web service can pass an upload on while it arrives, without keeping it.
	passOn := func(w http.ResponseWriter, r *http.Request) {
		transcription, err := client.Transcriptions.Store(r.Context(), aicontent.TranscriptionStoreParams{
			Name: "Voice message",
			File: aicontent.FileFromReader("message.flac", r.Body),
		})
		if err != nil {
			http.Error(w, "the transcription failed", http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, transcription.Name, transcription.ID)
	}

	recorder := httptest.NewRecorder()
	request, err := http.NewRequest(http.MethodPost, "/", strings.NewReader("fLaC and so on"))
	if err != nil {
		log.Fatal(err)
	}
	passOn(recorder, request)
	fmt.Print(recorder.Body)
	// Output: Voice message 1
}

func ExampleOutcomeOf() {
	srv := service()
	defer srv.Close()
	srv.Fault(aicontenttest.ActThenStatus(http.StatusGatewayTimeout))
	ctx, client := context.Background(), srv.Client()
	params := aicontent.ImageStoreParams{
		Name: "Lighthouse", Description: "A lighthouse", Resolution: aicontent.Resolution512x512,
	}

	_, err := client.Images.Store(ctx, params)
	switch aicontent.OutcomeOf(err) {
	case aicontent.OutcomeExecuted:
		fmt.Println("created")
	case aicontent.OutcomeNotExecuted:
		fmt.Println("this call created nothing: safe to store again")
	case aicontent.OutcomeUnknown:
		fmt.Println("perhaps created: look for it before storing it again")
	}
	fmt.Println(len(srv.Images()), len(srv.Requests()))
	// Output:
	// perhaps created: look for it before storing it again
	// 1 1
}

func ExampleImagesService_FindByName() {
	srv := service()
	defer srv.Close()
	srv.Fault(aicontenttest.ActThenStatus(http.StatusGatewayTimeout))
	ctx, client := context.Background(), srv.Client()
	params := aicontent.ImageStoreParams{
		Name: "job-4711", Description: "A lighthouse", Resolution: aicontent.Resolution512x512,
	}

	_, err := client.Images.Store(ctx, params)
	if aicontent.OutcomeOf(err) != aicontent.OutcomeUnknown {
		log.Fatal(err)
	}
	image, err := client.Images.FindByName(ctx, params.Name)
	switch {
	case err == nil:
		fmt.Println("created:", image.ID)
	case errors.Is(err, aicontent.ErrNotFound):
		fmt.Println("not there, or not there yet: look again later")
	case errors.Is(err, aicontent.ErrConflict):
		fmt.Println("several records have the name")
	}
	// Output: created: 1
}

func ExampleTranscriptionsService_Wait() {
	srv := service()
	defer srv.Close()
	client := srv.Client()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // silence may never get a result
	defer cancel()

	transcription, err := client.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
		Name: "Lighthouse keeper", File: aicontent.FileFromPath("examples/quickstart/speech.wav"),
	})
	if err != nil {
		log.Fatal(err)
	}
	transcription, err = client.Transcriptions.Wait(ctx, transcription.ID)
	switch {
	case err == nil:
		fmt.Println("transcribed:", transcription.ID)
	case transcription != nil:
		fmt.Println("stored, but without a text so far:", transcription.ID)
	default:
		fmt.Println(err)
	}
	// Output: transcribed: 1
}

func ExampleWithAttemptHook() {
	srv := service()
	defer srv.Close()
	srv.Fault(aicontenttest.Status(http.StatusTooManyRequests, ""))
	count := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		return func(r aicontent.AttemptResult) {
			fmt.Println(a.Operation, a.Number, r.StatusCode, r.Outcome, r.WillRetry)
		}, nil
	}
	client := srv.Client(
		aicontent.WithAttemptHook(count),
		aicontent.WithRetryPolicy(aicontent.RetryPolicy{MinBackoff: -1}),
	)

	_, err := client.Images.List(context.Background(), aicontent.ImageListParams{})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// images.list 1 429 not executed true
	// images.list 2 200 executed false
}

func ExampleAPIError() {
	srv := service()
	defer srv.Close()
	srv.Fault(aicontenttest.Status(http.StatusUnprocessableEntity,
		`{"message": "The name is taken.", "errors": {"name": ["The name is taken."]}}`))
	ctx, client := context.Background(), srv.Client()
	params := aicontent.ImageStoreParams{
		Name: "Lighthouse", Description: "A lighthouse", Resolution: aicontent.Resolution512x512,
	}

	_, err := client.Images.Store(ctx, params)
	var refused *aicontent.APIError
	switch {
	case err == nil:
	case errors.As(err, &refused) && errors.Is(err, aicontent.ErrInvalid):
		fmt.Println("the service wants another name:", refused.Fields["name"])
	case errors.Is(err, aicontent.ErrUnauthorized):
		fmt.Println("the API key is wrong")
	default:
		fmt.Println(err)
	}
	// Output: the service wants another name: [The name is taken.]
}

func ExampleValidationError() {
	srv := service()
	defer srv.Close()
	client := srv.Client()

	params := aicontent.ImageStoreParams{Resolution: "640x480", Style: "baroque"}
	_, err := client.Images.Store(context.Background(), params)
	var invalid *aicontent.ValidationError
	if errors.As(err, &invalid) {
		for _, problem := range invalid.Problems {
			fmt.Println(problem.Field)
		}
	}
	fmt.Println(aicontent.OutcomeOf(err), len(srv.Requests()))
	// Output:
	// name
	// description
	// resolution
	// style
	// not executed 0
}

func ExampleWithRetryPolicy() {
	srv := service()
	defer srv.Close()
	srv.Fault(aicontenttest.Status(http.StatusServiceUnavailable, `{"message": "Back soon."}`))
	baseURL, apiKey := srv.URL, srv.APIKey

	policy := aicontent.DefaultRetryPolicy()
	policy.MaxAttempts = 6
	policy.MinBackoff = time.Millisecond
	client, err := aicontent.NewClient(baseURL, apiKey,
		aicontent.WithRetryPolicy(policy),
		aicontent.WithResponseTimeout(10*time.Second),
		aicontent.WithUserAgent("gallery/2.1"),
	)
	if err != nil {
		log.Fatal(err)
	}
	var response *aicontent.Response
	_, err = client.Images.List(context.Background(), aicontent.ImageListParams{}, aicontent.WithResponse(&response))
	fmt.Println(err, response.Attempts)
	// Output: <nil> 2
}

func ExampleWithoutValidation() {
	srv, err := aicontenttest.Start(aicontenttest.NewerValues)
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	ctx, client := context.Background(), srv.Client()

	image, err := client.Images.Store(ctx, aicontent.ImageStoreParams{
		Name:        "Lighthouse",
		Description: "A lighthouse on a cliff at dusk",
		Resolution:  "1536x1024",
	}, aicontent.WithoutValidation(), aicontent.WithFormField("quality", "high"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.Name, image.Resolution, srv.Requests()[0].Form.Get("quality"))
	// Output: Lighthouse 1536x1024 high
}

func ExampleImage_Raw() {
	srv, err := aicontenttest.Start(aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		r.SetJSON(map[string]any{"data": map[string]any{"id": 7, "name": "Lighthouse", "license": "CC0"}})
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	srv.AddImage(aicontent.Image{ID: "7"})
	client := srv.Client()

	image, err := client.Images.Show(context.Background(), "7")
	if err != nil {
		log.Fatal(err)
	}
	var more struct{ License string }
	if err := json.Unmarshal(image.Raw(), &more); err != nil {
		log.Fatal(err)
	}
	fmt.Println(image.Name, more.License)
	// Output: Lighthouse CC0
}

func ExampleWithMiddleware() {
	srv := service()
	defer srv.Close()
	var log []string
	trace := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				log = append(log, fmt.Sprint(r.Method, " ", r.URL.Path, " ", resp.StatusCode))
			}
			return resp, err
		})
	}
	client := srv.Client(aicontent.WithMiddleware(trace))

	_, err := client.Images.Show(context.Background(), "7")
	fmt.Println(errors.Is(err, aicontent.ErrNotFound), log)
	// Output: true [GET /tenant/api/v1/images/7 404]
}

// roundTripper makes a function a RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func ExampleImagesService_Download() {
	pictures := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "the bytes of a picture")
	}))
	defer pictures.Close()
	srv := service()
	defer srv.Close()
	ctx, client := context.Background(), srv.Client()
	image := &aicontent.Image{ID: "7", URL: pictures.URL + "/lighthouse.png"} // as Store or Show returned it

	var file bytes.Buffer // mostly an *os.File
	n, err := client.Images.Download(ctx, image, &file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, &file)
	// Output: 22 the bytes of a picture
}

func ExampleFile_size() {
	srv := service()
	defer srv.Close()
	client := srv.Client()
	const size = 16
	stream := io.LimitReader(strings.NewReader("fLaC and so on, for ever and ever"), size) // cannot tell its size

	file := aicontent.FileFromReader("message.flac", stream)
	file.Size = size // else the upload is chunked, which some services refuse
	params := aicontent.TranscriptionStoreParams{Name: "Message", File: file}
	transcription, err := client.Transcriptions.Store(context.Background(), params)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transcription.Name)
	// Output: Message
}

// A queue needs no more than Retryable and RetryAt to decide when a failed job runs again.
func ExampleRetryAt() {
	srv := service()
	defer srv.Close()
	srv.Fault(aicontenttest.Status(http.StatusTooManyRequests, `{}`).WithRetryAfter("600"))

	_, err := srv.Client().Images.Show(context.Background(), "7")
	switch at := aicontent.RetryAt(err); {
	case !aicontent.Retryable(err):
		fmt.Println("failed:", aicontent.Reason(err))
	case at.IsZero():
		fmt.Println("again after a backoff of our own")
	default:
		fmt.Println("again in", time.Until(at).Round(time.Minute))
	}
	// Output: again in 10m0s
}
