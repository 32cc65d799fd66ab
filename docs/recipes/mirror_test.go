package recipes

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
)

func names(t *testing.T, folder string) (list []string) {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// withPicture returns a server with an image.
func withPicture(t *testing.T, opts ...aicontenttest.Option) (*aicontenttest.Server, *aicontent.Image) {
	srv := aicontenttest.NewServer(t, opts...)
	sent, err := srv.Client().Images.Store(t.Context(), image)
	require.NoError(t, err)
	return srv, sent
}

// A part file in another folder may be in another file system, where it cannot be renamed from.
func TestSaveWritesBesideTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := t.TempDir()
	during := 0
	srv, sent := withPicture(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontent.ImagesDownload {
			here, err := os.ReadDir(".")
			assert.NoError(t, err)
			assert.Empty(t, here)
			parts, err := filepath.Glob(filepath.Join(folder, "*.part"))
			assert.NoError(t, err)
			during += len(parts)
		}
	}))
	path := filepath.Join(folder, "lighthouse.png")
	require.NoError(t, save(t.Context(), srv.Client(), sent, path))
	assert.Equal(t, 1, during)
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "image/png", http.DetectContentType(picture))
	saved, err := os.Stat(path)
	require.NoError(t, err)
	usual, err := os.Create(filepath.Join(t.TempDir(), "usual.png"))
	require.NoError(t, err)
	defer usual.Close()
	other, err := usual.Stat()
	require.NoError(t, err)
	assert.Equal(t, other.Mode(), saved.Mode(), "who may read it")

	sent.URL = srv.URL + "/pictures/none.png"
	require.ErrorContains(t, save(t.Context(), srv.Client(), sent, filepath.Join(folder, "none.png")), "404")
	assert.Equal(t, []string{"lighthouse.png"}, names(t, folder))
}

// large serves a picture of that many bytes.
func large(size int) aicontenttest.Option {
	return aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontent.ImagesDownload {
			r.Body = make([]byte, size)
		}
	})
}

// The service chooses the URL: whatever is there must not fill the disk.
func TestSaveTakesNoPictureOfAnySize(t *testing.T) {
	folder := t.TempDir()
	srv, sent := withPicture(t, large(largestPicture+1))
	require.ErrorIs(t, save(t.Context(), srv.Client(), sent, filepath.Join(folder, "lighthouse.png")), errLargePicture)
	assert.Empty(t, names(t, folder))
}

// Half a picture is never there under its name, and the next run gets the whole.
func TestSaveLeavesNothingOfAPictureThatIsCutOff(t *testing.T) {
	folder := t.TempDir()
	srv, sent := withPicture(t, large(largestPicture))
	srv.FaultOn(aicontent.ImagesDownload, 1, aicontenttest.CloseMidResponse())
	path := filepath.Join(folder, "lighthouse.png")
	require.ErrorAs(t, save(t.Context(), srv.Client(), sent, path), new(*aicontent.DecodeError))
	assert.Empty(t, names(t, folder))
	require.NoError(t, save(t.Context(), srv.Client(), sent, path))
	saved, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, largestPicture, saved.Size())
}

// A proxy in front of a service that is being deployed has a 404 of its own.
func TestMirrorKeepsThePictureOfARecordThatAProxyDenies(t *testing.T) {
	folder := t.TempDir()
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "7.png"), nil, 0o600))
		srv.FaultOn(aicontent.ImagesShow, 1, aicontenttest.HTMLPage(http.StatusNotFound))
		require.ErrorContains(t, mirror(t.Context(), srv.Client(), folder), "image 7: images.show: 404")
		require.Equal(t, []string{"7.png"}, names(t, folder))

		require.NoError(t, mirror(t.Context(), srv.Client(), folder))
		require.Empty(t, names(t, folder), "the service itself says that it is gone")
	})
}

func TestMirrorFetchesEachPictureOnceAndRemovesOnlyWhatIsGone(t *testing.T) {
	folder := t.TempDir()
	hidden := false
	hide := aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if hidden && r.Request.Operation == aicontent.ImagesList {
			body := r.JSON().(map[string]any)
			body["data"] = body["data"].([]any)[1:]
			r.SetJSON(body)
		}
	})
	inMemory(t, func(t *testing.T, srv *aicontenttest.Server) {
		for _, id := range []aicontent.ID{"1", "2", "3"} {
			srv.AddImage(aicontent.Image{ID: id})
		}
		client := srv.Client()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "123.part"), []byte("of a run that was killed"), 0o600))
		srv.FaultOn(aicontent.ImagesDownload, 1, aicontenttest.Status(http.StatusNotFound, "not yet"))
		err := mirror(t.Context(), client, folder)
		require.ErrorContains(t, err, "images.download: 404: not yet", "one picture failed")
		require.Len(t, names(t, folder), 2)
		require.NoError(t, mirror(t.Context(), client, folder))
		require.Equal(t, []string{"1.png", "2.png", "3.png"}, names(t, folder))
		before := len(srv.Requests())
		require.NoError(t, mirror(t.Context(), client, folder))
		assert.Len(t, srv.Requests(), before+1, "what is there is not fetched again")

		require.NoError(t, client.Images.Delete(t.Context(), "2"))
		srv.FaultOn(aicontent.ImagesList, 4, aicontenttest.Status(http.StatusInternalServerError, "down"))
		require.ErrorIs(t, mirror(t.Context(), client, folder), aicontent.ErrServer)
		assert.Len(t, names(t, folder), 3, "without a whole list nothing is removed")
		hidden = true
		require.NoError(t, mirror(t.Context(), client, folder))
		assert.Equal(t, []string{"1.png", "3.png"}, names(t, folder), "the list missed one that is there")
	}, hide)
}
