// Package aicontent is a client for the AI content service. It creates images from text and transcriptions from audio, and
// lists, shows, updates and deletes both.
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
// Make one [Client] and keep it: it holds the connections. It is safe for concurrent use, and so are its services. A [Page]
// and a [File] are not.
//
// # Errors
//
// A failed call returns one of these errors, which [errors.As] finds:
//
//   - [*ValidationError]: invalid arguments; nothing was sent
//   - [*APIError]: a response with a status other than 2xx
//   - [*DecodeError]: a 2xx response that cannot be read
//   - [*TransportError]: no response, because of the network, a timeout, the context, a rate limiter or a key source
//   - [*ConflictError]: with [WithOnce], the name belongs to another record
//
// The one exception is an error that wraps [ErrPagination], of a list that does not say what follows. [errors.Is] finds the
// sentinels, such as [ErrNotFound], and the errors of the context. The text of an error is one line that begins with the
// operation. It never holds the API key.
//
// # Outcome of a failed call
//
// Creating a record is billed, and a Store call that failed may still have created one. [OutcomeOf] returns what is certain:
// NotSent, Rejected or Done, and otherwise Unknown. In the table, store is either Store method, and others are List, Show,
// Update and Delete, which do no harm if they are executed twice. The last two columns tell whether the call is retried.
//
//	the call ended with                                                     outcome   others  store
//	invalid arguments                                                       NotSent   no      no
//	the context, a rate limiter or a key source, before a byte was written  NotSent   no      no
//	no connection                                                           NotSent   yes     yes
//	a certificate that is not trusted                                       NotSent   no      no
//	a connection that broke before a byte was written                       NotSent   yes     yes
//	an upload cut off by the network, a stall, 500, 502, 503 or 504         NotSent   -       yes
//	an upload cut off by its reader, the context or a redirect              NotSent   -       no
//	an HTTP/2 stream that was refused (REFUSED_STREAM)                      Rejected  yes     yes
//	429                                                                     Rejected  yes     yes
//	503 with Retry-After                                                    Rejected  yes     yes
//	401, and the key source then returns another key                        Rejected  once    once
//	any other 4xx but 408                                                   Rejected  no      no
//	307 or 308                                                              Rejected  no      no
//	301, 302, 303 or 304, for List and Show                                 Rejected  no      -
//	301, 302, 303 or 304, for Store, Update and Delete                      Unknown   no      no
//	408, 500, 502, 504, or 503 without Retry-After                          Unknown   yes     no
//	any other 5xx                                                           Unknown   no      no
//	2xx with JSON that says it is an error                                  Unknown   no      no
//	201 or 204 without a record                                             Done      no      no
//	any other 2xx with JSON of another shape                                Done      no      no
//	201 that is cut off, or any other 2xx that is cut off within its JSON   Done      yes     no
//	any other 2xx with an HTML page instead of JSON                         Unknown   no      no
//	any other 2xx that is empty or blank                                    Unknown   no      no
//	any other 2xx that is cut off before a byte of JSON                     Unknown   yes     no
//	a broken connection or a timeout, after a byte was written              Unknown   yes     no
//	the context, after a byte was written                                   Unknown   no      no
//
// An upload is cut off if it ended before any byte of the form's last boundary, which follows the file, was written. No known
// form parser accepts such a request as complete. After that, the last two rows hold for it too.
//
// If a call made several attempts, the most severe outcome counts. Severity: NotSent < Rejected < Done < Unknown. For Delete, an
// empty 2xx response is success, one that was cut off is if its outcome is Done, and a 404 is after an attempt of unknown outcome. Redirects of List and Show
// within the origin of the base URL are followed; the table is about those that are not. [ErrPagination] is Done: all pages
// before it were read.
//
// # Retries
//
// [DefaultRetryPolicy] makes up to four attempts, with random pauses whose limit doubles. [WithRetryPolicy] sets another. A
// Retry-After, in seconds or as a date, is obeyed; if it asks for more than the policy allows, the error is returned at once.
// The context ends every wait, and if its deadline comes first, the call does not wait at all. A file that can be read only
// once, such as the body of an incoming request, allows one attempt. [WithRetryBudget] limits the retries of all calls together.
//
// The SDK sends each create request on a connection of its own, over HTTP/1.1, so that it knows what was written. With a
// RoundTripper other than a [net/http.Transport], more failures are Unknown: see [WithHTTPClient].
//
// [WithOnce] makes a Store call safe to repeat after any failure. It costs a search before each create request, and it
// needs a name that no other record has.
//
// # Timeouts
//
// Only the context limits a whole call. In each attempt, [WithResponseTimeout] limits the wait for the response, from
// the last byte sent, and [WithStallTimeout] ends an upload that no longer moves.
//
// # Responses
//
// The API specifies requests but not responses, and deployments differ. Responses are read leniently: records bare or in an
// envelope, numbers as text, several formats of time. A field of an unexpected type keeps its zero value, and so does one that
// the server omits. Raw returns a record as it was sent. A response without a record is an error, never an empty record.
//
// # Testing
//
// Package aicontenttest provides the service in memory, for tests of programs that use this package.
package aicontent
