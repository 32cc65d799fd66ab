package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/aicontent/aicontent-go"
)

// pictureSource returns the address at which the gallery serves an image's picture, or "" if the service sent none.
// Pictures are often on another host. Since the gallery fetches them, that host learns nothing about the visitor, and
// the pages can forbid all foreign content. The signature keeps others from making the gallery fetch other addresses.
func (s *server) pictureSource(image aicontent.Image) string {
	if image.URL == "" {
		return ""
	}
	return "/picture-file?" + url.Values{"url": {image.URL}, "signature": {s.key.sign(image.URL)}}.Encode()
}

// recordingSource is pictureSource for a recording. The API promises no address of it, but a deployment may send one.
func (s *server) recordingSource(transcription *aicontent.Transcription) string {
	var record struct{ URL string }
	json.Unmarshal(transcription.Raw(), &record)
	return s.pictureSource(aicontent.Image{URL: record.URL})
}

// signingKey proves that the gallery has made an address, in this run.
type signingKey string

func (k signingKey) sign(text string) string {
	mac := hmac.New(sha256.New, []byte(k))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (k signingKey) signed(text, signature string) bool {
	return hmac.Equal([]byte(k.sign(text)), []byte(signature))
}

// pictureFile fetches a picture or a recording, without the API key, and passes it on.
func (s *server) pictureFile(w http.ResponseWriter, r *http.Request) {
	source := r.FormValue("url")
	if !s.key.signed(source, r.FormValue("signature")) {
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

// maxPicture limits the size of a picture or recording, in bytes.
const maxPicture = 64 << 20

var errNoPicture = errors.New("neither a picture nor a recording")

// pictureWriter passes on only what its first bytes prove to be a picture or recording: no SVG, which may contain
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
		family, _, _ := strings.Cut(kind, "/")
		if kind != "application/ogg" && !slices.Contains([]string{"image", "audio", "video"}, family) {
			return 0, errNoPicture
		}
		p.begun = true
		p.w.Header().Set("Content-Type", kind)
		p.w.Header().Set("Cache-Control", "private, max-age=86400")
	}
	return p.w.Write(data)
}

// publicTransport returns a transport that connects to public addresses only. The addresses of pictures come from the
// service, and must not lead into the gallery's own network.
func (s *server) publicTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		// Names have been resolved by now, and redirects followed.
		host, err := netip.ParseAddrPort(address)
		if err == nil && !s.reachable(host.Addr()) {
			err = fmt.Errorf("%s is not a public address: see the flag -private-pictures", host.Addr())
		}
		return err
	}}
	transport.DialContext = dialer.DialContext
	return transport
}

// reachable reports whether pictures may come from the address.
func (s *server) reachable(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	in := func(network netip.Prefix) bool { return network.Contains(addr) }
	public := addr.Is4() && addr.IsGlobalUnicast() && !addr.IsPrivate() || publicIPv6.Contains(addr)
	return public && !slices.ContainsFunc(notPublic, in) || slices.ContainsFunc(s.private, in)
}

var publicIPv6 = netip.MustParsePrefix("2000::/3")

// notPublic are further networks that are not public, or lead to such.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this host
	netip.MustParsePrefix("100.64.0.0/10"),    // shared by customers of a carrier; metadata of a cloud
	netip.MustParsePrefix("168.63.129.16/32"), // metadata of a cloud
	netip.MustParsePrefix("192.0.0.0/24"),     // protocols; metadata of a cloud
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved
	netip.MustParsePrefix("2001::/23"),        // protocols, with IPv4 in Teredo
	netip.MustParsePrefix("2002::/16"),        // IPv4 in 6to4
}
