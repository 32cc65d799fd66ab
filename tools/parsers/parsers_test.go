package parsers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
)

// parser is a form parser of another language.
type parser struct {
	name    string
	service string
	// whole says which forms the parser takes for whole though they are cut inside the closing delimiter: how many
	// bytes of the end are missing, where Content-Length agrees with what was sent.
	whole []int
	// reads returns the file name that the parser reads, empty where it refuses the form. Nil reads every name as it
	// was sent.
	reads func(name string) string
}

// percent decodes what browsers encode in file names: these parsers cannot tell it from a name with a percent sign.
var percent = strings.NewReplacer("%22", `"`, "%0D", "\r")

var parsers = []parser{
	{name: "php", service: "php", whole: []int{1, 2, 3, 4}},
	{name: "busboy", service: "node", whole: []int{1, 2}},
	{name: "multer", service: "node", whole: []int{1, 2}, reads: percent.Replace},
	{name: "formidable", service: "node", whole: []int{1, 2, 4}, reads: func(name string) string {
		// It takes the backslash before a quote for the end of a directory.
		return strings.Replace(name[max(strings.LastIndexByte(name, '"'), 0):], "%22", `"`, 1)
	}},
	{name: "undici", service: "node", whole: []int{2}, reads: func(name string) string {
		// It knows the form of browsers alone, in which a quote is %22. PHP and others take that for three characters.
		if strings.Contains(name, `"`) {
			return ""
		}
		return percent.Replace(name)
	}},
	{name: "django", service: "python", whole: []int{1, 2, 3}},
	{name: "werkzeug", service: "python", whole: []int{1, 2}},
	{name: "starlette", service: "python", whole: []int{1, 2}},
	{name: "tornado", service: "python", whole: []int{1, 2}},
	{name: "email", service: "python", whole: []int{1, 2}, reads: strings.TrimSpace},
}

// form is a body that the SDK has sent.
type form struct {
	contentType string
	body        []byte
	file        []byte
	delimiter   int // where in the body the closing delimiter begins
}

