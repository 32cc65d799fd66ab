package aicontenttest

import (
	"fmt"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
)

// A Personality is an [Option] for one difference between deployments. The empty one changes nothing. Of
// [SimplePaginator] and [CursorPaginator], the last one counts.
type Personality string

// The personalities. No known deployment has a personality with an asterisk.
//
// NewerValues has a quality instead of style, medium and filter. UniqueNames applies to Store and Update calls;
// [Server.AddImage] may still add a taken name, like another process between a client's search and its create request.
const (
	UnwrappedRecords    Personality = "unwrapped-records"     // records without envelope, lists with
	FullRecords         Personality = "full-records"          // description and language in records (Laravel models)*
	MissingMembers      Personality = "missing-members"       // no unset members, url, words and times
	NullURLs            Personality = "null-urls"             // url is null (disks without public URLs)
	PlainPaginator      Personality = "plain-paginator"       // next_page_url, total, … beside data (paginate)
	SimplePaginator     Personality = "simple-paginator"      // no total, no last page (simplePaginate)
	CursorPaginator     Personality = "cursor-paginator"      // cursors, not numbers; sorting by name skips equal names
	ForeignNextLinks    Personality = "foreign-next-links"    // links and picture URLs to an internal http host
	FilterlessNextLinks Personality = "filterless-next-links" // links without the filters of the list
	FieldsAsMessage     Personality = "fields-as-message"     // a 422 whose message is an object; the most frequent
	StoreResponds200    Personality = "store-responds-200"    // 200 for a Store call, not 201 (Laravel models)
	DeleteResponds204   Personality = "delete-responds-204"   // 204 without a body for a delete (Laravel noContent())
	LengthLimits        Personality = "length-limits"         // names up to 128, descriptions up to 2,048 characters
	NoChunkedUploads    Personality = "no-chunked-uploads"    // a chunked body is an empty form (PHP-FPM, Django)
	UniqueNames         Personality = "unique-names"          // taken names are refused, ignoring case*
	LateResult          Personality = "late-result"           // result, url and picture appear after 5 seconds*
	LaggingList         Personality = "lagging-list"          // lists show a record after 5 seconds*
	NewerValues         Personality = "newer-values"          // other resolutions, any language, pages of 100

	// Rewritten changes names, prompts and the spelling of settings, as sanitizers and prompt filters do. Records have
	// a description, to show it.*
	Rewritten Personality = "rewritten"

	// SaysNo refuses each Store, Update and Delete with status 200 and JSON other than a record, in turns, from
	// {"success":false,"message":"Insufficient credits"} to []. The response to a Delete always reports an error.
	SaysNo Personality = "says-no"
)

// delay is that of [LateResult] and [LaggingList].
const delay = 5 * time.Second

// personalities are all personalities, with their changes.
var personalities = []struct {
	name Personality
	set  func(*config)
}{
	{UnwrappedRecords, func(c *config) { c.style.BareRecords = true }},
	{FullRecords, func(c *config) { c.style.Full = true }},
	{MissingMembers, func(c *config) { c.style.Sparse = true }},
	{NullURLs, func(c *config) { c.style.NullURLs = true }},
	{PlainPaginator, func(c *config) { c.style.Flat = true }},
	{SimplePaginator, func(c *config) { c.style.Paging = response.Simple }},
	{CursorPaginator, func(c *config) { c.style.Paging = response.ByCursor }},
	{ForeignNextLinks, func(c *config) { c.style.Foreign = true }},
	{FilterlessNextLinks, func(c *config) { c.style.Filterless = true }},
	{FieldsAsMessage, func(c *config) { c.style.FieldsAsMessage = true }},
	{StoreResponds200, func(c *config) { c.style.Store200 = true }},
	{DeleteResponds204, func(c *config) { c.style.Delete204 = true }},
	{LengthLimits, func(c *config) { c.service.LengthLimits = true }},
	{NoChunkedUploads, func(c *config) { c.service.NoChunks = true }},
	{UniqueNames, func(c *config) { c.service.UniqueNames = true }},
	{LateResult, func(c *config) { c.service.ResultDelay = delay }},
	{LaggingList, func(c *config) { c.service.ListDelay = delay }},
	{Rewritten, func(c *config) { c.service.Rewrites, c.style.Spelled, c.style.Full = true, true, true }},
	{SaysNo, func(c *config) { c.service.SaysNo = true }},
	{NewerValues, func(c *config) { c.style.Newer, c.service.NewerValues = true, true }},
}

// Personalities returns all personalities.
func Personalities() []Personality {
	var names []Personality
	for _, p := range personalities {
		names = append(names, p.name)
	}
	return names
}

func (p Personality) apply(c *config) {
	if p == "" {
		return
	}
	for _, known := range personalities {
		if known.name == p {
			known.set(c)
			return
		}
	}
	c.fail(fmt.Errorf("unknown personality %q", string(p)))
}
