package aicontent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plainImage is an image for encoding/json alone, whose members must have the types that are expected.
type plainImage struct {
	ID          json.Number `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Resolution  string      `json:"resolution"`
	Style       string      `json:"style"`
	Medium      string      `json:"medium"`
	Filter      string      `json:"filter"`
	Favorite    bool        `json:"favorite"`
	Result      string      `json:"result"`
	URL         string      `json:"url"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
}

type plainPage struct {
	Data  []plainImage `json:"data"`
	Links struct {
		Next *string `json:"next"`
	} `json:"links"`
	Meta struct {
		Current int `json:"current_page"`
		Last    int `json:"last_page"`
		PerPage int `json:"per_page"`
		Total   int `json:"total"`
	} `json:"meta"`
}

// oddImage is what encoding/json can do with the odd shapes: keep their texts for somebody else to read.
type oddImage struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Style     string          `json:"style"`
	Favorite  json.RawMessage `json:"favorite"`
	URL       string          `json:"url"`
	CreatedAt json.RawMessage `json:"created_at"`
	UpdatedAt json.RawMessage `json:"updated_at"`
}

// hundred is a page of 100 records in a deployment's usual envelope.
func hundred(record func(i int) string) []byte {
	records := make([]string, 100)
	for i := range records {
		records[i] = record(i)
	}
	return []byte(`{"data":[` + strings.Join(records, ",") + `],"links":{"first":"https:\/\/app.example.com\/api\/v1\/images?page=1","last":"https:\/\/app.example.com\/api\/v1\/images?page=9",` +
		`"prev":null,"next":"https:\/\/app.example.com\/api\/v1\/images?page=2"},"meta":{"current_page":1,"from":1,"last_page":9,"path":"https:\/\/app.example.com\/api\/v1\/images","per_page":100,"to":100,"total":900}}`)
}

func ordinary(i int) string {
	return fmt.Sprintf(`{"id":%d,"name":"Lighthouse %d","style":"digital_art","medium":null,"filter":"grayscale","resolution":"512x512","result":"a1b2c3d4e5f6%d.png",`+
		`"url":"https:\/\/cdn.example.com\/users\/images\/a1b2c3d4e5f6%d.png","favorite":false,"created_at":"2024-05-04T10:11:12.000000Z","updated_at":"2024-05-05T10:11:%02d.000000Z"}`, 9000-i, i, i, i, i%60)
}

// comparison is one answer, read by the SDK and by encoding/json.
type comparison struct {
	name         string
	body         []byte
	sdk, plain   func(body []byte) error
	time, allocs float64 // what the SDK may take of encoding/json's
}

func readHundred(body []byte) error {
	page, err := readPage[Image](&answer{body: body, params: url.Values{}}, "images")
	if err == nil && (len(page.Items) != 100 || page.Items[99].Raw() == nil) {
		return errNoRecord
	}
	return err
}

func readOne(body []byte) error {
	_, err := readImage(&answer{body: body})
	return err
}

func into[T any](body []byte) error {
	var v T
	return json.Unmarshal(body, &v)
}

func comparisons() []comparison {
	type one struct {
		Data plainImage `json:"data"`
	}
	type oddOne struct {
		Image oddImage `json:"image"`
	}
	type oddPage struct {
		Images struct {
			Data []oddImage `json:"data"`
		} `json:"images"`
	}
	odd := func(i int) string {
		return fmt.Sprintf(`{ "url" : "https:\/\/cdn.example.com\/%d.png" , "favorite" : "1" , "n\u0061me" : "caf\u00e9 \ud83d\udca1 %d" , "style" : "retro" , "updated_at" : "2024-05-04 10:11:12" , "created_at" : %d , "id" : "%d" }`,
			i, i, 1714817472+i, i)
	}
	oddRecords := string(hundred(odd))
	oddRecords = oddRecords[strings.IndexByte(oddRecords, '[') : strings.IndexByte(oddRecords, ']')+1]
	return []comparison{
		{"page of 100", hundred(ordinary), readHundred, into[plainPage], 0.60, 0.50},
		{"record", []byte(`{"data":` + ordinary(0) + `,"status":200}`), readOne, into[one], 0.70, 1},
		{"odd page of 100", []byte(`{"images":{"data":` + oddRecords + `}}`), readHundred, into[oddPage], 2, 2},
		{"odd record", []byte(`{"image":` + odd(0) + `}`), readOne, into[oddOne], 2, 2},
	}
}

// BenchmarkAnswers sets what the SDK reads beside encoding/json into a struct with the same fields, from the same bytes in the
// same run. time/json and allocs/json are the SDK's shares; the limits are 0.60 and 0.50 for a page, 0.70 in time for a record, 2
// for odd shapes.
func BenchmarkAnswers(b *testing.B) {
	for _, c := range comparisons() {
		for name, read := range map[string]func([]byte) error{"sdk": c.sdk, "json": c.plain} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(c.body)))
				b.ReportAllocs()
				for b.Loop() {
					if err := read(c.body); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(c.name+"/ratio", func(b *testing.B) {
			// By turns, so that what else the machine does falls on both; enough at a time for the clock.
			const batch = 10
			var sdk, plain []time.Duration
			took := func(read func([]byte) error) time.Duration {
				start := time.Now()
				for range batch {
					if err := read(c.body); err != nil {
						b.Fatal(err)
					}
				}
				return time.Since(start)
			}
			for b.Loop() {
				sdk, plain = append(sdk, took(c.sdk)), append(plain, took(c.plain))
			}
			slices.Sort(sdk)
			slices.Sort(plain)
			b.ReportMetric(float64(sdk[len(sdk)/2])/float64(plain[len(plain)/2]), "time/json")
			b.ReportMetric(allocations(c.sdk, c.body)/allocations(c.plain, c.body), "allocs/json")
		})
	}
}

func allocations(read func([]byte) error, body []byte) float64 {
	return testing.AllocsPerRun(20, func() { _ = read(body) })
}

// A program that lists images all day pays for what a page allocates.
func TestAllocationsBesideEncodingJSON(t *testing.T) {
	for _, c := range comparisons() {
		require.NoError(t, c.sdk(c.body), c.name)
		require.NoError(t, c.plain(c.body), c.name)
		assert.LessOrEqual(t, allocations(c.sdk, c.body)/allocations(c.plain, c.body), c.allocs, c.name)
	}
}

// The texts of a record share memory, so keeping one must not keep much: not the page, and no long text.
func TestKeptTextsKeepLittle(t *testing.T) {
	const n = 200
	long := strings.Repeat("Good morning, everyone. ", 4000)
	names := make([]string, 0, n)
	before := liveHeap()
	for i := range n {
		body := []byte(fmt.Sprintf(`{"data":{"id":%d,"name":"Minutes %d","result":"%s","description":"%s"}}`, i, i, long, long))
		record, err := readTranscription(&answer{body: body})
		require.NoError(t, err)
		require.Equal(t, long, record.Result)
		names = append(names, record.Name)
	}
	assert.Less(t, liveHeap(), before+n*(2*longText)+64<<10)
	require.Len(t, names, n)
}
