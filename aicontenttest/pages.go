package aicontenttest

import (
	"net/http"
	"net/url"
	"strings"
)

// servePage answers what a browser may look at beside the API, without a key: the login page
// that redirects lead to, and the pictures. It reports whether the path is one of these.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, path string) bool {
	name, isPicture := strings.CutPrefix(path, picturePath)
	if path != loginPath && !isPicture || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if !isPicture {
		writePage(w, htmlAnswer(http.StatusOK, "Log in to use the service."))
		return true
	}
	id, err := url.PathUnescape(strings.TrimSuffix(name, pictureSuffix))
	image, ok := s.images.find(id)
	if err != nil || !ok || !strings.HasSuffix(name, pictureSuffix) {
		writePage(w, htmlAnswer(http.StatusNotFound, "There is no such picture."))
		return true
	}
	w.Header().Set("Content-Type", "image/png")
	// The client that has gone away is the only one not to get it.
	_ = drawPicture(w, image)
	return true
}

func writePage(w http.ResponseWriter, a *Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}
