// Package aicontent is a client for the AI content service. It creates images from text and transcriptions from audio,
// and gets, lists, updates and deletes both.
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
// Methods are named as in the API: Show gets a record, Store creates one. Create one [Client] and keep it: it owns the
// connections. A Client and its services are safe for concurrent use; a [Page] and a [File] are not.
//
// # Errors
//
// A failed call returns one of these types, which [errors.As] finds:
//
//   - [*ValidationError]: invalid arguments; nothing was sent
//   - [*APIError]: a response with a status other than 2xx
//   - [*DecodeError]: a 2xx response without what was asked for
//   - [*TransportError]: no response, because of the network, a timeout, the context, a limiter, a key source or a hook
//   - [*ConflictError]: FindByName found several records with the name
//
// [errors.Is] finds sentinels, such as [ErrNotFound], and the context's errors. The error text is one line that begins
// with the operation. It never contains the API key.
//
// # Outcome of a failed call
//
// Creating a record is billed, and a failed Store call may still have created one. [OutcomeOf] returns what is certain:
//
//   - NotSent: the service did not get the whole request, so the call created nothing
//   - Rejected: the service responded that it did not execute the request, so the call created nothing
//   - Done: the service executed the request, but its response could not be read
//   - Unknown: the service may have executed the request; look for the record with FindByName before you store it again
//
// [Temporary] reports whether the same call may succeed later. A job queue needs both.
//
// # Retries
//
// List, Show, Update, Delete and Download are retried after transient failures, Store only if the service cannot have
// executed the request. The table of [OutcomeOf] lists the failures. [DefaultRetryPolicy] makes up to four attempts,
// with random pauses whose limit doubles; [WithRetryPolicy] sets another policy, and [WithRetryBudget] limits the
// retries of all calls together. A Retry-After, in seconds or as a date, is obeyed up to the policy's limit. The
// context ends every wait. If a wait would exceed that limit or the context's deadline, the call returns its error at
// once. A file that can be read only once is not sent again: see [FileFromReader].
//
// Each create request has an HTTP/1.1 connection of its own, so that the SDK knows what was written: see
// [WithHTTPClient]. Package [github.com/aicontent/aicontent-go/once] makes a Store call safe to repeat after any
// failure, by any process. It costs a search before the create request, and the name must be unique.
//
// # Timeouts
//
// Only the context limits a whole call. In each attempt, [WithResponseTimeout] limits the wait for the response, from
// the last byte sent, and [WithStallTimeout] aborts an upload or download without progress.
//
// # Responses
//
// The API specifies requests but not responses, and services differ. Responses are read leniently: records bare or in
// an envelope, numbers as strings, times with or without a zone. A field that is missing or has an unexpected type
// keeps its zero value. Raw returns a record as it was sent. A response without a record is an error, never an empty
// record.
//
// # Common mistakes
//
//   - storing under a title that a person typed with package once: two people may type the same one
//   - repeating a failed Store call without asking [OutcomeOf]: the first one may have been billed
//   - creating a client for each call: it opens new connections
//   - passing one variable to [WithResponse] in several goroutines: a data race
//
// # Testing
//
// Package aicontenttest provides the service in memory, for tests of programs that use this package.
package aicontent