// recorded is the form of a Store call, as a service got it.
func recorded(t *testing.T, filename string, file []byte) form {
	f := form{file: file}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.contentType = r.Header.Get("Content-Type")
		f.body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"data":{"id":7,"name":"Interview"}}`)
	}))
	defer srv.Close()
	client, err := aicontent.NewClient(srv.URL, "test-key")
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	_, err = client.Transcriptions.Store(t.Context(), aicontent.TranscriptionStoreParams{
		Name: "Interview", Description: "of the year", Language: "DE", File: aicontent.FileFromBytes(filename, file),
	})
	require.NoError(t, err)
	at := bytes.Index(f.body, file)
	require.Positive(t, at)
	f.delimiter = at + len(file)
	return f
}

// recording is audio that no other test sends.
func recording(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16*7)
	}
	copy(data, "RIFF\xff\xff\xff\xffWAVEfmt ")
	return data
}

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

// framing is how a form is cut.
type framing string

const (
	shortened framing = "shortened"            // Content-Length is what was sent, as a proxy may see to
	broken    framing = "broken off"           // the connection ended before Content-Length bytes
	chunked   framing = "broken off in chunks" // the connection ended before the last chunk
)

// send sends the first n bytes of a form. It returns the status, 0 for none, when the service has closed the
// connection.
func send(t *testing.T, s *service, p parser, f form, n int, as framing) int {
	nc, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	defer nc.Close()
	require.NoError(t, nc.SetDeadline(time.Now().Add(time.Minute)))
	body, header := f.body[:n], fmt.Sprintf("Content-Length: %d", n)
	switch as {
	case broken:
		header = fmt.Sprintf("Content-Length: %d", len(f.body))
	case chunked:
		header, body = "Transfer-Encoding: chunked", fmt.Appendf(nil, "%x\r\n%s\r\n", n, body)
	}
	const head = "POST /%s HTTP/1.1\r\nHost: service.test\r\nConnection: close\r\nContent-Type: %s\r\n%s\r\n\r\n"
	_, err = fmt.Fprintf(nc, head, p.name, f.contentType, header)
	require.NoError(t, err)
	// A service may refuse a form before it has read it.
	_, _ = nc.Write(body)
	if as != shortened {
		_ = nc.(*net.TCPConn).CloseWrite()
	}
	response, _ := io.ReadAll(nc)
	var minor, status int
	_, _ = fmt.Sscanf(string(response), "HTTP/1.%d %d", &minor, &status)
	return status
}

// recordsOf sends the first n bytes of a form and returns what records the service made of it.
func recordsOf(t *testing.T, s *service, p parser, f form, n int, as framing) []record {
	before := len(s.all(t, p))
	status := send(t, s, p, f, n, as)
	if as != shortened {
		s.idle(t, p)
	}
	made := s.all(t, p)[before:]
	if as == shortened {
		require.NotZero(t, status, "no response")
		assert.Equal(t, status == http.StatusCreated, len(made) == 1)
	}
	return made
}

// An upload that ended before its closing delimiter is sent again: no parser may have made a record of it.
func TestNoParserTakesAFormForWholeThatIsCutBeforeItsDelimiter(t *testing.T) {
	f := recorded(t, "interview.wav", recording(300_000))
	start := f.delimiter - len(f.file)
	for _, p := range parsers {
		t.Run(p.name, func(t *testing.T) {
			s := serviceOf(t, p)
			whole := recordsOf(t, s, p, f, len(f.body), shortened)
			require.Len(t, whole, 1)
			assert.Equal(t, record{p.name, "Interview", "interview.wav", sum(f.file)}, whole[0])
			for name, n := range map[string]int{
				"in the header":   start / 2,
				"before the file": start,
				"10 %":            start + len(f.file)/10,
				"50 %":            start + len(f.file)/2,
				"99 %":            start + len(f.file)*99/100,
				"the whole file":  f.delimiter,
			} {
				for _, as := range []framing{shortened, broken, chunked} {
					assert.Empty(t, recordsOf(t, s, p, f, n, as), "%s, %s", name, as)
				}
			}
		})
	}
}

// Which parsers take a form for whole that was cut inside its closing delimiter: there the outcome is unknown, and
// nothing is sent again.
func TestParsersTakeFormsCutInsideTheirDelimiterAsListed(t *testing.T) {
	f := recorded(t, "interview.wav", recording(3000))
	for _, p := range parsers {
		t.Run(p.name, func(t *testing.T) {
			s := serviceOf(t, p)
			var whole []int
			for missing := 1; missing < len(f.body)-f.delimiter; missing++ {
				for _, as := range []framing{shortened, broken, chunked} {
					for _, r := range recordsOf(t, s, p, f, len(f.body)-missing, as) {
						assert.Equal(t, sum(f.file), r.Sum, "%s without the last %d bytes: another file", as, missing)
						assert.Contains(t, p.whole, missing, as)
						if as == shortened {
							whole = append(whole, missing)
						}
					}
				}
			}
			assert.Equal(t, p.whole, whole)
		})
	}
}

// File names as they are given, and as a service should read them.
var fileNames = []struct{ given, base string }{
	{"interview.wav", "interview.wav"},
	{"Interview mit Zoë, 録音 №1 🎙.wav", "Interview mit Zoë, 録音 №1 🎙.wav"},
	{`the "good" one.wav`, `the "good" one.wav`},
	{`"quoted".wav`, `"quoted".wav`},
	{`ends in a quote"`, `ends in a quote"`},
	{`it's; filename=x.wav`, `it's; filename=x.wav`},
	{"100% sure %22 %0D.wav", "100% sure %22 %0D.wav"},
	{"/home/zoe/interview.wav", "interview.wav"},
	{`C:\Recordings\interview.wav`, "interview.wav"},
	{`..\..\etc/../passwd.wav`, "passwd.wav"},
	{`back\slash "and" quote.wav`, `slash "and" quote.wav`},
	{"a&b<c>=d?.wav", "a&b<c>=d?.wav"},
	{" spaces around .wav", " spaces around .wav"},
	{"no extension", "no extension"},
	{".hidden", ".hidden"},
	{strings.Repeat("é", 120) + ".wav", strings.Repeat("é", 120) + ".wav"},
	{strings.Repeat("a", 250) + ".wav", strings.Repeat("a", 250) + ".wav"},
}

// A service must read the file name that the user gave. Where a parser reads another one, it is said here.
func TestParsersReadTheFileNameThatWasGiven(t *testing.T) {
	for _, p := range parsers {
		t.Run(p.name, func(t *testing.T) {
			s := serviceOf(t, p)
			for _, name := range fileNames {
				f := recorded(t, name.given, recording(100))
				want := name.base
				if p.reads != nil {
					want = p.reads(want)
				}
				got := recordsOf(t, s, p, f, len(f.body), shortened)
				if want == "" {
					assert.Empty(t, got, "%q", name.base)
				} else if assert.Len(t, got, 1, "%q", name.base) {
					assert.Equal(t, want, got[0].Filename)
				}
			}
		})
	}
}
