package main

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// visitors limits what each visitor has the gallery hold in memory, and ask of the service.
type visitors struct {
	proxies []netip.Prefix // whose X-Forwarded-For tells visitors apart
	atOnce  int64          // requests of a visitor, and MiB of their forms
	burst   float64        // requests of a visitor at once and soon after, beyond perSecond

	mu    sync.Mutex
	known map[netip.Addr]*visitor
	swept time.Time
}

type visitor struct {
	busy  int64   // of atOnce
	spent float64 // of burst
	seen  time.Time
}

// A visitor may make perSecond requests in the long run. A page has some thirty, with its pictures. What asks more of
// the service counts more: a form that creates a record, and a page to which the gallery may have to walk.
const (
	perSecond = 50
	formCost  = 50
	pageCost  = 10
)

func newVisitors() *visitors {
	return &visitors{atOnce: 32, burst: 1000, known: make(map[netip.Addr]*visitor)}
}

// enter counts the request, unless its visitor has too many. Leave must be called when it ends.
func (v *visitors) enter(r *http.Request) (leave func(), ok bool) {
	weight, cost := int64(1), 1.0
	switch {
	case strings.HasPrefix(r.URL.Path, "/new-") && r.Method == http.MethodPost:
		cost = formCost
	case r.URL.Query().Has("page"):
		cost = pageCost
	case r.ContentLength < 0:
		weight += maxForm >> 20
	default:
		weight += min(r.ContentLength, maxForm) >> 20
	}
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep(now)
	address := v.address(r)
	one := v.known[address]
	if one == nil {
		one = &visitor{seen: now}
		v.known[address] = one
	}
	one.spent = max(0, one.spent-perSecond*now.Sub(one.seen).Seconds())
	one.seen = now
	if one.busy+weight > v.atOnce || one.spent+cost > v.burst {
		return nil, false
	}
	one.busy += weight
	one.spent += cost
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		one.busy -= weight
	}, true
}

// sweep forgets, each minute, who has asked nothing for so long that nothing counts any more.
func (v *visitors) sweep(now time.Time) {
	if now.Sub(v.swept) < time.Minute {
		return
	}
	v.swept = now
	for address, one := range v.known {
		if one.busy == 0 && now.Sub(one.seen) > time.Minute {
			delete(v.known, address)
		}
	}
}

// address returns whom the request counts for: its address, or its network if there may be many addresses in it.
func (v *visitors) address(r *http.Request) netip.Addr {
	address := parseAddress(r.RemoteAddr)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(forwarded) - 1; i >= 0 && v.isProxy(address); i-- {
		behind := parseAddress(strings.TrimSpace(forwarded[i]))
		if !behind.IsValid() {
			break
		}
		address = behind
	}
	if address.Is6() {
		network, _ := address.WithZone("").Prefix(64)
		return network.Addr()
	}
	return address
}

func (v *visitors) isProxy(address netip.Addr) bool {
	return slices.ContainsFunc(v.proxies, func(network netip.Prefix) bool { return network.Contains(address) })
}

// parseAddress parses an address with or without a port. The zero Addr stands for all others.
func parseAddress(text string) netip.Addr {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	address, _ := netip.ParseAddr(text)
	return address.Unmap()
}
