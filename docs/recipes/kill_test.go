package recipes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// programVariable makes the test binary one of the programs.
const programVariable = "RECIPES_PROGRAM"

var programs = map[string]func(ctx context.Context, client *aicontent.Client, folder string) error{
	"remembers": remembers, "forgets": forgets,
}

func TestMain(m *testing.M) {
	program := programs[os.Getenv(programVariable)]
	if program == nil {
		os.Exit(m.Run())
	}
	client, err := aicontent.NewClientFromEnv()
	if err == nil {
		err = program(context.Background(), client, os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func article(number int) aicontent.ImageStoreParams {
	return aicontent.ImageStoreParams{
		Name: fmt.Sprintf("article %d", number), Description: "a whale", Resolution: aicontent.Resolution512x512,
	}
}

// remembers notes in a folder what it is about to send.
func remembers(ctx context.Context, client *aicontent.Client, folder string) error {
	names, err := once.New(client, once.Dir(folder))
	for number := 0; err == nil && number < 3; number++ {
		_, _, err = names.Images.Store(ctx, article(number))
	}
	return err
}

// forgets looks whether the image is there, and takes for granted that otherwise it never will be.
func forgets(ctx context.Context, client *aicontent.Client, _ string) error {
	for number := range 3 {
		if _, err := client.Images.FindByName(ctx, article(number).Name); err == nil {
			continue
		}
		if _, err := client.Images.Store(ctx, article(number)); err != nil {
			return err
		}
	}
	return nil
}

// command returns the command that runs a program with a folder and a service.
func command(program, folder string, srv *aicontenttest.Server, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], folder)
	cmd.Env = append(os.Environ(), programVariable+"="+program,
		"AICONTENT_BASE_URL="+srv.URL, "AICONTENT_API_KEY="+srv.APIKey)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// killed starts a program three times, and kills it as soon as the service has received a create request, or after two
// seconds.
func killed(t *testing.T, srv *aicontenttest.Server, program, folder string) {
	for range 3 {
		before := received(srv, aicontent.ImagesStore)
		cmd := command(program, folder, srv)
		require.NoError(t, cmd.Start())
		end := time.Now().Add(2 * time.Second)
		for received(srv, aicontent.ImagesStore) == before && time.Now().Before(end) {
			<-time.After(time.Millisecond)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	srv.Close() // ends the latency: the service executes what it has received
}

// received counts the requests of which the service has the whole form.
func received(srv *aicontenttest.Server, op aicontent.Operation) (n int) {
	for _, request := range srv.Requests() {
		if request.Operation == op && request.Form != nil {
			n++
		}
	}
	return n
}

// twice returns the names of which there is more than one record.
func twice(srv *aicontenttest.Server) (names []string) {
	count := make(map[string]int)
	for _, record := range srv.Records() {
		if count[record.Name]++; count[record.Name] == 2 {
			names = append(names, record.Name)
		}
	}
	return names
}

func TestNothingIsBilledTwiceByAProgramThatIsKilled(t *testing.T) {
	for name, want := range map[string][]string{"remembers": nil, "forgets": {"article 0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := aicontenttest.NewServer(t, aicontenttest.LatencyOn(aicontent.ImagesStore, time.Hour))
			killed(t, srv, name, t.TempDir())
			assert.Equal(t, want, twice(srv))
			require.NotEmpty(t, srv.Records(), "the service has finished what it began")
		})
	}
}
