package response

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// picture is a record like those of the package's users.
type picture struct {
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

func ordinary(i int) string {
	const record = `{"id":%d,"name":"Lighthouse %[2]d","style":"digital_art","medium":null,"filter":"grayscale",` +
		`"resolution":"512x512","result":"a1b2c3d4e5f6%[2]d.png",` +
		`"url":"https:\/\/cdn.example.com\/users\/images\/a1b2c3d4e5f6%[2]d.png","favorite":false,` +
		`"created_at":"2024-05-04T10:11:12.000000Z","updated_at":"2024-05-05T10:11:%02[3]d.000000Z"}`
	return fmt.Sprintf(record, 9000-i, i, i%60)
}

// hundred is an array of 100 records.
func hundred(record func(i int) string) string {
	records := make([]string, 100)
	for i := range records {
		records[i] = record(i)
	}
	return "[" + strings.Join(records, ",") + "]"
}

func readList(body string) error {
	v, err := Parse(body)
	if err != nil {
		return err
	}
	list, err := FindList(v, "images")
	if err != nil {
		return err
	}
	items := make([]picture, len(list.Items))
	raws := make([]Value, len(list.Items))
	for i, item := range list.Items {
		if raws[i], err = Record(Value(strings.Clone(string(item))), "image", &items[i]); err != nil {
			return err
		}
	}
	if len(items) != 100 || items[99].Name == "" || items[99].URL == "" || items[99].CreatedAt.IsZero() {
		return errors.New("records are missing")
	}
	return nil
}

func readRecord(body string) error {
	v, err := Parse(body)
	if err != nil {
		return err
	}
	p := new(picture)
	_, err = Record(v, "image", p)
	return err
}

// byHand reads a list as a program without this package does.
func byHand(body string) error {
	var list struct {
		Data  []picture `json:"data"`
		Links struct {
			Next string `json:"next"`
		} `json:"links"`
		Meta struct {
			Last int `json:"last_page"`
		} `json:"meta"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return err
	}
	if len(list.Data) != 100 || list.Meta.Last != 9 {
		return errors.New("records are missing")
	}
	return nil
}

type benchCase struct {
	name string
	body string
	read func(body string) error
}

func benchCases() []benchCase {
	const around = `,"links":{"first":"https:\/\/app.example.com\/api\/v1\/images?page=1",` +
		`"last":"https:\/\/app.example.com\/api\/v1\/images?page=9","prev":null,` +
		`"next":"https:\/\/app.example.com\/api\/v1\/images?page=2"},` +
		`"meta":{"current_page":1,"from":1,"last_page":9,"path":"https:\/\/app.example.com\/api\/v1\/images",` +
		`"per_page":100,"to":100,"total":900}}`
	return []benchCase{
		{"list", `{"data":` + hundred(ordinary) + around, readList},
		{"list by hand", `{"data":` + hundred(ordinary) + around, byHand},
		{"record", `{"data":` + ordinary(0) + `,"status":200}`, readRecord},
	}
}

func BenchmarkRead(b *testing.B) {
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, c.read(c.body))
			}
		})
	}
}

// BenchmarkListBesideEncodingJSON reads the same list with this package and by hand in turn, so that a busy machine
// slows down both. It reports the ratio of the medians of their times: some 0.75 with Go 1.26, 0.95 with Go 1.27.
func BenchmarkListBesideEncodingJSON(b *testing.B) {
	cases := benchCases()
	var took [2][]time.Duration
	for b.Loop() {
		for i := range took {
			start := time.Now()
			require.NoError(b, cases[i].read(cases[i].body))
			took[i] = append(took[i], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	b.ReportMetric(float64(took[0][b.N/2])/float64(took[1][b.N/2]), "times-json")
}
