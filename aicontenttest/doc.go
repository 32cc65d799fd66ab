// Package aicontenttest runs the AI content service in memory. Use it to test programs that use the SDK: offline, in
// milliseconds, and with any failure.
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
//			if n := len(srv.Created()); n != 1 {
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
// and hashed. An image's URL serves anyone a PNG of the right size, drawn from its description and settings. A
// transcription's result describes the file: its size and hash.
//
// By default the server responds like Laravel, on which the service is built:
//
//   - A search is SQL's LIKE: % and _ are wildcards, a backslash escapes, and the case of ASCII letters is
//     ignored. Sorting by name ignores it, too.
//   - Text is trimmed, empty text is null, and invalid UTF-8 is a 500.
//   - Times are whole seconds. An update without changes keeps updated_at.
//   - The envelope of a record or list has status 200, even if Store responds with 201. A per_page comes back as a
//     string.
//
// Unlike Laravel, it treats array fields such as ids[] as ordinary names, responds to HEAD and OPTIONS with 405, and
// sends every error as JSON.
//
// # Strict servers
//
// A request that breaks a rule of the API is refused and fails the test: see [Server.Violations]. A wrong key, an
// unknown ID and a missing or overlong field are refused without a violation, because tests may send them on purpose. A
// queued fault that strikes no request fails the test, too, unless [UnusedFaults] permits that.
//
// [Allow] accepts single names. [Lenient] does not report violations, as deployments do not: it ignores unknown names,
// and uses the defaults for unknown orders and pages.
//
// # Personalities
//
// A [Personality] is one difference between deployments, and can be combined with others. With [OnResponse] you make
// more, such as a 409 instead of a 422. See also [BooleanWords].
//
// If a program fails with [LateResult], it relies on complete records; with [LaggingList], on lists without a lag; with
// [Rewritten], on unchanged texts. With [SaysNo], it is right to fail.
//
// # Faults
//
// [Server.Fault] and [Server.FaultN] queue a fault for the next requests, [Server.FaultOn] for an operation, and
// [Server.FaultWhen] for requests selected by a function. [Server.Chaos] draws faults at random. With a fault that
// acts, the service still executes the request; [Fault.Acting] and Fault.Acts change that.
//
//	fault                   seen by the client                    acts
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
//	TruncatedJSON           half of the JSON                      yes
//	InvalidJSON             malformed JSON                        yes
//	TakeOver                the bytes that the test writes        no
//
// Faults apply to downloads of pictures, too. Connections are closed (FIN), or reset with [Fault.WithReset].
// [Fault.Early] responds before the body is read; with Place set to MidUpload, a fault with a status responds in
// mid-upload. A Status with the header Connection: close sends a GOAWAY over HTTP/2. See also
// [Server.RefuseConnections], [Server.CloseIdleConnections], [SlowUpload], [Latency] and [DropAbandoned].
//
// # Proof in responses
//
// A create request with an error response may still create its record, because a proxy may respond for the service.
// [aicontent.OutcomeOf] documents the meaning of each status. Test your code with such proxies:
//
//	LateAct(503, time.Minute).WithRetryAfter("5")   Varnish, with a service slower than its first_byte_timeout
//	LateAct(504, time.Minute)                       nginx, with a service slower than its proxy_read_timeout
//	ActThenStatus(403)                              a firewall that refuses the service's response
//	Status(404, "default backend").Acting()         an ingress whose service has just ended
//	Status(403, `{"message":"Forbidden."}`)         the service itself: it created nothing
//
// # Requests and records
//
// [Server.Requests] returns each request, including picture downloads, and whether it was executed. [Server.Records]
// returns the history of each record: the request that created it, its file, and its end. [Server.Created] omits the
// records that the test added. [Server.Images] and [Server.Transcriptions] return the records that exist.
//
// # Other servers
//
// [TestService] checks any deployment against the documented API, and [TestLedger] a ledger for package once. The
// command in cmd/aicontent-server serves curl, browsers and programs in other languages. Their tests get Requests and
// Records with [Inspect].
package aicontenttest
