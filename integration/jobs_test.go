package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// A job is a record to store: an image, or a transcription if it has a file.
type job struct {
	name, description string
	file              aicontent.File
}

// jobs has one for each collection.
var jobs = map[string]job{
	"images":         {name: "n", description: "d"},
	"transcriptions": {name: "n", file: wav(0)},
}

// stored is what a Store call returns.
type stored struct {
	id       aicontent.ID
	complete bool // the record has all that it gets
	found    bool // by package once
}

// store makes a Store call: of package once, or a plain one if names is nil.
func (j job) store(
	ctx context.Context, c *aicontent.Client, names *once.Client, opts ...aicontent.CallOption,
) (s stored, err error) {
	var image *aicontent.Image
	var text *aicontent.Transcription
	sketch := aicontent.ImageStoreParams{
		Name: j.name, Description: j.description, Resolution: aicontent.Resolution256x256,
	}
	speech := aicontent.TranscriptionStoreParams{Name: j.name, Description: j.description, File: j.file}
	switch isImage := j.file.Name == ""; {
	case isImage && names == nil:
		image, err = c.Images.Store(ctx, sketch, opts...)
	case isImage:
		image, s.found, err = names.Images.Store(ctx, sketch, opts...)
	case names == nil:
		text, err = c.Transcriptions.Store(ctx, speech, opts...)
	default:
		text, s.found, err = names.Transcriptions.Store(ctx, speech, opts...)
	}
	if image != nil {
		s.id, s.complete = image.ID, true
	}
	if text != nil {
		s.id, s.complete = text.ID, text.Result != ""
	}
	return s, err
}

// wav returns a recording whose samples take so many bytes. The kit's parser looks for a line end from the back of each
// piece that it has read: with one every 64 bytes, it need not look through all of a large file.
func wav(size int) aicontent.File {
	samples := strings.Repeat(strings.Repeat("\x00", 63)+"\r", size/64+1)[:size]
	return aicontent.FileFromBytes("a.wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt "+samples))
}

// newNames returns package once with a ledger of its own.
func newNames(t *testing.T, c *aicontent.Client, opts ...once.Option) *once.Client {
	t.Helper()
	names, err := once.New(c, once.InMemory(), opts...)
	require.NoError(t, err)
	return names
}

// A customer stores one record, with one client.
type customer struct {
	job
	srv    *aicontenttest.Server
	client *aicontent.Client
	names  *once.Client
}

func newCustomer(t *testing.T, srv *aicontenttest.Server, j job, opts ...aicontent.Option) customer {
	t.Helper()
	c := srv.Client(opts...)
	return customer{j, srv, c, newNames(t, c)}
}

func (c customer) store(ctx context.Context) error {
	_, err := c.job.store(ctx, c.client, nil)
	return err
}

// storeOnce makes a Store call of package once.
func (c customer) storeOnce(ctx context.Context) (found bool, err error) {
	s, err := c.job.store(ctx, nil, c.names)
	return s.found, err
}

// assertCreated asserts how many create requests reached the service, and that each of them made a record.
func (c customer) assertCreated(t *testing.T, n int) {
	t.Helper()
	requests := 0
	for _, r := range c.srv.Requests() {
		if strings.HasSuffix(string(r.Operation), ".store") {
			requests++
		}
	}
	assert.Equal(t, n, requests, "create requests")
	assert.Len(t, c.srv.Records(), n, "records")
}
