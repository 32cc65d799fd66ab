package main

import (
	"fmt"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// lines explain the personalities.
var lines = map[aicontenttest.Personality]string{
	aicontenttest.DataEnvelope:        "records and lists under data; the default",
	aicontenttest.BareRecords:         "records and lists without envelope",
	aicontenttest.UnwrappedRecords:    "records without envelope, lists with",
	aicontenttest.FullRecords:         "description and language in records",
	aicontenttest.MissingMembers:      "no unset or undocumented members; no url",
	aicontenttest.NullURLs:            "url is null",
	aicontenttest.PlainPaginator:      "next_page_url, total, … beside data",
	aicontenttest.SimplePaginator:     "no total, no last page",
	aicontenttest.CursorPaginator:     "cursors, not pages; sorting by name skips equal names",
	aicontenttest.LinkHeader:          "the next link in the Link header, too",
	aicontenttest.ForeignNextLinks:    "links and picture URLs to an internal host",
	aicontenttest.PlainHTTPNextLinks:  "the same with http instead of https",
	aicontenttest.FilterlessNextLinks: "links without the filters of the list",
	aicontenttest.StringIDs:           `IDs as strings: "7"`,
	aicontenttest.UUIDs:               "UUIDs as IDs",
	aicontenttest.NumericBooleans:     "favorite as 1 or 0",
	aicontenttest.QuotedNumbers:       "IDs and word counts as strings",
	aicontenttest.MessageOnly422:      "a 422 without fields",
	aicontenttest.FieldsAsMessage:     "a 422 whose message is an object; the most frequent",
	aicontenttest.LoginRedirect:       "a wrong key redirects to HTML, even for JSON clients",
	aicontenttest.StoreResponds200:    "200 instead of 201 for a new record",
	aicontenttest.DeleteResponds204:   "204 without a body for a delete",
	aicontenttest.AudioTypes:          "only mp3, mp4, mpeg, mpga, m4a, wav, webm accepted",
	aicontenttest.LengthLimits:        "names up to 128, descriptions up to 2,048 characters",
	aicontenttest.NoChunkedUploads:    "a chunked body arrives as an empty form",
	aicontenttest.UniqueNames:         "store and update refuse taken names, ignoring case",
	aicontenttest.LateResult:          "result and url are null until seconds after the response",
	aicontenttest.LaggingList:         "lists show a record only seconds after it was created",
	aicontenttest.Rewritten:           "marked names, cut prompts, HTML entities, other spellings",
	aicontenttest.SaysNo:              "changes are refused with status 200",
	aicontenttest.NewerValues:         "other resolutions, a quality, any language, pages of 100",
}

func explained() string {
	var b strings.Builder
	for _, p := range aicontenttest.Personalities() {
		fmt.Fprintf(&b, "  %-21s  %s\n", p, lines[p])
	}
	return b.String()
}
