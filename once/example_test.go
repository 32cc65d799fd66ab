package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

func exampleClient() (*aicontent.Client, func()) {
	srv, err := aicontenttest.Start()
	if err != nil {
		panic(err)
	}
	return srv.Client(), srv.Close
}

// The second call finds what the first one created: nothing is billed twice.
func Example() {
	client, done := exampleClient()
	defer done()
	names, err := once.New(client, once.InMemory()) // once.Dir(path) for several processes or restarts
	if err != nil {
		panic(err)
	}
	params := aicontent.ImageStoreParams{
		Name: "order-4711", Description: "a lighthouse in a storm", Resolution: aicontent.Resolution512x512,
	}
	for range 2 {
		image, found, err := names.Images.Store(context.Background(), params)
		if err != nil {
			panic(err)
		}
		fmt.Println(image.ID, found)
	}
	// Output:
	// 1 false
	// 1 true
}

// In a web handler, the form carries a token that makes the name unique: a button pressed twice, in two tabs, or again
// after a restart leads to one picture. The call goes on when the visitor leaves, as what it began is billed anyway.
func Example_webHandler() {
	client, done := exampleClient()
	defer done()
	names, err := once.New(client, once.InMemory())
	if err != nil {
		panic(err)
	}
	draw := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 15*time.Minute)
		defer cancel()
		image, _, err := names.Images.Store(ctx, aicontent.ImageStoreParams{
			Name:        "form-" + r.FormValue("token"),
			Description: r.FormValue("description"),
			Resolution:  aicontent.Resolution512x512,
		})
		switch {
		case err == nil:
			fmt.Fprintln(w, "image", image.ID)
		case errors.As(err, new(*aicontent.ValidationError)):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		case aicontent.Retryable(err):
			w.Header().Set("Retry-After", "60")
			http.Error(w, "Your picture is not there yet. Send the form again in a minute: it is drawn once.",
				http.StatusServiceUnavailable)
		default:
			http.Error(w, "Your picture could not be drawn.", http.StatusBadGateway)
		}
	}
	for range 2 {
		w := httptest.NewRecorder()
		draw(w, httptest.NewRequest("POST", "/?token=8f3a&description=a+lighthouse", nil))
		fmt.Print(w.Body)
	}
	// Output:
	// image 1
	// image 1
}

// In a job queue, the job's ID is the name. The queue asks one question about an error: may the job run again? It need
// not know whether an earlier run was killed, nor wait by itself.
func Example_jobQueue() {
	client, done := exampleClient()
	defer done()
	folder, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	names, err := once.New(client, once.Dir(folder)) // for all workers of this machine
	if err != nil {
		panic(err)
	}
	type job struct{ id, path string }
	work := func(ctx context.Context, j job) (text string, again bool, err error) {
		transcription, _, err := names.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: j.id, File: aicontent.FileFromPath(j.path),
		})
		if err != nil {
			return "", aicontent.Retryable(err), err
		}
		return transcription.Result, false, nil
	}

	path := filepath.Join(folder, "interview.mp3")
	if err := os.WriteFile(path, []byte("ID3 a recording"), 0o600); err != nil {
		panic(err)
	}
	_, again, err := work(context.Background(), job{"job-4711", path})
	fmt.Println(again, err)
	_, again, err = work(context.Background(), job{"job-4711", path}) // delivered twice
	fmt.Println(again, err)
	_, again, err = work(context.Background(), job{"job-4712", "lost.mp3"})
	fmt.Println(again, errors.Is(err, aicontent.ErrFile))
	// Output:
	// false <nil>
	// false <nil>
	// false true
}

// A command that is run again picks up where it was: the name is made of what it was asked for, and Ctrl-C is no loss.
func Example_commandLine() {
	client, done := exampleClient()
	defer done()
	folder, err := os.MkdirTemp("", "ledger") // in a program: under os.UserConfigDir, never in a retryable folder
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	command := func(ctx context.Context, name, description string) (exit int) {
		names, err := once.New(client, once.Dir(folder))
		if err != nil {
			fmt.Println(err)
			return 2
		}
		image, found, err := names.Images.Store(ctx, aicontent.ImageStoreParams{
			Name: name, Description: description, Resolution: aicontent.Resolution512x512,
		})
		switch {
		case err == nil:
			fmt.Println(image.Name, "found:", found)
			return 0
		case aicontent.OutcomeOf(err) == aicontent.OutcomeUnknown && aicontent.Retryable(err):
			fmt.Println("Run the same command again: it finds the image, or draws it if nothing came of the request.")
		default:
			fmt.Println(err)
		}
		return 1
	}
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(command(interrupted, "poster-7", "a lighthouse"))
	fmt.Println(command(context.Background(), "poster-7", "a lighthouse"))
	// Output:
	// Run the same command again: it finds the image, or draws it if nothing came of the request.
	// 1
	// poster-7 found: false
	// 0
}
