package aicontenttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
)

// The service says in one way or another that more pages follow, and compresses what it says or not.
func TestTheSDKReadsEveryPage(t *testing.T) {
	for _, personalities := range [][]Option{
		{HasMore}, {NumberedLists}, {HasMore, NumberedLists}, {PlainPaginator, NumberedLists},
		{GzipHeader}, {GzipBody}, {GzipHeader, GzipBody, HasMore},
	} {
		t.Run(fmt.Sprint(personalities), func(t *testing.T) {
			s := NewServer(t, personalities...)
			for i := range 25 {
				s.AddImage(Image{Name: fmt.Sprintf("image %d", i)})
			}
			c := s.Client()
			all, err := aicontent.Collect(c.Images.All(t.Context(), aicontent.ImageListParams{PerPage: aicontent.PerPage10}))
			require.NoError(t, err)
			require.Len(t, all, 25)
			for i, image := range all {
				assert.Equal(t, fmt.Sprintf("image %d", 24-i), image.Name)
			}
			_, err = c.Images.FindByName(t.Context(), "image 0")
			require.NoError(t, err)
		})
	}
}

// A record on the second page of a search counts as much as one on the first.
func TestTheSDKFindsANameOnTheSecondPageOfASearch(t *testing.T) {
	for _, personality := range []Personality{HasMore, NumberedLists} {
		s := NewServer(t, personality)
		s.AddImage(Image{Name: "order"})
		for i := range 100 {
			s.AddImage(Image{Name: fmt.Sprintf("order %d", i)})
		}
		image, err := s.Client().Images.FindByName(t.Context(), "order")
		require.NoError(t, err, personality)
		assert.Equal(t, aicontent.ID("1"), image.ID, personality)
	}
}

func TestGzipIsSentWhateverTheHeaderSays(t *testing.T) {
	const zipped, plain = "\x1f\x8b\x08", `{"data":`
	for _, c := range []struct {
		personalities  []Option
		begins, header string
	}{
		{nil, plain, ""},
		{[]Option{GzipHeader}, plain, "gzip"},
		{[]Option{GzipBody}, zipped, ""},
		{[]Option{GzipHeader, GzipBody}, zipped, "gzip"},
	} {
		s := NewServer(t, c.personalities...)
		s.AddImage(Image{Name: "n"})
		r := get("/api/v1/images/1")
		r.header = map[string]string{"Accept-Encoding": "identity"}
		e := send(t, s, r)
		assert.Equal(t, c.header, e.header.Get("Content-Encoding"))
		require.Greater(t, len(e.body), len(c.begins))
		assert.Equal(t, c.begins, e.body[:len(c.begins)])
	}
}

// A program that opens the file must find a whole picture in it.
func TestTheSDKTakesNoPartOfAPictureForThePicture(t *testing.T) {
	s := NewServer(t)
	c := s.Client(aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxAttempts: 1}))
	image, err := c.Images.Store(t.Context(), imageParams)
	require.NoError(t, err)
	var whole bytes.Buffer
	_, err = c.Images.Download(t.Context(), image, &whole)
	require.NoError(t, err)
	s.FaultOn(ImagesDownload, 1, PartialContent())
	_, err = c.Images.Download(t.Context(), image, io.Discard)
	var unusable *aicontent.DecodeError
	require.ErrorAs(t, err, &unusable)
	assert.Equal(t, http.StatusPartialContent, unusable.StatusCode)
	assert.Equal(t, fmt.Sprintf("bytes 0-%d/%d", whole.Len()/2-1, whole.Len()), unusable.Header.Get("Content-Range"))
}

var imageParams = aicontent.ImageStoreParams{
	Name: "order-4711", Description: "A whale", Resolution: aicontent.Resolution256x256,
}

// The record of a lost response is found and paid for once, though its search cannot be read at first.
func TestAGarbledSearchCostsNoSecondRecord(t *testing.T) {
	for _, garbled := range []Fault{
		InvalidJSON(), TruncatedJSON(), PartialContent(), HTMLPage(200), OversizedResponse(9 << 20),
		Status(200, "ok"), Status(200, `{"status":200}`), Status(200, `{"data":[7]}`),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewServer(t, InMemoryNetwork())
			s.FaultOn(ImagesStore, 1, LoseResponse())
			again := func(r *Request) bool { return r.Operation == ImagesList && len(s.Records()) > 0 }
			s.FaultWhen(again, 2, garbled)
			names, err := once.New(s.Client(), once.InMemory(), once.WithMaxWait(0))
			require.NoError(t, err)
			image, err := storeUntilItIsKnown(t.Context(), names)
			require.NoError(t, err, garbled.Name)
			assert.Equal(t, aicontent.ID("1"), image.ID)
			assert.Len(t, s.Records(), 1, garbled.Name)
		})
	}
}

// storeUntilItIsKnown calls Store as a queue does.
func storeUntilItIsKnown(ctx context.Context, names *once.Client) (*aicontent.Image, error) {
	image, _, err := names.Images.Store(ctx, imageParams)
	for aicontent.Retryable(err) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(max(time.Second, time.Until(aicontent.RetryAt(err)))):
		}
		image, _, err = names.Images.Store(ctx, imageParams)
	}
	return image, err
}

// Laravel trims more than white space: a search for the name as given finds nothing.
func TestTheSDKFindsANameWhoseInvisibleCharactersWereTrimmed(t *testing.T) {
	for _, name := range []string{"\ufefforder", "order\u200b", "\u2060order\u00ad\u0000", "\u2800 order \U0001d159"} {
		s := NewServer(t)
		c := s.Client()
		params := imageParams
		params.Name = name
		stored, err := c.Images.Store(t.Context(), params)
		require.NoError(t, err, "%q", name)
		assert.Equal(t, "order", stored.Name, "%q", name)
		found, err := c.Images.FindByName(t.Context(), name)
		require.NoError(t, err, "%q", name)
		assert.Equal(t, stored.ID, found.ID)
	}
}
