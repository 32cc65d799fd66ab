package lenient

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

func odd(i int) string {
	const record = `{ "url" : "https:\/\/cdn.example.com\/%[1]d.png" , "favorite" : "1" , ` +
		`"n\u0061me" : "caf\u00e9 \ud83d\udca1 %[1]d" , "style" : "retro" , ` +
		`"updated_at" : "2024-05-04 10:11:12" , "created_at" : %[2]d , "id" : "%[1]d" }`
	return fmt.Sprintf(record, i, 1714817472+i)
}

// hundred is an array of 100 records.
func hundred(record func(i int) string) string {
	records := make([]string, 100)
	for i := range records {
		records[i] = record(i)
	}
	return "[" + strings.Join(records, ",") + "]"
}

func readList(body []byte) error {
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
		if raws[i], err = Element(item, "image", &items[i]); err != nil {
			return err
		}
	}
	if len(items) != 100 || items[99].Name == "" {
		return errors.New("records are missing")
	}
	return nil
}

func readRecord(body []byte) error {
	v, err := Parse(body)
	if err != nil {
		return err
	}
	p := new(picture)
	_, err = Record(v, "image", p)
	return err
}

type benchCase struct {
	name   string
	body   []byte
	read   func(body []byte) error
	allocs float64 // the most allocations
}

func benchCases() []benchCase {
	const around = `,"links":{"first":"https:\/\/app.example.com\/api\/v1\/images?page=1",` +
		`"last":"https:\/\/app.example.com\/api\/v1\/images?page=9","prev":null,` +
		`"next":"https:\/\/app.example.com\/api\/v1\/images?page=2"},` +
		`"meta":{"current_page":1,"from":1,"last_page":9,"path":"https:\/\/app.example.com\/api\/v1\/images",` +
		`"per_page":100,"to":100,"total":900}}`
	return []benchCase{
		{"list", []byte(`{"data":` + hundred(ordinary) + around), readList, 120},
		{"record", []byte(`{"data":` + ordinary(0) + `,"status":200}`), readRecord, 5},
		{"odd list", []byte(`{"images":{"data":` + hundred(odd) + `}}`), readList, 430},
		{"odd record", []byte(`{"image":` + odd(0) + `}`), readRecord, 8},
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

// A program that lists records all day pays for each allocation. encoding/json makes 819, 15, 1007 and 16.
func TestAllocationsAreFewerThanThoseOfEncodingJSON(t *testing.T) {
	for _, c := range benchCases() {
		require.NoError(t, c.read(c.body), c.name)
		count := testing.AllocsPerRun(20, func() { _ = c.read(c.body) })
		assert.LessOrEqual(t, count, c.allocs, c.name)
	}
}
