package main

import (
	"fmt"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// lines explain the personalities.
var lines = map[aicontenttest.Personality]string{
	aicontenttest.DataEnvelope:        "records and lists under data (the default)",
	aicontenttest.BareRecords:         "records and lists without data around them",
	aicontenttest.UnwrappedRecords:    "records without data around them, lists with it",
	aicontenttest.FullRecords:         "description and language in records",
	aicontenttest.MissingMembers:      "no members that are unset or undocumented; no url",
	aicontenttest.NullURLs:            "no url of pictures: it is null",
	aicontenttest.PlainPaginator:      "next_page_url, total and so on beside data, no links and meta",
	aicontenttest.SimplePaginator:     "page numbers without total and last page",
	aicontenttest.CursorPaginator:     "cursors instead of page numbers",
	aicontenttest.LinkHeader:          "the next page in the Link header, too",
	aicontenttest.ForeignNextLinks:    "links and picture URLs name an internal host",
	aicontenttest.PlainHTTPNextLinks:  "links with http instead of https",
	aicontenttest.FilterlessNextLinks: "links without the filters of the list",
	aicontenttest.StringIDs:           `IDs as strings: "7"`,
	aicontenttest.UUIDs:               "UUIDs instead of numbers as IDs",
	aicontenttest.NumericBooleans:     "favorite as 1 or 0",
	aicontenttest.QuotedNumbers:       "IDs and counts of words as strings",
	aicontenttest.MessageOnly422:      "a refused form gets a message without the fields",
	aicontenttest.FieldsAsMessage:     "a refused form gets an object of fields as message",
	aicontenttest.LoginRedirect:       "a wrong key is redirected to an HTML page",
	aicontenttest.StoreResponds200:    "200 instead of 201 for a new record",
	aicontenttest.DeleteResponds204:   "204 without a body for a delete",
	aicontenttest.AudioTypes:          "only mp3, mp4, mpeg, mpga, m4a, wav and webm are taken",
	aicontenttest.LengthLimits:        "names of up to 128, descriptions of up to 2,048 characters",
	aicontenttest.NoChunkedUploads:    "a chunked body arrives as an empty form",
	aicontenttest.UniqueNames:         "a name that another record has is refused",
	aicontenttest.NewerValues:         "other resolutions, a quality, any language, pages of 100",
}

func explained() string {
	var b strings.Builder
	for _, p := range aicontenttest.Personalities() {
		fmt.Fprintf(&b, "  %-21s  %s\n", p, lines[p])
	}
	return b.String()
}
