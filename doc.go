// Package aicontent is the Go client of an AI content service: it creates images from text and transcriptions from
// audio, and lists, shows, updates and deletes both.
//
//	client, err := aicontent.NewClient("https://content.example.com", apiKey)
//	if err != nil {
//		return err
//	}
//	image, err := client.Images.Store(ctx, aicontent.ImageStoreParams{
//		Name:        "Lighthouse",
//		Description: "a lighthouse in a storm, seen from the sea",
//		Resolution:  aicontent.Resolution512x512,
//		Style:       aicontent.StyleRetro,
//	})
//
// A [Client] and everything reached through it is safe for concurrent use; a [Page] and a [File] are not. Make one client
// and keep it: it holds the connections.
//
// # Errors
//
// A call returns one of four errors, for [errors.As]: a [*ValidationError] when the call was at fault and
// nothing was sent, an [*APIError] for every answer but a 2xx, a [*DecodeError] for a 2xx that cannot be read, and a
// [*TransportError] when no answer came. For [errors.Is] there are [ErrNotFound], [ErrUnauthorized] and others, the
// context's own errors, and [ErrPagination] for lists. The text of an error is one line that begins with the operation; it
// never holds the API key.
//
// # What became of a failed call
//
// A store is billed, and a failed one may have made its record all the same. [OutcomeOf] says what is
// proven of it; where nothing is, the outcome is Unknown. The last two columns say what is sent again by
// itself: any of list, show, update and delete, which change nothing when they come twice, and store, which does only
// where the service cannot have acted.
//
//	the call ended with                                              outcome   others  store
//	bad input                                                        NotSent   no      no
//	the context, a rate limiter or a key source, before a byte       NotSent   no      no
//	no connection                                                    NotSent   yes     yes
//	a certificate that is not trusted                                NotSent   no      no
//	a connection that broke before a byte of the request             NotSent   yes     yes
//	a stream that HTTP/2 refused                                     Rejected  yes     yes
//	429                                                              Rejected  yes     yes
//	503 with Retry-After                                             Rejected  yes     yes
//	401 where a key source then has another key                      Rejected  once    once
//	any other 4xx but 408                                            Rejected  no      no
//	a redirect with 307 or 308                                       Rejected  no      no
//	a redirect of a store, update or delete with 301, 302 or 303     Unknown   no      no
//	408, 500, 502, 504, and 503 without Retry-After                  Unknown   yes     no
//	any other 5xx                                                    Unknown   no      no
//	2xx with JSON of another shape, or empty                         Done      no      no
//	2xx cut off                                                      Done      yes     no
//	2xx with a page in place of JSON                                 Unknown   no      no
//	a broken connection or a timeout, once a byte was written        Unknown   yes     no
//	the context, once a byte was written                             Unknown   no      no
//
// Where a call made several attempts the worst of them counts: Rejected is worse than NotSent, Done than Rejected, and
// Unknown than all. A delete whose answer was cut off is not sent again; one that is sent again after an unknown outcome
// takes 404 for done. [ErrPagination] ends a walk whose pages so far were read: its outcome is Done.
//
// # Trying again
//
// [RetryPolicy] says how often and how patiently, [WithRetryPolicy] sets it, and [DefaultRetryPolicy] is what happens
// otherwise. Pauses are random up to a bound that doubles ("full jitter"); a Retry-After, in seconds or as a date, is
// waited for unless it is longer than the policy allows, and then the error comes at once and carries it. The
// context ends every wait; when its deadline is nearer than the wait, the call does not wait at all. A file that cannot be
// read again, such as the body of an incoming request, means one attempt.
//
// So that it is known what of a store was written, stores go over HTTP/1.1, and never on a connection that was idle for a
// second, which the service may be about to close. [WithHTTPClient] replaces that by what the given client does.
//
// With [WithOnce] a store is safe to repeat after any failure, at the price of a search before each send: see
// [ImagesService.Store].
//
// # Time
//
// Nothing but the context bounds a whole call. [WithTimeout] bounds the wait for an answer, from the last byte sent, in
// each attempt; [WithStallTimeout] ends an upload that no longer moves.
//
// # What a deployment may answer
//
// The interface documents requests; answers differ from deployment to deployment, and are read tolerantly: records bare or
// wrapped, numbers as text, several forms of time. What cannot be read costs that member of the record, never the call.
// Raw on a record gives what was sent. An answer with no record in it is an error, never an empty record.
//
// Package aicontenttest, beside this one, has the service in memory for tests.
package aicontent
