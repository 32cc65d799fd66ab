package response

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// columns are the members of the records of each collection, in their order.
var columns = map[string]string{
	"images": "id name description style medium filter resolution quality result url favorite " +
		"created_at updated_at",
	"transcriptions": "id name description language result words favorite created_at updated_at",
}

// Record returns the JSON of a record, as deployments of the style send it.
func (w Writer) Record(c *service.Collection, r *service.Record) []byte {
	return phpJSON(w.record(c, r))
}

func (w Writer) record(c *service.Collection, r *service.Record) (sent object) {
	for _, m := range row(columns[c.Name], w.values(r)) {
		if w.Style.sends(m) {
			sent = append(sent, m)
		}
	}
	return sent
}

func (s Style) sends(m member) bool {
	if s.Sparse && m.value == nil {
		return false
	}
	switch m.name {
	case "description", "language":
		return s.Full
	case "style", "medium", "filter":
		return !s.Newer
	case "quality":
		return s.Newer
	case "url", "words", "created_at", "updated_at":
		return !s.Sparse
	}
	return true
}

// values returns the values of the members by name. A missing value is null.
func (w Writer) values(r *service.Record) map[string]any {
	result := r.Result()
	values := map[string]any{
		"id": id(r), "favorite": r.Favorite, "words": len(strings.Fields(result)),
		"created_at": timestamp(r.CreatedAt), "updated_at": timestamp(r.UpdatedAt),
	}
	if !r.Pending() && !w.Style.NullURLs {
		values["url"] = w.origin() + w.BasePath + service.PicturePath + url.PathEscape(r.ID) + service.PictureSuffix
	}
	for name, text := range r.Text {
		switch name {
		case "style", "medium", "filter":
			if w.Style.Spelled && text != "" {
				text = strings.ToUpper(text[:1]) + strings.ReplaceAll(text[1:], "_", " ")
			}
		case "result":
			text = result
		}
		if text != "" {
			values[name] = text
		}
	}
	return values
}

// id returns the ID of the record: a number if it is one.
func id(r *service.Record) any {
	if strings.Trim(r.ID, "0123456789") != "" || strings.HasPrefix(r.ID, "0") {
		return r.ID
	}
	return json.Number(r.ID)
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
