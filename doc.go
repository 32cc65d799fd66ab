// Package aicontent creates images from text and transcriptions from audio with the AI content service, a self-hosted
// product that many operators run. To create an image:
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
// A failed call returns one of these types. A name that FindByName does not find is the sentinel [ErrNotFound] alone.
//
//   - [*ValidationError]: invalid arguments; nothing was sent
//   - [*APIError]: a response with a status other than 2xx
//   - [*DecodeError]: a 2xx response without a usable record or list
//   - [*CallError]: no response, because of the network, a timeout, the context, a limiter, a key source or a hook
//   - [*ConflictError]: the name belongs to several records, or to another one that package once knows
//
// [errors.Is] finds sentinels, such as [ErrNotFound], and the context's errors. An error text is one line that begins
// with the operation. It never contains the API key. [Reason] returns the cause for the people who use your program.
//
// # After a failed call
//
// A failed Store call may still have created, and billed, a record. [OutcomeOf] says whether:
//
//   - NotExecuted: the service did not execute the request, so this call created nothing
//   - Executed: the service executed the request, but its response could not be read
//   - Unknown: the service may have executed the request, or may still do so
//
// [Retryable] reports whether you may make the same call again, and [RetryAt] when. After Unknown, a record may appear
// minutes later, because a proxy's timeout does not stop the service. Package
// [github.com/aicontent/aicontent-go/once] waits for such a record and makes Store calls safe to repeat.
//
// # Retries
//
// The SDK retries List, Show, Update, Delete and Download after transient failures, and Store only if the service
// cannot have executed the request. The table of [OutcomeOf] lists the failures. By default, a call makes up to four
// attempts, with random pauses whose limit doubles. [WithRetryPolicy] sets another policy, and [WithRetryBudget] limits
// the retries of all calls together. A Retry-After is obeyed up to the policy's limit. The context ends every wait. If
// a wait would exceed that limit or the context's deadline, the call returns its error at once. A reader that cannot
// seek is sent only once: see [FileFromReader].
//
// # Timeouts
//
// Only the context limits a whole call. In each attempt, [WithResponseTimeout] and, for Store, [WithStoreTimeout] limit
// the wait for the response, from the last byte sent. [WithStallTimeout] aborts an upload or download without progress.
//
// # Options
//
// Give options of a client to NewClient. Give options of a call to a method or, except for WithResponse, to NewClient
// as the default of all calls.
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
// The API specifies requests but not responses, and services differ. Records may be bare or in an envelope, numbers may
// be strings, and times may lack a zone. A missing field, or one of an unexpected type, keeps its zero value. Raw
// returns a record as the service sent it. A response without a record is an error, never an empty record.
//
// JSON reports an error if an object lacks an ID or a name and has one of these: a member error, errors or exception
// that is not empty; a status of error, fail or failed; a number from 400 to 599 as status or code; or success or ok
// false. Objects nested in it do not count.
//
// # Common mistakes
//
//   - a title that a person typed as a name for package once: two people may type the same title
//   - a failed Store call made again without asking [Retryable]: the first one may have been billed
//   - a client for each call: it opens new connections
//   - one variable for [WithResponse] in several goroutines: a data race
//
// # Testing
//
// Package aicontenttest provides the service in memory, for tests of programs that use this package.
package aicontent
