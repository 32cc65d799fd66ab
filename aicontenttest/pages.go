package aicontenttest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/answer"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/picture"
)

// servePage serves the pages beside the API, which need no key: the home page, the login page and the
// pictures. It reports whether the path is one of them.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, path string) bool {
	name, isPicture := strings.CutPrefix(path, answer.PicturePath)
	page := map[string]string{answer.LoginPath: "Log in to use the service.", answer.HomePath: "An AI content service."}[path]
	if page == "" && !isPicture || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if !isPicture {
		writePage(w, answer.HTML(http.StatusOK, page))
		return true
	}
	id, err := url.PathUnescape(strings.TrimSuffix(name, answer.PictureSuffix))
	image, ok := s.service.Images.Find(id)
	if err != nil || !ok || !strings.HasSuffix(name, answer.PictureSuffix) {
		writePage(w, answer.HTML(http.StatusNotFound, "There is no picture with this name."))
		return true
	}
	w.Header().Set("Content-Type", "image/png")
	_ = picture.Draw(w, picture.Params{
		Description: image.Description, Resolution: image.Resolution,
		Style: image.Style, Medium: image.Medium, Filter: image.Filter,
	})
	return true
}

func writePage(w http.ResponseWriter, a answer.Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}
