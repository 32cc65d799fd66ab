package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"code.dny.dev/ssrf"
	"github.com/aicontent/aicontent-go"
)

// pictureSource returns the address at which the gallery serves an image's picture, or "" if the service sent none.
// Pictures are often on another host. Since the gallery fetches them, that host learns nothing about the visitor, and
// the pages can forbid all foreign content. The signature keeps others from making the gallery fetch other addresses.
func (s *server) pictureSource(image aicontent.Image) string {
	if image.URL == "" {
		return ""
	}
	return "/picture-file?" + url.Values{"url": {image.URL}, "signature": {s.sign(image.URL)}}.Encode()
}

// sign proves that the gallery has made an address, in this run.
func (s *server) sign(address string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(address))
	return hex.EncodeToString(mac.Sum(nil))
}

// pictureFile fetches a picture, without the API key, and passes it on.
func (s *server) pictureFile(w http.ResponseWriter, r *http.Request) {
	source := r.FormValue("url")
	if !hmac.Equal([]byte(s.sign(source)), []byte(r.FormValue("signature"))) {
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
	if r.Context().Err() == nil { // otherwise the visitor has left
		s.log.Warn("picture", "error", err)
	}
	if out.begun {
		// Otherwise the browser would take a part of the picture for the whole.
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "The picture cannot be fetched.", http.StatusBadGateway)
}

// maxPicture limits the size of a picture, in bytes.
const maxPicture = 64 << 20

var errNoPicture = errors.New("it is no picture")

// pictureWriter passes on only what its first bytes prove to be a picture: no SVG, which may contain
// scripts, and no documents from hosts that only the gallery can reach.
type pictureWriter struct {
	w     http.ResponseWriter
	begun bool
	left  int64
}

func (p *pictureWriter) Write(data []byte) (int, error) {
	if p.left -= int64(len(data)); p.left < 0 {
		return 0, fmt.Errorf("it is larger than %d bytes", maxPicture)
	}
	if !p.begun {
		kind := http.DetectContentType(data)
		if !strings.HasPrefix(kind, "image/") {
			return 0, errNoPicture
		}
		p.begun = true
		p.w.Header().Set("Content-Type", kind)
		p.w.Header().Set("Cache-Control", "private, max-age=86400")
	}
	return p.w.Write(data)
}

// publicTransport returns a transport that connects to public addresses and the private networks only. The addresses of
// pictures come from the service, and must not lead into the gallery's own network. Each connection is checked: names
// have been resolved by then, and redirects followed.
func publicTransport(private []netip.Prefix) *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Control: guardian(private).Safe}).DialContext
	return transport
}

func guardian(private []netip.Prefix) *ssrf.Guardian {
	metadata := netip.MustParsePrefix("168.63.129.16/32") // of a cloud, at a public address
	return ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(metadata),
		ssrf.WithAllowedV4Prefixes(private...), ssrf.WithAllowedV6Prefixes(private...))
}
