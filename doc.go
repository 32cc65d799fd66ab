// Package aicontent is a client for the AI content service, a self-hosted product that many operators run. It creates
// images from text and transcriptions from audio, and gets, lists, updates and deletes both.
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
// A failed call returns one of these types, which [errors.As] finds. A name that FindByName does not find is the
// sentinel [ErrNotFound] alone.
//
//   - [*ValidationError]: invalid arguments; nothing was sent
//   - [*APIError]: a response with a status other than 2xx
//   - [*DecodeError]: a 2xx response without a usable record or list
//   - [*CallError]: no response, because of the network, a timeout, the context, a limiter, a key source or a hook
//   - [*ConflictError]: the name belongs to several records, or to another one that package once knows
//
// [errors.Is] finds sentinels, such as [ErrNotFound], and the context's errors. The error text is one line that begins
// with the operation. It never contains the API key.
//
// # Outcome of a failed call
//
// Creating a record is billed, and a failed Store call may still have created one. [OutcomeOf] returns what is certain:
//
//   - NotExecuted: the service did not execute the request, so this call created nothing
//   - Executed: the service executed the request, but its response could not be read
//   - Unknown: the service may have executed the request, or may still do so
//
// After Unknown, a record may appear minutes later: a proxy's timeout does not stop the service. Wait longer than the
// slowest Store call takes, then look for the record with FindByName, and only if there is none store it again. Package
// [github.com/aicontent/aicontent-go/once] does that for records that are stored with it from the first call on.
// [Retryable] reports whether the same call may be made again: whether that is safe, and may help.
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
// [WithHTTPClient].
//
// # Timeouts
//
// Only the context limits a whole call. In each attempt, [WithResponseTimeout] and, for Store, [WithStoreTimeout] limit
// the wait for the response, from the last byte sent, and [WithStallTimeout] aborts an upload or download without
// progress.
//
// # Options
//
// Options of a client are given to NewClient; options of a call to a method, or to NewClient as the default of all
// calls, except WithResponse.
//
//	WithHTTPClient        client  sends through a copy of your http.Client: TLS, proxies, dialers
//	WithMiddleware        client  wraps the transport: tracing, signing, caching
//	WithAPIKeySource      client  gets the key before each attempt, for keys that rotate
//	WithUserAgent         client  puts your product before the SDK in User-Agent
//	WithLogger            client  logs each attempt at debug level; never keys, bodies or query values
//	WithRateLimiter       client  waits for your limiter before each attempt
//	WithRetryBudget       client  limits the retries of all calls together: 100 by default
//	WithInsecureHTTP      client  allows http:// for hosts other than loopback
//	WithBooleanWords      client  sends booleans as true and false instead of 1 and 0
//	WithUpdateMethod      client  sends updates with PUT instead of PATCH
//	WithMaxResponseSize   client  limits the size of a response: 32 MiB by default
//	WithAttemptHook       call    is called before each attempt, and may refuse it: metrics, limits, circuit breakers
//	WithResponseTimeout   call    limits an attempt's wait for the response, except Store's: 30 s by default
//	WithStoreTimeout      call    limits a Store attempt's wait for the response: 10 min by default
//	WithStallTimeout      call    aborts an upload or download without progress: after 60 s by default
//	WithRetryPolicy       call    sets the number of attempts and the pauses
//	WithoutValidation     call    sends values that the API does not document, such as newer resolutions
//	WithHeader            call    sets a request header
//	WithQuery             call    sets a query parameter, such as page
//	WithFormField         call    sets a form field that the API does not document
//	WithResponse          call    returns the raw response, even if the call fails
//	WithProgress          call    reports the progress of an upload
//
// # Responses
//
// The API specifies requests but not responses, and services differ. Responses are read leniently: records bare or in
// an envelope, numbers as strings, times with or without a zone. A field that is missing or has an unexpected type
// keeps its zero value. Raw returns a record as it was sent. A response without a record is an error, never an empty
// record.
//
// JSON says that it is an error if an object lacks an ID or a name and has one of these: a member error, errors or
// exception that is not empty; a status of error, fail or failed; a number of 400 or more as status or code; or success
// or ok false. Nothing nested in such an object counts.
//
// # Common mistakes
//
//   - giving package once a title that a person typed: two people may type the same one
//   - repeating a failed Store call without asking [Retryable]: the first one may have been billed
//   - creating a client for each call: it opens new connections
//   - passing one variable to [WithResponse] in several goroutines: a data race
//
// # Testing
//
// Package aicontenttest provides the service in memory, for tests of programs that use this package.
package aicontent
