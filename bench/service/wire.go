// Package service is the server that every client is measured against: the same records and the same faults, in
// the wire format that each client was made for.
package service

import (
	"fmt"
	"strconv"
)

// Wire is the format in which a client expects responses.
type Wire int

// The wire formats.
const (
	Native    Wire = iota // this project's service: net/http by hand, resty and this SDK
	OpenAI                // batches
	GitHub                // milestones of a repository
	Hetzner               // images
	wireCount             // how many there are
)

// PageSize is the number of records in a list.
const PageSize = 100

// recordSize is the length of every record, whatever its format: the longest text is padded up to it.
const recordSize = 448

// record appends record id: eleven scalar members, of which two are times.
func record(b []byte, w Wire, id int) []byte {
	start := len(b)
	n := strconv.Itoa(id)
	var before, after string
	switch w {
	case Native:
		before = `{"id":` + n + `,"name":"Lighthouse ` + n + `","description":"`
		after = `","resolution":"512x512","style":"pixel_art","medium":"watercolor","filter":"sepia","favorite":true,` +
			`"url":"https://cdn.example.com/images/` + n + `.png",` +
			`"created_at":"2024-05-04T10:11:12.000000Z","updated_at":"2024-05-05T10:11:12.000000Z"}`
	case OpenAI:
		before = `{"id":"batch_` + n + `","object":"batch","endpoint":"/v1/chat/completions","input_file_id":"`
		after = `","completion_window":"24h","status":"in_progress",` +
			`"output_file_id":"file-out-` + n + `","error_file_id":"file-err-` + n + `",` +
			`"created_at":1714817472,"in_progress_at":1714817500,"expires_at":1714903872}`
	case GitHub:
		before = `{"url":"https://api.example.com/repos/o/r/milestones/` + n + `",` +
			`"html_url":"https://example.com/o/r/milestone/` + n + `",` +
			`"id":` + n + `,"node_id":"MDk6TWlsZXN0b25l` + n + `","number":` + n + `,` +
			`"state":"open","title":"Lighthouse ` + n + `","description":"`
		after = `","open_issues":4,"created_at":"2024-05-04T10:11:12Z","updated_at":"2024-05-05T10:11:12Z"}`
	case Hetzner:
		before = `{"id":` + n + `,"type":"snapshot","status":"available","name":"lighthouse-` + n + `","description":"`
		after = `","disk_size":10.5,"os_flavor":"debian","os_version":"12","architecture":"x86",` +
			`"created":"2024-05-04T10:11:12+00:00","deleted":"2024-05-05T10:11:12+00:00"}`
	}
	b = append(b, before...)
	for len(b)-start+len(after) < recordSize {
		const text = "a tower with a lamp, seen from the sea at dusk; "
		room := recordSize - (len(b) - start) - len(after)
		b = append(b, text[:min(len(text), room)]...)
	}
	return append(b, after...)
}

// Record is the response to a show of record id.
func Record(w Wire, id int) []byte {
	switch w {
	case Native:
		return append(record([]byte(`{"data":`), w, id), `,"status":200}`...)
	case Hetzner:
		return append(record([]byte(`{"image":`), w, id), '}')
	}
	return record(nil, w, id)
}

// Page is the page that begins with record first, out of total records, and the Link header for the format that has
// one.
func Page(w Wire, first, total int) (body []byte, link string) {
	last := min(first+PageSize-1, total)
	page, pages := (first-1)/PageSize+1, (total+PageSize-1)/PageSize
	b := make([]byte, 0, (recordSize+1)*PageSize+1024)
	switch w {
	case Native, OpenAI:
		b = append(b, `{"data":[`...)
	case Hetzner:
		b = append(b, `{"images":[`...)
	case GitHub:
		b = append(b, '[')
	}
	for id := first; id <= last; id++ {
		if id > first {
			b = append(b, ',')
		}
		b = record(b, w, id)
	}
	b = append(b, ']')
	switch w {
	case Native:
		const at = "http://localhost/tenant/api/v1/images"
		next := "null"
		if page < pages {
			next = fmt.Sprintf(`"%s?page=%d"`, at, page+1)
		}
		b = fmt.Appendf(b, `,"links":{"first":"%s?page=1","last":"%s?page=%d","prev":null,"next":%s}`,
			at, at, pages, next)
		b = fmt.Appendf(b, `,"meta":{"current_page":%d,"from":%d,"last_page":%d,`, page, first, pages)
		b = fmt.Appendf(b, `"path":"%s","per_page":%d,"to":%d,"total":%d}}`, at, PageSize, last, total)
	case OpenAI:
		b = fmt.Appendf(b, `,"object":"list","first_id":"batch_%d","last_id":"batch_%d","has_more":%t}`,
			first, last, page < pages)
	case Hetzner:
		next := "null"
		if page < pages {
			next = strconv.Itoa(page + 1)
		}
		b = fmt.Appendf(b, `,"meta":{"pagination":{"page":%d,"per_page":%d,"previous_page":null,`, page, PageSize)
		b = fmt.Appendf(b, `"next_page":%s,"last_page":%d,"total_entries":%d}}}`, next, pages, total)
	case GitHub:
		if page < pages {
			const at = "http://localhost/repos/o/r/milestones"
			link = fmt.Sprintf(`<%s?page=%d&per_page=%d>; rel="next", <%s?page=%d&per_page=%d>; rel="last"`,
				at, page+1, PageSize, at, pages, PageSize)
		}
	}
	return b, link
}

// Created is the response to a create or an upload, which made record id.
func Created(w Wire, id int, upload bool) []byte {
	n := strconv.Itoa(id)
	switch {
	case w == Hetzner && !upload:
		return []byte(`{"ssh_key":{"id":` + n + `,"name":"key","fingerprint":"00:11","public_key":"ssh-ed25519 AAAA",` +
			`"labels":{},"created":"2024-05-04T10:11:12+00:00"}}`)
	case w == OpenAI && upload:
		return []byte(`{"text":"a tower with a lamp"}`)
	case w == GitHub && upload:
		return []byte(`{"id":` + n + `,"name":"audio.wav","state":"uploaded"}`)
	}
	return Record(w, id)
}

// Refusal is the body of an error as the format has it; of a 502 it is a proxy's page.
func Refusal(w Wire, status int) string {
	switch {
	case status == 502:
		return "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
	case w == OpenAI:
		return fmt.Sprintf(`{"error":{"message":"try again later","type":"server_error","param":null,"code":"%d"}}`,
			status)
	case w == Hetzner && status == 429:
		return `{"error":{"code":"rate_limit_exceeded","message":"limit of requests exceeded"}}`
	case w == Hetzner:
		return `{"error":{"code":"unavailable","message":"service unavailable"}}`
	case w == GitHub && status == 429:
		return `{"message":"You have exceeded a secondary rate limit.",` +
			`"documentation_url":"https://docs.example.com/rest/using-the-rest-api/` +
			`rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
	}
	return `{"message":"` + map[int]string{429: "too many attempts.", 503: "service unavailable"}[status] + `"}`
}
