package service

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// APIPath is the prefix of all API paths.
const APIPath = "/api/v1"

// The path of a picture is made of these and the image's ID.
const (
	PicturePath   = "/pictures/"
	PictureSuffix = ".png"
)

// A Route is where a path leads. Methods is empty where it leads nowhere.
type Route struct {
	Collection *Collection
	ID         string
	Methods    []string
	Picture    bool // of the image with the ID, which is empty if the path is no picture's
}

// Route finds the route of a path below the base path. The path is escaped, so that an escaped slash stays
// part of an id.
func (s *Service) Route(escaped string) Route {
	if name, ok := strings.CutPrefix(escaped, PicturePath); ok {
		return s.pictureRoute(name)
	}
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
		methods := []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete}
		return Route{Collection: c, ID: id, Methods: methods}
	}
	return Route{}
}

func (s *Service) pictureRoute(name string) Route {
	rt := Route{Collection: s.Images, Methods: []string{http.MethodGet, http.MethodHead}, Picture: true}
	if escapedID, ok := strings.CutSuffix(name, PictureSuffix); ok {
		rt.ID, _ = url.PathUnescape(escapedID)
	}
	return rt
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
	switch {
	case rt.Picture:
		verb = "download"
	case method == http.MethodGet && rt.ID == "":
		verb = "list"
	case method == http.MethodGet:
		verb = "show"
	}
	return rt.Collection.Name + "." + verb
}
