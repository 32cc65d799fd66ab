package aicontenttest

import (
	"net/http"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/response"
)

// servePage serves the home page and the login page, without a key. It reports whether the path is one of these.
func servePage(w http.ResponseWriter, r *http.Request, path string) bool {
	text := map[string]string{
		response.LoginPath: "Log in to use the service.", response.HomePath: "An AI content service.",
	}[path]
	if text == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	page := response.HTML(http.StatusOK, text)
	for name, values := range page.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(page.Status)
	_, _ = w.Write(page.Body)
	return true
}
