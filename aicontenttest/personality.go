package aicontenttest

import (
	"fmt"
	"slices"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
)

// A Personality is an [Option]: one way in which deployments of the service differ. An error names two that contradict
// each other.
type Personality string

// The personalities. The package doc has a table of them.
const (
	DataEnvelope        Personality = "data-envelope"
	BareRecords         Personality = "bare-records"
	FullRecords         Personality = "full-records"
	MissingMembers      Personality = "missing-members"
	PlainPaginator      Personality = "plain-paginator"
	SimplePaginator     Personality = "simple-paginator"
	CursorPaginator     Personality = "cursor-paginator"
	LinkHeader          Personality = "link-header"
	ForeignNextLinks    Personality = "foreign-next-links"
	PlainHTTPNextLinks  Personality = "plain-http-next-links"
	FilterlessNextLinks Personality = "filterless-next-links"
	StringIDs           Personality = "string-ids"
	UUIDs               Personality = "uuids"
	NumericBooleans     Personality = "numeric-booleans"
	QuotedNumbers       Personality = "quoted-numbers"
	MessageOnly422      Personality = "message-only-422"
	LoginRedirect       Personality = "login-redirect"
	StoreResponds200    Personality = "store-responds-200"
	DeleteResponds204   Personality = "delete-responds-204"
	NewerValues         Personality = "newer-values"
	UnwrappedRecords    Personality = "unwrapped-records"
	NullURLs            Personality = "null-urls"
	FieldsAsMessage     Personality = "fields-as-message"
	AudioTypes          Personality = "audio-types"
	LengthLimits        Personality = "length-limits"
	NoChunkedUploads    Personality = "no-chunked-uploads"
	UniqueNames         Personality = "unique-names"
	LateResult          Personality = "late-result"
	LaggingList         Personality = "lagging-list"
	Rewritten           Personality = "rewritten"
	SaysNo              Personality = "says-no"
)

// LateResultDelay is how long after a record was created its result and url are null with [LateResult], and its picture
// is not found. LaggingListDelay is how long no list shows it with [LaggingList].
const (
	LateResultDelay  = 5 * time.Second
	LaggingListDelay = 5 * time.Second
)

// personalities are all personalities, the default first, with what they change.
var personalities = []struct {
	name Personality
	set  func(*config)
}{
	{DataEnvelope, func(*config) {}},
	{BareRecords, func(c *config) { c.style.BareRecords, c.style.BareLists = true, true }},
	{UnwrappedRecords, func(c *config) { c.style.BareRecords = true }},
	{FullRecords, func(c *config) { c.style.Full = true }},
	{MissingMembers, func(c *config) { c.style.Sparse = true }},
	{NullURLs, func(c *config) { c.style.NullURLs = true }},
	{PlainPaginator, func(c *config) { c.style.Flat = true }},
	{SimplePaginator, func(c *config) { c.style.Paging = response.Simple }},
	{CursorPaginator, func(c *config) { c.style.Paging, c.service.Cursors = response.ByCursor, true }},
	{LinkHeader, func(c *config) { c.style.LinkHeader = true }},
	{ForeignNextLinks, func(c *config) { c.style.Foreign = true }},
	{PlainHTTPNextLinks, func(c *config) { c.style.PlainHTTP = true }},
	{FilterlessNextLinks, func(c *config) { c.style.Filterless = true }},
	{StringIDs, func(c *config) { c.style.StringIDs = true }},
	{UUIDs, func(c *config) { c.service.UUIDs = true }},
	{NumericBooleans, func(c *config) { c.style.NumericBooleans = true }},
	{QuotedNumbers, func(c *config) { c.style.QuotedNumbers = true }},
	{MessageOnly422, func(c *config) { c.style.MessageOnly = true }},
	{FieldsAsMessage, func(c *config) { c.style.FieldsAsMessage = true }},
	{LoginRedirect, func(c *config) { c.style.LoginRedirect = true }},
	{StoreResponds200, func(c *config) { c.style.Store200 = true }},
	{DeleteResponds204, func(c *config) { c.style.Delete204 = true }},
	{AudioTypes, func(c *config) { c.service.AudioTypes = true }},
	{LengthLimits, func(c *config) { c.service.LengthLimits = true }},
	{NoChunkedUploads, func(c *config) { c.service.NoChunks = true }},
	{UniqueNames, func(c *config) { c.service.UniqueNames = true }},
	{LateResult, func(c *config) { c.service.ResultDelay = LateResultDelay }},
	{LaggingList, func(c *config) { c.service.ListDelay = LaggingListDelay }},
	{Rewritten, func(c *config) { c.service.Rewrites, c.style.Spelled, c.style.Full = true, true, true }},
	{SaysNo, func(c *config) { c.service.SaysNo = true }},
	{NewerValues, func(c *config) { c.style.Newer, c.service.NewerValues = true, true }},
}

// exclusive are the personalities that concern the same thing.
var exclusive = [][]Personality{
	{DataEnvelope, BareRecords, UnwrappedRecords}, // the envelope of a record
	{DataEnvelope, BareRecords, PlainPaginator},   // the envelope of a list
	{SimplePaginator, CursorPaginator},
	{MissingMembers, NullURLs},
	{MessageOnly422, FieldsAsMessage},
}

// Personalities returns all personalities, the default first.
func Personalities() []Personality {
	var names []Personality
	for _, p := range personalities {
		names = append(names, p.name)
	}
	return names
}

func (p Personality) apply(c *config) {
	for _, known := range personalities {
		if known.name == p {
			known.set(c)
			c.given = append(c.given, p)
			return
		}
	}
	c.fail(fmt.Errorf("unknown personality %q", string(p)))
}

// checkPersonalities refuses two that contradict each other.
func (c *config) checkPersonalities() {
	for _, group := range exclusive {
		var first Personality
		for _, p := range c.given {
			switch {
			case !slices.Contains(group, p) || p == first:
			case first != "":
				c.fail(fmt.Errorf("the personalities %s and %s are mutually exclusive", first, p))
			default:
				first = p
			}
		}
	}
}
