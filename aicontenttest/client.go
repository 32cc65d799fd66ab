package aicontenttest

import (
	"fmt"

	aicontent "github.com/aicontent/aicontent-go"
)

// Client returns a client of the server, made with the options after the kit's own, so that
// they win. Over plain loopback connections it uses the transport that the SDK ships. A client
// that cannot be made fails the test, or panics under [Start].
func (s *Server) Client(opts ...aicontent.Option) *aicontent.Client {
	var own []aicontent.Option
	if s.inMemory || s.tls {
		own = append(own, aicontent.WithHTTPClient(s.HTTPClient()))
	}
	if s.booleanWords {
		own = append(own, aicontent.WithBooleanWords())
	}
	c, err := aicontent.NewClient(s.URL, s.APIKey, append(own, opts...)...)
	if err != nil {
		text := fmt.Sprintf("aicontenttest: Client: %v", err)
		if s.t == nil {
			panic(text)
		}
		s.t.Helper()
		s.t.Fatalf("%s", text)
	}
	s.network.atClose(c.CloseIdleConnections)
	return c
}
