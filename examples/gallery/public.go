package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
)

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
	public := addr.IsGlobalUnicast() && !addr.IsPrivate() && !slices.ContainsFunc(notPublic, in)
	return public || slices.ContainsFunc(s.private, in)
}

// notPublic are further networks that are not public, or lead to such.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this host
	netip.MustParsePrefix("100.64.0.0/10"),    // shared by customers of a carrier; metadata of a cloud
	netip.MustParsePrefix("168.63.129.16/32"), // metadata of a cloud
	netip.MustParsePrefix("192.0.0.0/24"),     // protocols; metadata of a cloud
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved
	netip.MustParsePrefix("::/96"),            // IPv4, as once written
	netip.MustParsePrefix("64:ff9b::/32"),     // IPv4 behind NAT64
	netip.MustParsePrefix("2001::/23"),        // protocols, with IPv4 in Teredo
	netip.MustParsePrefix("2002::/16"),        // IPv4 in 6to4
	netip.MustParsePrefix("fec0::/10"),        // site-local
}
