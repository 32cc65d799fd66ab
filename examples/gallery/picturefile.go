package main

import (
	"bufio"
	"errors"
	"net/http"
	"net/url"

	"github.com/aicontent/aicontent-go"
)

// pictureSource returns the address at which the gallery serves an image's picture, or "" if the service sent none.
// Pictures are often on another host. Since the gallery fetches them, that host learns nothing about the visitor, and
// the pages can forbid all foreign content. The signature keeps others from making the gallery fetch other addresses.
func (s *server) pictureSource(image aicontent.Image) string {
	if image.URL == "" {
		return ""
	}
	return "/picture-file?" + url.Values{"url": {image.URL}, "signature": {s.key.sign("picture", image.URL)}}.Encode()
}

// pictureFile fetches a picture, without the API key, and passes it on.
func (s *server) pictureFile(w http.ResponseWriter, r *http.Request) {
	source := r.FormValue("url")
	if !s.key.signed("picture", source, r.FormValue("signature")) {
		http.Error(w, "This address was not made by the gallery.", http.StatusForbidden)
		return
	}
	out := &pictureWriter{w: w, left: maxPicture}
	// The type is detected from the first write, which must not be too short.
	buffer := bufio.NewWriter(out)
	_, err := s.fetcher.Images.Download(r.Context(), &aicontent.Image{URL: source}, buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil && !out.begun {
		err = errNoPicture
	}
	if err == nil {
		return
	}
	s.log.Warn("picture", "error", err)
	if out.begun {
		// Otherwise the browser would take a part of the picture for the whole.
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "The picture cannot be fetched.", http.StatusBadGateway)
}

// maxPicture limits the size of a picture, in bytes.
const maxPicture = 64 << 20

var (
	errNoPicture       = errors.New("not a PNG, JPEG, WebP or GIF file")
	errPictureTooLarge = errors.New("the picture is too large")
)

// pictureWriter passes on only what its first bytes prove to be a picture: no SVG, which may contain scripts, and no
// documents from hosts that only the gallery can reach.
type pictureWriter struct {
	w     http.ResponseWriter
	begun bool
	left  int64
}

func (p *pictureWriter) Write(data []byte) (int, error) {
	if p.left -= int64(len(data)); p.left < 0 {
		return 0, errPictureTooLarge
	}
	if !p.begun {
		kind := http.DetectContentType(data)
		switch kind {
		case "image/png", "image/jpeg", "image/webp", "image/gif":
		default:
			return 0, errNoPicture
		}
		p.begun = true
		p.w.Header().Set("Content-Type", kind)
		p.w.Header().Set("Cache-Control", "private, max-age=86400")
	}
	return p.w.Write(data)
}
