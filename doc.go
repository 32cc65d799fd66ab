// Package aicontent is a client for the AI content service. It creates images from text and transcriptions from
// audio, and gets, lists, updates and deletes both.
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
// The methods have the names of the API: Show gets a record, Store creates one. Make one [Client] and keep it: it
// holds the connections. It is safe for concurrent use, and so are its services. A [Page] and a [File] are not.
//
// # Errors
//
// A failed call returns one of these errors, which [errors.As] finds:
//
//   - [*ValidationError]: invalid arguments; nothing was sent
//   - [*APIError]: a response with a status other than 2xx
//   - [*DecodeError]: a 2xx response without what was asked for
//   - [*TransportError]: no response, because of the network, a timeout, the context, a limiter, a key source or a hook
//   - [*ConflictError]: [WithOnce] found another record with the name, or it or FindByName found several
//
// [errors.Is] finds the sentinels, such as [ErrNotFound], and the errors of the context. The text of an error is one
// line that begins with the operation. It never holds the API key.
//
// # Outcome of a failed call
//
// Creating a record is billed, and a Store call that failed may still have created one. [OutcomeOf] returns what is
// certain:
//
//   - NotSent: the service did not get the whole request, so the call created nothing
//   - Rejected: the service responded that it did not execute the request, so the call created nothing
//   - Done: the service executed the request, but its response could not be read
//   - Unknown: the service may have executed the request; look for the record with FindByName before you store it again
//
// [Temporary] reports whether the same call, made later, may end otherwise. A job queue asks both.
//
// # Retries
//
// List, Show, Update, Delete and Download are retried after transient failures, a Store call only if the service
// cannot have executed the request: the table of [OutcomeOf] has the failures. [DefaultRetryPolicy] makes up to four
// attempts, with random pauses whose limit doubles. [WithRetryPolicy] sets another. A Retry-After, in seconds or as a
// date, is obeyed; if it asks for more than the policy allows, the error is returned at once. The context ends every
// wait, and if its deadline comes first, the call does not wait at all. A file that can be read only once, such as
// the body of an incoming request, is sent once: the call is not retried once an attempt has read any of it.
// [WithRetryBudget] limits the retries of all calls together.
//
// The SDK sends each create request on a connection of its own, over HTTP/1.1, so that it knows what was written.
// With a RoundTripper other than a [net/http.Transport], more failures are Unknown: see [WithHTTPClient].
//
// [WithOnce] makes a Store call safe to repeat after any failure. It costs a search before the first create request,
// and the name must be unique.
//
// # Timeouts
//
// Only the context limits a whole call. In each attempt, [WithResponseTimeout] limits the wait for the response, from
// the last byte sent, and [WithStallTimeout] ends an upload that no longer moves.
//
// # Responses
//
// The API specifies requests but not responses, and services differ. Responses are read leniently: records bare or in
// an envelope, numbers as text, times with or without a zone. A field of an unexpected type keeps its zero value, and
// so does one that the server omits. Raw returns a record as it was sent. A response without a record is an error,
// never an empty record.
//
// # Common mistakes
//
//   - a title that a person typed as the name of a [WithOnce] call: two people type the same one
//   - a failed Store call that is repeated without asking [OutcomeOf]: the first one may have been billed
//   - a client for each call: it knows no names of earlier calls, and opens its connections anew
//   - a deadline shorter than the settle time, and no later call with WithOnce: nobody looks for the record
//   - one variable given to [WithResponse] by several goroutines: that is a data race
//
// # Testing
//
// Package aicontenttest provides the service in memory, for tests of programs that use this package.
package aicontent
