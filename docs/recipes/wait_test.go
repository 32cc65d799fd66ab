package recipes

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func TestPictureAndTextComeEvenIfTheServiceRespondsBeforeTheyAreThere(t *testing.T) {
	recording := aicontent.FileFromBytes("talk.mp3", []byte("ID3 a recording"))
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		client, names := srv.Client(), onceClient(t, srv)
		for range 2 {
			drawn, err := picture(t.Context(), client, names, image)
			require.NoError(t, err)
			_, err = client.Images.Download(t.Context(), drawn, io.Discard)
			require.NoError(t, err)
			params := aicontent.TranscriptionStoreParams{Name: "talk", File: recording}
			transcription, err := text(t.Context(), client, names, params)
			require.NoError(t, err)
			assert.NotEmpty(t, transcription.Result)
		}
		assert.Len(t, srv.Created(), 2)
	}, aicontenttest.LateResult)
}

func TestTextOfASilentRecordingIsNotWaitedForForever(t *testing.T) {
	silent := aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation != aicontent.TranscriptionsList {
			r.SetJSON(map[string]any{"data": map[string]any{"id": 1, "name": "talk", "result": nil}})
		}
	})
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		began := time.Now()
		params := aicontent.TranscriptionStoreParams{
			Name: "talk", File: aicontent.FileFromBytes("talk.mp3", []byte("ID3 silence")),
		}
		transcription, err := text(t.Context(), srv.Client(), onceClient(t, srv), params)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, aicontent.ID("1"), transcription.ID)
		assert.Equal(t, 10*time.Minute, time.Since(began))
	}, silent)
}
