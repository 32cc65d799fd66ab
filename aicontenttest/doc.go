// Package aicontenttest provides the AI content service in memory, for tests of programs that use the SDK.
// Tests run offline and in milliseconds, and can make anything go wrong.
//
//	func Illustrate(ctx context.Context, client *aicontent.Client, headline string) (string, error) {
//		image, err := client.Images.Store(ctx, aicontent.ImageStoreParams{
//			Name: headline, Description: headline, Resolution: aicontent.Resolution512x512,
//		})
//		if err != nil {
//			return "", err
//		}
//		return image.URL, nil
//	}
//
//	func TestIllustrateWaitsForItsTurn(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
//			srv.FaultN(2, aicontenttest.Status(429, "slow down").WithRetryAfter("30"))
//
//			url, err := Illustrate(t.Context(), srv.Client(), "A whale in the harbor")
//			if err != nil {
//				t.Fatal(err)
//			}
//			if url != srv.URL+"/pictures/1.png" {
//				t.Errorf("URL = %q", url)
//			}
//			if n := len(srv.Records()); n != 1 {
//				t.Errorf("%d images were created and billed", n)
//			}
//		})
//	}
//
// The SDK waits for a minute here. In a testing/synctest bubble, which needs [InMemoryNetwork], that takes no time.
// Otherwise the server listens on loopback. See examples/testing for such a program and its tests.
//
// # Realism
//
// The server parses real requests and keeps real records. Lists search, filter, sort and page; uploads are streamed
// and hashed. An image's URL serves anyone a PNG of the right size: hills that depend on its description and medium, in
// the colors of its style and filter. A transcription's result describes the file: format, duration, size and hash.
//
// By default the server responds like Laravel, on which the service is built:
//
//   - A search is SQL's LIKE: % and _ are wildcards, a backslash escapes, and the case of ASCII letters is
//     ignored. Sorting by name ignores it, too.
//   - Text is trimmed, empty text is null, and text that is not UTF-8 is a 500.
//   - Times are whole seconds. An update that changes nothing keeps updated_at.
//   - The envelope of a record or list says status 200, even if Store responds with 201. A per_page that was
//     sent comes back as a string.
//   - A request that does not accept JSON is redirected: to the login page if its key is wrong, to / if its
//     form is invalid.
//   - All API responses have X-RateLimit-Limit and X-RateLimit-Remaining. The limit is not enforced.
//
// It differs from Laravel in that array fields such as ids[] are ordinary names, and that a strict server responds to
// HEAD and OPTIONS with 405.
//
// # Strict servers
//
// A request that the API does not allow is refused and fails the test: see [Violation] and its rules, from an
// undocumented parameter to text that is not UTF-8. A wrong key, an unknown ID and a missing or overlong field are
// refused but are no violations: tests may want to see them.
//
// [Allow] accepts single names. [Lenient] accepts everything, as deployments do: unknown names are ignored, unknown
// orders and pages become the defaults, and JSON bodies and fields in the query count.
//
// # Personalities
//
// A [Personality] is a way in which deployments differ. Each of these options changes one thing. They can be combined,
// unless they contradict each other. [OnResponse] makes others, such as a deployment that responds with 409 instead of
// 422. [BooleanWords] is for stacks such as ASP.NET, which accept only true and false. [OtherAccount] adds an account
// with records of its own.
//
// A program that fails with [LateResult] assumes that a record is complete once it exists, with [LaggingList] that
// lists show it at once, and with [Rewritten] that texts come back as they were sent. It should fail with [SaysNo].
//
// # Faults
//
// [Server.Fault] and [Server.FaultN] queue a fault for the next requests, [Server.FaultOn] for the requests of an
// operation, [Server.FaultWhen] for requests that a function selects, and [Server.Chaos] draws faults at random from a
// seed. In the table, "acts" means that the service executes the request all the same. [Fault.Acting] and Fault.Acts
// change that.
//
//	fault                   what the client sees                  acts
//	Status                  any status, body and Retry-After      no
//	HTMLPage                an HTML page of a proxy or portal     no
//	RedirectTo              a redirect                            no
//	ActThenStatus           an HTML page of a proxy               yes
//	LateAct                 an HTML page of a proxy               later
//	RefuseConnection        a connection refused or reset         no
//	CloseBeforeRead         the end of the connection             no
//	CloseMidUpload          the same, in the middle of the body   no
//	LoseResponse            the same, after the whole request     yes
//	CloseMidResponse        half of the response                  yes
//	Stall                   nothing, from the given place on      from BeforeResponse on
//	Trickle                 the response byte by byte             yes
//	TruncatedJSON           half of the JSON                      yes
//	PartialContent          the same with status 206              yes
//	InvalidJSON             malformed JSON                        yes
//	OversizedResponse       a response of any length              yes
//	TakeOver                whatever the test writes              no
//
// Connections are closed (FIN), or reset with [Fault.WithReset]. [Fault.Early] responds before the body is read; with
// Place set to MidUpload, a fault with a status responds in mid-upload. [Server.RefuseConnections] counts connections
// instead of requests. [Server.CloseIdleConnections] closes the connections that clients keep alive. A Status with the
// header Connection: close sends a GOAWAY over HTTP/2. [SlowUpload], [Latency] and [LatencyOn] slow the server down,
// and a client may leave meanwhile: the service executes the requests that it has, unless [DropAbandoned] is given.
//
// Faults apply to downloads of pictures, too: TruncatedJSON sends half of one, and OversizedResponse appends to it.
//
// # What a response proves
//
// An error response need not mean that a create request did nothing: a proxy may send one while the service is still
// working on the request, or after it has acted. The doc of [aicontent.OutcomeOf] says which statuses prove something,
// and which only with JSON. Test your code with such proxies:
//
//	LateAct(503, time.Minute).WithRetryAfter("5")   Varnish, if the service is slower than its first_byte_timeout
//	LateAct(504, time.Minute)                       nginx, if the service is slower than its proxy_read_timeout
//	ActThenStatus(403)                              a firewall that refuses the service's response
//	Status(404, "default backend").Acting()         an ingress whose service has just ended
//	Status(403, `{"message":"Forbidden."}`)         the service itself: nothing was created
//
// # Requests and records
//
// [Server.Requests] returns each request, including picture downloads: what was received, whether it was executed, and
// whether the whole response was sent. [Server.Records] returns each record and the request that created it, so that
// tests can count. [Server.Violations] returns the parts of requests that the API does not allow.
//
// # Other servers
//
// [TestService] checks any deployment against the documented API, and [TestLedger] a ledger for package once. The
// command in cmd/aicontent-server serves curl, browsers and programs in other languages, whose tests get Requests and
// Records with [Inspect].
package aicontenttest
