package response

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// The members of a list. A plain paginator has all of them beside the records, its links under other names.
var (
	links      = "first last prev next"
	plainLinks = map[Paging]string{
		Counted:  "first_page_url last_page_url prev_page_url next_page_url ",
		Simple:   "first_page_url prev_page_url next_page_url ",
		ByCursor: "prev_page_url next_page_url ",
	}
	meta = map[Paging]string{
		Counted:  "path per_page current_page from to last_page total",
		Simple:   "path per_page current_page from to",
		ByCursor: "path per_page prev_cursor next_cursor",
	}
)

// list returns a page; query is that of its request.
func (w Writer) list(c *service.Collection, p *service.Page, query url.Values) Response {
	values := w.page(c, p, query)
	records := make([]object, len(p.Records))
	for i, r := range p.Records {
		records[i] = w.record(c, r)
	}
	paging := w.Style.Paging
	if w.Style.Flat {
		for _, m := range row(links, values) {
			values[m.name+"_page_url"] = m.value
		}
		members := row(plainLinks[paging]+meta[paging], values)
		return asJSON(http.StatusOK, append(object{{"data", records}}, members...))
	}
	return asJSON(http.StatusOK, object{
		{"data", records}, {"links", row(links, values)}, {"meta", row(meta[paging], values)},
		{"status", http.StatusOK},
	})
}

// page returns the values of the members by name. A missing value is null.
func (w Writer) page(c *service.Collection, p *service.Page, query url.Values) map[string]any {
	path := w.origin() + w.BasePath + service.APIPath + "/" + c.Name
	link := func(parameter, value string) string {
		linked := url.Values{}
		if !w.Style.Filterless {
			linked = maps.Clone(query)
		}
		linked.Set(parameter, value)
		return path + "?" + linked.Encode()
	}
	values := map[string]any{"path": path, "per_page": p.Query.PerPage}
	if p.Query.SizeGiven { // Laravel repeats it as it came
		values["per_page"] = strconv.Itoa(p.Query.PerPage)
	}
	if w.Style.Paging == ByCursor {
		if next := p.NextCursor(); next != "" {
			values["next"], values["next_cursor"] = link("cursor", next), next
		}
		return values
	}
	number := func(n int) string { return link("page", strconv.Itoa(n)) }
	current := p.Query.Page
	values["current_page"], values["first"] = current, number(1)
	if n := len(p.Records); n > 0 {
		values["from"], values["to"] = p.First+1, p.First+n
	}
	if current > 1 {
		values["prev"] = number(current - 1)
	}
	if p.HasNext() {
		values["next"] = number(current + 1)
	}
	if w.Style.Paging == Counted {
		values["last"], values["last_page"], values["total"] = number(p.Last()), p.Last(), p.Total
	}
	return values
}
