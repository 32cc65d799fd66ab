// Package once stores a record exactly once for its name. Call Store as often as you need: after a second click, a
// retry or a restart, and from several processes.
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	names, err := once.New(client, once.Dir("/var/lib/illustrator"))
//	if err != nil {
//		return err
//	}
//	image, found, err := names.Images.Store(ctx, params) // creates the image unless it exists
//
// A plain Store call that fails may still have created, and billed, its record: a proxy gave up, the connection broke,
// the process was killed. With this package you make the same call again, if [aicontent.Retryable] reports true, at the
// time of [aicontent.RetryAt], from any process with the same ledger. Each call that succeeds returns the same record.
//
// Your part:
//
//   - Use a unique name, such as a job's ID or the hash of a file, not a title that a person typed.
//   - Use this package for every Store: the ledger does not know plain Store calls.
//   - Save the job before you call Store: the ledger has only the name and a hash of the parameters, without files and
//     fields that options set.
//   - On SIGTERM, end the context of the calls, as above, and let them write to the ledger.
//
// The ledger is [InMemory] for a single process, [Dir] for the processes of one machine, or a database with a row for
// each name: see [Ledger].
//
// # How it works
//
//  1. If the ledger knows the record's ID, the call shows the record and returns it.
//  2. Otherwise it searches for the name, and returns the record if it finds one. If it finds none, and an earlier
//     request may still create the record, it pauses and begins again.
//  3. Otherwise it announces its own request: it writes to the ledger the time until which the request may create a
//     record. If two calls try at once, the ledger accepts one. Then the call makes one plain Store call.
//  4. It writes the result to the ledger. If the outcome is Unknown, it begins again without another Store call.
//
// If a process dies, the others wait for its record, at most the settle time ([WithSettleTime]) and two minutes. A
// restart does not extend the wait. PROTOCOL.md, beside the code, has all rules with their reasons.
//
// Once a record is known, no call creates another one for the name, even if no list shows it, until Delete frees the
// name. But if the record was deleted without this package, a Store after the settle time creates and bills it again.
// If the name of a known record changes, the error is a [*aicontent.ConflictError]: a person renamed the record, or a
// reset database gave its ID to another one. Delete then frees the name and keeps the record.
//
// The outcome of an [*Error] is Executed if the record was created, Unknown while a request may still create it, and
// NotExecuted if there is none and never will be.
//
// # How long a call takes
//
// A call normally takes as long as a Store. If an earlier request is open, the call first waits: until the request ends
// and then for its record, at most for the settle time, or for 17 minutes if its process died. The context ends the
// wait, and also a create request, which may still be billed; [WithMaxWait] ends only the wait. With the defaults:
//
//	                                         create requests  searches  until the call ends
//	the response arrives                                   1         1  as long as a Store
//	a 504 at once, then the record 8 min later             1        22  8 min
//	a 504 at once, then no record                          1        36  15 min: NotExecuted, retryable
//	no response, then no record                            1        36  25 min: NotExecuted, retryable
//	killed before it announced its request                 1         1  as long as a Store
//	killed while it sent, and then:
//	  the record appears at once                           0         2  1 s
//	  the record appears a minute later                    0         7  1 min
//	  no record appears                                    1        39  sends after 17 min
//
// A call searches 1, 3, 7, 15 and 31 seconds after its first pause began, then every 30 seconds, or later for a
// Retry-After.
// In between it reads the ledger every second. A worker with WithMaxWait(0) that calls again at RetryAt makes as many
// searches.
//
// # The settle time
//
// The settle time must cover the longest Store of your deployment, even behind a 504, the lag of its lists, and the
// difference of your machines' clocks. Take twice the sum. docs/recipes.md measures it.
//
// # What a call costs
//
//	                                        Get  Put  requests
//	a record that the ledger knows            1    0  Show
//	a new record                              1    2  a search, Store
//	a record that only the service knows      1    1  a search, Show
//	Find of a name that is not there          2    0  a search
//	Delete                                    1    1  Show, Delete
//
// Sending costs a further Put every 30 seconds.
//
// # What it cannot do
//
// A second record or a wrong NotExecuted is possible if
//
//   - a program stores the name without this package, or with another ledger or scope
//   - the service creates the record later than the settle time after the request ended
//   - the service changes names, and a response is lost
//   - a person renames or deletes the record before its ID is known
//   - no list ever shows the record, or lists have no names
//   - clocks differ by more than the settle time allows
//   - a process is suspended while it sends, for longer than 15 seconds and the unused part of the settle time
//   - an entry is deleted, or restored from a backup, before lists show the record
//   - the response to a Store has no ID, and the ledger could not be written
//   - a Delete is suspended for longer than the settle time beside a Store
//
// # Looking after a ledger
//
// A [Lister] lists its names; docs/recipes.md has a command that prints it. [Client.Key] returns the key of a name.
// Delete deletes a name's record and clears its entry.
//
// A lost folder, or a backup of it, is safe to replace if no request was sent within the settle time: calls then find
// the records that the service lists. Never use a copy beside the original.
package once
