package service

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// APIPath is the prefix of all API paths.
const APIPath = "/api/v1"

// A Route is where a path leads. Methods is empty where it leads nowhere.
type Route struct {
	Collection *Collection
	ID         string
	Methods    []string
}

// Route finds the route of a path below the base path. The path is escaped, so that an escaped slash stays
// part of an id.
func (s *Service) Route(escaped string) Route {
	rest, ok := strings.CutPrefix(escaped, APIPath+"/")
	if !ok {
		return Route{}
	}
	name, escapedID, one := strings.Cut(rest, "/")
	for _, c := range []*Collection{s.Images, s.Transcriptions} {
		if c.Name != name {
			continue
		}
		if !one {
			return Route{Collection: c, Methods: []string{http.MethodGet, http.MethodPost}}
		}
		id, err := url.PathUnescape(escapedID)
		if err != nil || id == "" || strings.Contains(escapedID, "/") {
			return Route{}
		}
		return Route{c, id, []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}}
	}
	return Route{}
}

// Operation is the operation of a method at the route, such as images.store; empty where there is none.
func (rt Route) Operation(method string) string {
	if !slices.Contains(rt.Methods, method) {
		return ""
	}
	verb := map[string]string{
		http.MethodPost: "store", http.MethodPut: "update",
		http.MethodPatch: "update", http.MethodDelete: "delete",
	}[method]
	if method == http.MethodGet {
		verb = "list"
		if rt.ID != "" {
			verb = "show"
		}
	}
	return rt.Collection.Name + "." + verb
}
