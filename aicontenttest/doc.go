// Package aicontenttest is the AI content service in memory: for testing what is built on the
// SDK, offline and in milliseconds, and with everything that can go wrong on demand.
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
//	func TestIllustrateSurvivesAnOutage(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := aicontenttest.NewServer(t, aicontenttest.InMemoryNetwork())
//			srv.FaultN(2, aicontenttest.Status(503, "down").WithRetryAfter("30"))
//
//			url, err := Illustrate(t.Context(), srv.Client(), "A whale in the harbour")
//			if err != nil {
//				t.Fatal(err)
//			}
//			if url != srv.URL+"/pictures/1.png" {
//				t.Errorf("the picture is at %q", url)
//			}
//			if n := len(srv.Records()); n != 1 {
//				t.Errorf("%d pictures were made, and paid for", n)
//			}
//		})
//	}
//
// The SDK waits for a minute here, which in a bubble of testing/synctest takes no time: that is
// what [InMemoryNetwork] is for. Outside of a bubble leave both away, and the server listens on
// loopback. The program in examples/testing is tested against five faults in this manner.
//
// # What is true and what is not
//
// The server reads real requests and keeps real records: lists search, filter, sort and page,
// uploads are streamed and hashed. A picture's url serves a PNG of the resolution asked for,
// drawn from the description, style, medium and filter. The result of a transcription is no
// transcript and says so: it tells format, duration, size and hash of the file received.
//
// # Strict
//
// Whatever the interface does not allow fails the test whose request did it, and is answered
// as a strict service would: an unknown parameter or field, one sent twice, a value that is in
// no table, a boolean in the wrong form, a wrong content type, a list or show that does not
// accept JSON, a body where none is due, a malformed form, a file without a name, a missing
// bearer token, an address outside of /api/v1. A wrong key, an unknown id and a missing field
// are answered as such and no violations: they are what a test may well want to see. [Allow]
// lets single names pass, [Lenient] all.
//
// # Personalities
//
// Deployments differ. The default answers as most do; these options change one thing each, can
// be combined, and are all listed by [Personalities]. [OnResponse] makes others.
//
//	DataEnvelope         a record or list under data, pages under links and meta; the default
//	BareRecords          records and lists as they are, without anything around them
//	FullRecords          description and language in the records, which others leave out
//	MissingMembers       only documented members, and only those that are set
//	PlainPaginator       next_page_url, total and the like beside data
//	SimplePaginator      no total and no last page
//	CursorPaginator      next links with a cursor, and no numbers at all
//	LinkHeader           the next link in the header Link too
//	ForeignNextLinks     next links that name an internal host
//	PlainHTTPNextLinks   next links with http where the service is reached by https
//	FilterlessNextLinks  next links without the filters of the list
//	StringIDs            ids as strings: "7"
//	UUIDs                ids that are no numbers
//	NumericBooleans      1 and 0 for true and false
//	QuotedNumbers        numbers as strings
//	MessageOnly422       a refused form is answered with a message and no fields
//	LoginRedirect        a wrong key leads to an HTML login page that answers 200
//	StoreAnswers200      200 for a store, not 201
//	DeleteAnswers204     204 and no body for a delete
//	NewerValues          newer resolutions, a quality, any language, pages of 100
//
// # Faults
//
// [Server.Fault] and [Server.FaultN] queue a fault for the next requests, [Server.FaultWhen] for
// those that a function picks, and [Server.Chaos] draws from a seed that a failing test logs.
// Acted on means that the record is made, changed or deleted for all that. [Fault.Acting] and
// the field Acts change it.
//
//	fault                   what the client sees               acted on
//	Status                  any status, body and Retry-After   no
//	HTMLPage                a page of a proxy or portal        no
//	RedirectTo              a redirect to anywhere             no
//	ActThenStatus           a proxy's page                     yes
//	LateAct                 a proxy's page                     yes, but later
//	RefuseConnection        a connection refused or reset      no
//	RefuseStream            HTTP/2's refused stream            no
//	CloseBeforeRead         the end of the connection          no
//	CloseMidUpload          the same, with its body half sent  no
//	LoseAnswer              the same, after the whole request  yes
//	CloseMidAnswer          half of an answer                  yes
//	Stall                   nothing, from the place given on   from BeforeAnswer on
//	Trickle                 an answer byte by byte             yes
//	TruncatedJSON           half of the JSON as if it were all yes
//	InvalidJSON             what looks like JSON               yes
//	OversizedAnswer         an answer of any length            yes
//	TakeOver                whatever the test writes           no
//
// Connections end in good order (FIN), or by a reset with [Fault.WithReset]. [Fault.Early] sends
// a status while the body is unread. [Server.RefuseConnections] counts connections and not
// requests, and [Server.CloseIdleConnections] is the server that closes what the client keeps
// alive. Status with the header Connection: close sends HTTP/2's GOAWAY.
//
// # The book
//
// [Server.Requests] tells of each request what was received, whether it was acted on and
// whether it was answered, and [Server.Records] of each record which request made it, so that
// a test can count. [Server.Violations] has what was not allowed.
//
// # Another service
//
// [TestService] runs the interface's scenarios through a client against any address, such as
// one's own deployment. The command in cmd/aicontent-server is the server for curl, a browser
// or a program in another language.
package aicontenttest
