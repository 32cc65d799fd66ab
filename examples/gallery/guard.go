package main

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses requests from other sites and sets the headers that keep foreign content out of the pages. It also
// refuses unknown host names: any site can point its name at this address, and would then count as the same origin.
func (s *server) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, problem{
			Status: http.StatusForbidden, Title: "Another site tried to use the gallery",
			Advice: "Nothing was done. Open the gallery itself and press the button there.",
		})
	}))
	next = crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'self'; "+
			"script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		// With no-referrer, browsers would send forms with the origin "null".
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		defer keepMoving(w, r)()
		if !s.knownHost(r.Host) {
			http.Error(w, "The gallery does not go by this name: see its flag -host.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) knownHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	_, err = netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") || s.host != "" && strings.EqualFold(host, s.host)
}
