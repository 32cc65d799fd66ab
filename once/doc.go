// Package once stores a record by its name, once, however often a program calls Store: after a second click, a retry, a
// restart, and from several processes.
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	names, err := once.New(client, once.Dir("/var/lib/illustrator"))
//	if err != nil {
//		return err
//	}
//	image, found, err := names.Images.Store(ctx, params) // creates the image unless it exists
//
// A Store call is billed, and one that failed may still have created its record: a proxy gave up, the connection broke,
// the process was killed. With this package the program makes the same call again if [aicontent.Retryable] says so, at
// the time that [aicontent.RetryAt] returns, from any process that uses the ledger, and gets the one record.
//
// Three things are yours:
//
//   - The name must be unique, such as a job's ID or the hash of a file, and never a title that a person typed. Store
//     by name from the first call on: the ledger does not know plain Store calls.
//   - Write the job down before you call Store. The ledger has the name, and a hash of the parameters. Files, and
//     fields that options set, are not compared.
//   - On SIGTERM, end the context of calls, as above, and let them write down their results. A program that does not
//     handle SIGTERM is killed by it.
//
// The ledger is [InMemory] for a single process, [Dir] for the processes of one machine, or a database with a row for
// each name. See [Ledger].
//
// # How it works
//
//  1. If the ledger knows the record's ID, the call shows the record and returns it.
//  2. Otherwise it searches for the name. If an earlier request may still create the record, it pauses and begins
//     again.
//  3. Otherwise it writes into the ledger until when its own request may create a record, in place of the version that
//     it read before the search. Of two calls, one succeeds. Then it makes one plain Store call.
//  4. It writes down the result. If the outcome is Unknown, it begins again, and sends no more.
//
// If a process dies, the others wait for its record: at most the settle time ([WithSettleTime]) and two minutes. A
// restart does not begin the wait anew. PROTOCOL.md, beside the code, has all rules with their reasons.
//
// A record that was created is never created again, even if no list shows it, until Delete frees the name. Once its ID
// is known, the service may change all its fields. If its name changes later, the error is a
// [*aicontent.ConflictError]: a person renamed the record, or a reset database gave its ID to another one. Delete then
// frees the name, and leaves the record alone.
//
// The outcome of an [*Error] is that of the record: Executed if it was created, Unknown while a request may still
// create it, and NotExecuted if there is none and will be none.
//
// # How long a call takes
//
// A call normally takes as long as a Store. If an earlier request is open, it first waits: up to 17 minutes. The
// context ends the wait, and also a create request, which is billed all the same. [WithMaxWait] ends only waits: use it
// in a handler or a queue worker. With the defaults:
//
//	                                         create requests  searches  until the call ends
//	the response arrives                                   1         1  as long as a Store
//	a 504 at once, and the record 8 min later              1        22  8 min
//	a 504 at once, and no record                           1        36  15 min: NotExecuted, retryable
//	no response, and no record                             1        36  25 min: NotExecuted, retryable
//	killed before it announced its request                 1         1  as long as a Store
//	killed while it sent, and then:
//	  the record appears at once                           0         2  1 s
//	  the record appears a minute later                    0         7  1 min
//	  no record appears                                    1        39  sends after 17 min
//
// The searches of a call are 1, 3, 7, 15 and 31 seconds after the first one, and then 30 seconds apart, or after a
// Retry-After if that is longer. Between them the call reads the ledger every second. A worker that calls with
// WithMaxWait(0), and again at RetryAt, makes no more searches than a call that waits.
//
// # The settle time
//
// Take twice the longest Store of your deployment, including those behind a 504, the lag of its lists, and the
// difference of your machines' clocks. docs/recipes.md measures it. If the service becomes slower than that, a record
// may be created twice.
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
// There may be a second record, or a wrong NotExecuted, if
//
//   - a program stores the name without this package, or with another ledger or scope
//   - the service creates the record later than the settle time after the request ended
//   - the service changes names, and a response is lost
//   - a person renames or deletes the record before its ID is known
//   - no list ever shows the record, or lists have no names
//   - clocks differ by more than the settle time has room for
//   - a process is suspended while it sends, for longer than 15 seconds and the unused part of the settle time
//   - an entry is deleted, or restored from a backup, before lists show the record
//   - a record was created without telling its ID, and the ledger could not be written
//   - a Delete is suspended for longer than the settle time beside a Store
//
// A record that is deleted without this package is stored again, and billed, by a Store after the settle time.
//
// # Looking after a ledger
//
// A [Lister] lists its names, with the time until which each one is open; docs/recipes.md has a command that prints it.
// [Client.Key] returns the key of a name. Delete deletes a name's record and clears its entry. If lists have no names,
// it clears the entry as soon as no request is open, and says once that there may be a record.
//
// If the folder is lost, every name is new: a call finds what the service lists. That is safe if no request was sent
// within the settle time, and so is a backup. Do not use a copy beside the original.
package once
