package aicontenttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/internal/fakes"
)

func TestUploadsAreHashedAndKeptOnRequest(t *testing.T) {
	sum := sha256.Sum256([]byte("RIFF----WAVEdata"))
	want := Upload{
		Name: "talk.wav", ContentType: "audio/wav", Size: 16, SHA256: hex.EncodeToString(sum[:]),
	}
	s := NewServer(t, BasePath("/tenant"))
	send(t, s, upload(namePart, filePart))
	assert.Equal(t, &want, s.Requests()[0].File)
	assert.Equal(t, url.Values{"name": {"Meeting"}}, s.Requests()[0].Form)

	s = NewServer(t, BasePath("/tenant"), KeepUploads())
	send(t, s, upload(namePart, filePart))
	assert.Equal(t, "RIFF----WAVEdata", string(s.Created()[0].File.Data))
}

func TestUploadsOfAnySizeNeedNoMemory(t *testing.T) {
	const size = 64 << 20
	s := NewServer(t, BasePath("/tenant"))
	read, write := io.Pipe()
	form := multipart.NewWriter(write)
	go func() {
		_ = form.WriteField("name", "Long")
		part, _ := form.CreateFormFile("file", "long.flac")
		chunk := make([]byte, 1<<20)
		for range size / len(chunk) {
			_, _ = part.Write(chunk)
		}
		_ = form.Close()
		_ = write.Close()
	}()
	r := request{method: "POST", path: "/api/v1/transcriptions", body: read,
		header: map[string]string{"Content-Type": form.FormDataContentType()}}
	took := fakes.Allocated(func() { assert.Equal(t, 201, send(t, s, r).status) })
	assert.Less(t, took, uint64(size/8))
	assert.Equal(t, int64(size), s.Requests()[0].File.Size)
	assert.Greater(t, s.Requests()[0].Received, int64(size))
}

func TestFileNamesArriveAsTheyWereMeant(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	for header, want := range map[string]string{
		`filename="plain.wav"`:                        "plain.wav",
		`filename="a \"quote\".wav"`:                  `a "quote".wav`,
		`filename="back\\slash.wav"`:                  `back\slash.wav`,
		`filename="über/über.wav"`:                    "über/über.wav",
		`filename*=UTF-8''%e2%82%ac.wav`:              "€.wav",
		`filename="` + strings.Repeat("n", 300) + `"`: strings.Repeat("n", 300),
	} {
		send(t, s, upload(namePart, "name=\"file\"; "+header+"\r\n\r\nx"))
		all := s.Requests()
		assert.Equal(t, want, all[len(all)-1].File.Name)
	}
}

func TestFormsThatAreTooLargeAreAnsweredWith413(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	long := strings.Repeat("x", 16<<20)
	assert.Equal(t, 413, send(t, s, post("/api/v1/images", storeForm+"&x="+long)).status)
	assert.Equal(t, 413, send(t, s, upload(namePart, filePart, "name=\"description\"\r\n\r\n"+long)).status)
	assert.Empty(t, s.Violations())
	name := strings.Repeat("n", 1<<20)
	assert.Equal(t, 201, send(t, s, post("/api/v1/images", "name="+name+"&description=d&resolution=256x256")).status)
	assert.Equal(t, name, s.Images()[0].Name)
}

func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Server) {
		dial := s.HTTPClient().Transport.(*http.Transport).DialContext
		c, err := dial(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "POST /api/v1/images HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n"+
			"Accept: application/json\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
			"Content-Length: 100000000\r\n\r\n")
		require.NoError(t, err)
		head := make([]byte, 16)
		_, err = io.ReadFull(c, head)
		require.NoError(t, err)
		assert.True(t, bytes.HasPrefix(head, []byte("HTTP/1.1 401")), string(head))
		assert.Equal(t, http.StatusUnauthorized, s.Requests()[0].Status)
	})
}
