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
// Methods are named as in the API: Show gets a record, Store creates one. Create one [Client] and keep it. A Client and
// its services are safe for concurrent use; a [Page] and a [File] are not.
//
// # Errors
//
// A failed call returns one of these types, except that FindByName returns the sentinel [ErrNotFound] for an unknown
// name.
//
//   - [*ValidationError]: invalid arguments; nothing was sent
//   - [*APIError]: a response with a status other than 2xx
//   - [*DecodeError]: a 2xx response without a usable record or list
//   - [*CallError]: no response, because of the network, a timeout, the context, a limiter, a key source or a hook
//   - [*ConflictError]: the name belongs to several records, or to another one that package once knows
//
// [errors.Is] finds sentinels, such as ErrNotFound, and the context's errors. An error text is one line that begins
// with the operation and never contains the API key. [Reason] returns the cause for the people who use your program.
//
// # After a failed call
//
// A failed Store call may still have created, and billed, a record. [OutcomeOf] says whether:
//
//   - NotExecuted: this call created nothing
//   - Executed: the record was created, but the response could not be read
//   - Unknown: the record may exist, or appear minutes later, because a proxy's timeout does not stop the service
//
// [Retryable] reports whether you may make the same call again, and [RetryAt] when. Package
// [github.com/aicontent/aicontent-go/once] makes Store calls safe to repeat.
//
// # Retries and timeouts
//
// After transient failures, a call makes up to four attempts by default, with random pauses in between. Store is
// retried only if the service cannot have executed the request. The table of [OutcomeOf] has each failure,
// [RetryPolicy] the pauses. If a pause would exceed the context's deadline or the policy's longest Retry-After, the
// call returns its error at once.
//
// Only the context limits a whole call; [WithResponseTimeout], [WithStoreTimeout] and [WithStallTimeout] limit each
// attempt.
//
// # Options
//
// Pass client options to NewClient. Pass call options to a method, or to NewClient as the default of all calls (not
// WithResponse).
//
//	WithHTTPClient        client  an http.Client of yours: TLS, proxies, dialers
//	WithMiddleware        client  wraps the transport: tracing, signing, caching
//	WithAPIKeySource      client  keys that rotate
//	WithUserAgent         client  the name of your product in User-Agent
//	WithLogger            client  a log of all attempts
//	WithRateLimiter       client  a wait before each attempt
//	WithRetryBudget       client  the retries of all calls together: 100 by default
//	WithInsecureHTTP      client  http:// for hosts other than loopback
//	WithBooleanWords      client  booleans as true and false instead of 1 and 0
//	WithUpdateMethod      client  PUT instead of PATCH
//	WithMaxResponseSize   client  the largest response: 32 MiB by default
//	WithAttemptHook       call    a function before each attempt: metrics, limits, circuit breakers
//	WithResponseTimeout   call    the wait for a response, except Store's: 30 s by default
//	WithStoreTimeout      call    the wait for the response to a Store: 10 min by default
//	WithStallTimeout      call    an upload or download without progress: 60 s by default
//	WithRetryPolicy       call    the number of attempts and the pauses
//	WithoutValidation     call    values that the API does not document, such as newer resolutions
//	WithHeader            call    a request header
//	WithQuery             call    a query parameter, such as page
//	WithFormField         call    a form field that the API does not document
//	WithResponse          call    the raw response, even if the call fails
//	WithProgress          call    the progress of an upload
//
// # Responses
//
// The API does not specify responses, and services differ. Records may be bare or in an envelope, numbers may be
// strings, and times may lack a zone. A missing field, or one of an unexpected type, keeps its zero value; Raw returns
// the record as sent. A response without a record is an error, never an empty record.
//
// A success may lack its URL or Result, because some services respond to Store before the picture or the text is there.
// [ImagesService.Wait] and [TranscriptionsService.Wait] return the record when it has one.
//
// JSON reports an error if its object lacks an ID or a name and has one of these members. Nested objects do not count.
//
//   - an error, errors or exception that is not empty
//   - a status or code that is error, fail or failed, or from 400 to 599
//   - a false success or ok
//
// # Testing
//
// Package [github.com/aicontent/aicontent-go/aicontenttest] has the service in memory, for your tests.
package aicontent
