package response

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// id is a number where the id is one.
func (w Writer) id(r *service.Record) any {
	if w.Style.StringIDs || strings.Trim(r.ID, "0123456789") != "" || strings.HasPrefix(r.ID, "0") {
		return r.ID
	}
	return w.number(r.ID)
}

// number is the value of a column.
func (w Writer) number(n string) any {
	if w.Style.QuotedNumbers {
		return n
	}
	return json.Number(n)
}

func (w Writer) boolean(b bool) any {
	switch {
	case !w.Style.NumericBooleans:
		return b
	case b:
		return w.number("1")
	}
	return w.number("0")
}

// text is a text of a record as it is sent.
func (w Writer) text(r *service.Record, name string) string {
	value := r.Text[name]
	switch name {
	case "result":
		if r.Pending() {
			return ""
		}
	case "style", "medium", "filter":
		if w.Style.Spelled && value != "" {
			return strings.ToUpper(value[:1]) + strings.ReplaceAll(value[1:], "_", " ")
		}
	}
	return value
}

// members are the members of a record.
func (w Writer) members(c *service.Collection, r *service.Record) object {
	o := object{{"id", w.id(r)}}
	documented := func(names ...string) {
		for _, name := range names {
			v := w.text(r, name)
			switch {
			case v != "":
				o = append(o, member{name, v})
			case !w.Style.Sparse:
				o = append(o, member{name, nil})
			}
		}
	}
	extra := func(name string, v any) {
		if !w.Style.Sparse {
			o = append(o, member{name, v})
		}
	}
	documented("name")
	if w.Style.Full {
		documented("description")
	}
	if c.Name == "images" {
		if w.Style.Newer {
			documented("resolution", "quality")
		} else {
			documented("style", "medium", "filter", "resolution")
		}
		extra("result", w.pictureResult(r))
		extra("url", w.pictureURL(r))
	} else {
		if w.Style.Full {
			documented("language")
		}
		documented("result")
		extra("words", w.number(strconv.Itoa(len(strings.Fields(w.text(r, "result"))))))
	}
	o = append(o, member{"favorite", w.boolean(r.Favorite)})
	extra("created_at", r.CreatedAt)
	extra("updated_at", r.UpdatedAt)
	return o
}
