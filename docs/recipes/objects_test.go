package recipes

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// Objects have a size and can be opened again: they are never chunked, and a retry sends all of them.
func TestTranscribeObjectIsNeverChunkedAndMayBeSentAgain(t *testing.T) {
	files, err := fileblob.OpenBucket(t.TempDir(), nil)
	require.NoError(t, err)
	recording := []byte(strings.Repeat("a voice message ", 10_000))
	sum := sha256.Sum256(recording)
	for name, bucket := range map[string]*blob.Bucket{"memblob": memblob.OpenBucket(nil), "fileblob": files} {
		t.Run(name, func(t *testing.T) {
			defer bucket.Close()
			require.NoError(t, bucket.WriteAll(t.Context(), "2024/a.mp3", recording, nil))
			require.NoError(t, bucket.WriteAll(t.Context(), "2024/empty.mp3", nil, nil))
			srv := aicontenttest.NewServer(t, aicontenttest.NoChunkedUploads)
			srv.FaultOn(aicontent.TranscriptionsStore, 1, aicontenttest.Status(http.StatusTooManyRequests, ""))
			client := srv.Client(aicontent.WithRetryPolicy(aicontent.RetryPolicy{MaxBackoff: time.Millisecond}))
			names, err := once.New(client, once.InMemory())
			require.NoError(t, err)
			transcribe := func(key, name string) (*aicontent.Transcription, error) {
				return transcribeObject(t.Context(), names, bucket, key, name, slog.New(slog.DiscardHandler))
			}
			transcription, err := transcribe("2024/a.mp3", "4711")
			require.NoError(t, err)
			assert.Equal(t, "4711", transcription.Name)
			require.Len(t, srv.Transcriptions(), 1)
			upload := srv.Created()[0].File
			assert.Equal(t, hex.EncodeToString(sum[:]), upload.SHA256)
			assert.Equal(t, "a.mp3", upload.Name)
			assert.Equal(t, "audio/mpeg", upload.ContentType)

			_, err = transcribe("2024/b.mp3", "4712")
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.ErrorIs(t, err, aicontent.ErrFile)
			_, err = transcribe("2024", "4713")
			require.ErrorContains(t, err, "is a directory")
			_, err = transcribe("2024/empty.mp3", "4714")
			require.ErrorContains(t, err, "must not be empty")
			assert.Len(t, srv.Records(), 1)
		})
	}
}

func TestTranscribeObjectLogsItsProgressEveryTenSeconds(t *testing.T) {
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		bucket := memblob.OpenBucket(nil)
		defer bucket.Close()
		recording := append([]byte("ID3"), make([]byte, 25<<20)...)
		require.NoError(t, bucket.WriteAll(t.Context(), "a.mp3", recording, nil))
		var log strings.Builder
		to := slog.New(slog.NewTextHandler(&log, nil))
		_, err := transcribeObject(t.Context(), onceClient(t, srv), bucket, "a.mp3", "4711", to)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.Len(t, lines, 3)
		assert.Regexp(t, `object=a.mp3 sent=1\d{7} of=26214403 attempt=1$`, lines[0])
		assert.Contains(t, lines[2], "sent=26214403 of=26214403")
	}, aicontenttest.SlowUpload(1<<20))
}
