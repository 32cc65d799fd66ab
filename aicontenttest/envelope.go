package aicontenttest

import (
	"net/url"
	"strings"
)

// id is sent as a number where it is one.
func (s *Server) id(r *record) any {
	if s.shape.stringIDs || strings.Trim(r.id, "0123456789") != "" || strings.HasPrefix(r.id, "0") {
		return r.id
	}
	return digits(r.id)
}

// recordMembers are the record as this deployment sends it.
func (s *Server) recordMembers(c *collection, r *record) object {
	o := object{{"id", s.id(r)}}
	documented := func(names ...string) {
		for _, name := range names {
			v := *r.value(name)
			switch {
			case v != "":
				o = append(o, member{name, v})
			case !s.shape.sparse:
				o = append(o, member{name, nil})
			}
		}
	}
	extra := func(name string, v any) {
		if !s.shape.sparse {
			o = append(o, member{name, v})
		}
	}
	documented("name")
	if s.shape.full {
		documented("description")
	}
	if c.name == "images" {
		documented("style", "medium", "filter", "resolution")
		if s.shape.newer {
			documented("quality")
		}
		extra("result", pictureName(r))
		extra("url", s.pictureURL(r))
	} else {
		if s.shape.full {
			documented("language")
		}
		documented("result")
		extra("words", len(strings.Fields(r.result)))
	}
	o = append(o, member{"favorite", r.favorite})
	extra("created_at", r.createdAt)
	extra("updated_at", r.updatedAt)
	return o
}

// recordBody is the answer to show, store and update.
func (s *Server) recordBody(c *collection, r *record, status int) any {
	o := s.recordMembers(c, r)
	if s.shape.bare {
		return o
	}
	return object{{"data", o}, {"status", status}}
}

// pictureName is the file name that stands under result.
func pictureName(r *record) string { return r.id + pictureSuffix }

func (s *Server) pictureURL(r *record) string {
	return s.URL + picturePath + url.PathEscape(pictureName(r))
}
