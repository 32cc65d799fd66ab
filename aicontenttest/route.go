package aicontenttest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	apiPath       = "/api/v1"
	loginPath     = "/login"
	picturePath   = "/pictures/"
	pictureSuffix = ".png"
)

// A route is where a path leads. The methods are empty where it leads nowhere.
type route struct {
	collection *collection
	id         string
	methods    []string
}

// routeOf reads the path as it was sent, so that an escaped slash stays part of an id.
func (s *Server) routeOf(escaped string) route {
	rest, ok := strings.CutPrefix(escaped, s.basePath+apiPath+"/")
	if !ok {
		return route{}
	}
	name, escapedID, one := strings.Cut(rest, "/")
	for _, c := range []*collection{s.images, s.transcriptions} {
		if c.name != name {
			continue
		}
		if !one {
			return route{collection: c, methods: []string{http.MethodGet, http.MethodPost}}
		}
		id, err := url.PathUnescape(escapedID)
		if err != nil || id == "" || strings.Contains(escapedID, "/") {
			return route{}
		}
		return route{c, id, []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}}
	}
	return route{}
}

// operation names what the method does at the route, such as images.store; it is empty where
// the interface offers nothing.
func (rt route) operation(method string) string {
	if !slices.Contains(rt.methods, method) {
		return ""
	}
	verb := map[string]string{
		http.MethodPost: "store", http.MethodPut: "update",
		http.MethodPatch: "update", http.MethodDelete: "delete",
	}[method]
	if method == http.MethodGet {
		verb = "list"
		if rt.id != "" {
			verb = "show"
		}
	}
	return rt.collection.name + "." + verb
}
