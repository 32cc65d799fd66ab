// Package once makes Store calls safe to repeat: after a second click, a retry or a restart, and by other processes. It
// stores records by name, and keeps what must not be forgotten in a ledger.
//
//	names, err := once.New(client, once.Dir("/var/lib/illustrator"))
//	if err != nil {
//		return err
//	}
//	ctx, cancel := context.WithTimeout(ctx, 40*time.Minute)
//	defer cancel()
//	image, found, err := names.Images.Store(ctx, params) // creates the image unless it exists
//
// A Store call is billed, and one that failed may still have created its record: a proxy gave up, the connection broke,
// the process was killed. A program that stores again may pay twice; one that does not may never get its record. With
// this package, the program calls Store again with the same arguments whenever [aicontent.Retryable] says so, from any
// process that uses the ledger, and gets the one record.
//
// The name must be unique, such as a job's ID or the hash of a file, and never a title that a person typed: two calls
// with one name must mean the same record. Store by name from the first call on: the ledger knows nothing of plain
// Store calls.
//
// The ledger is [InMemory] for a single process, [Dir] for the processes of one machine, or a database. A database
// holds one row for each name: a key, an entry of some 350 bytes, and a version. See [Ledger].
//
// # How it works
//
// Before a create request goes out, the ledger says until when its record may still appear: while it is sent two
// minutes and the settle time ahead ([WithSettleTime]), and after it ended the settle time. Nobody sends for the name
// before a search that began after that time found nothing. A call goes through these steps:
//
//  1. If the ledger knows the record's ID, it shows that record and returns it.
//  2. Otherwise, it searches for the name. If there is no record, but one may still appear, it pauses and begins again.
//  3. If there is none and none may appear, it announces a create request in the ledger, in place of the very version
//     that it read before the search: of two calls, one succeeds, and the other begins again. Then it makes one plain
//     Store call, and renews the announcement every 30 seconds. A request whose announcement cannot be renewed is cut
//     off in time.
//  4. It writes down the result. If the outcome is Unknown, or the service created the record without telling its ID,
//     it begins again, and sends nothing more.
//
// Nobody holds a name. If a process dies, others wait for its record, not for the process: at most the settle time and
// two minutes. A restart does not begin the wait anew. Stop a program with SIGTERM, not SIGKILL, so that its calls can
// write down their results.
//
// A record that was created is never created again, even if no list shows it, until Delete frees the name. The service
// may change what it stores, even the name: once its ID is known, a record is found by the ID. If the name of the
// record with that ID has changed since, the error is a [*aicontent.ConflictError]: somebody renamed the record, or a
// database was reset and the ID belongs to another one. Delete then frees the name, and leaves the record alone.
//
// The outcome of an [*Error] is that of the record, not of the call: Done if it was created, Unknown while a request
// may still create it, and NotExecuted only if there is none and will be none.
//
// # How long a call takes
//
// A call lasts no longer than an earlier request may become a record, a search and a Store. Its context can end it
// earlier. A context that ends also ends a create request, which is billed all the same: in a handler or a queue
// worker, limit the pauses alone with [WithMaxWait], and call again at the time in [Error].Until, or give calls that
// wait workers of their own. With all else at its default, and searches that succeed:
//
//	                                                     create requests  searches  until the call ends
//	the record is created, and the response arrives                    1         1  as long as a Store
//	a 504 at once, and the record 8 min later                          1        21  8 min
//	a 504 at once, and no record                                       1        36  15 min: NotExecuted, retryable
//	no response, and no record                                         1        36  25 min: NotExecuted, retryable
//	the process was killed before it announced a request               1         1  as long as a Store
//	the process was killed while it sent, and then:
//	  the record appears                                               0      1-40  when it appears
//	  no record appears                                                1        40  sends after 17 min, then as above
//
// No connection, an upload that was cut off, a 429, and a 401 if the key was renewed, are followed by another attempt
// in the same Store call, up to four in all, because they created nothing. Nothing else is.
//
// A search is a List request for up to 100 records; more pages follow only if more names contain this one, and a Show
// if it finds the record. The first search of a call is retried as a List is; the others make one attempt. A call that
// waits searches after 0, 1, 3, 7, 15 and 31 seconds, and then every 30 seconds, or after a Retry-After if that is
// longer: 30 waiting calls make 60 requests a minute, and 180 in their first minute. A rate limiter delays searches and
// loses nothing. Between searches it reads the ledger every second, so that it learns at once what another process
// found.
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
// A Put of [Dir] is one fsync, or two for a new name. Sending costs one more Put every 30 seconds.
//
// # What it cannot do
//
// There may be a second record, or a wrong NotExecuted, if
//
//   - a program stores the name without this package, or with another ledger or scope
//   - the service creates the record later than the settle time after the request ended
//   - the service changes names, and a response is lost: no search finds the record. A warning is logged as soon as a
//     record comes back under another name
//   - somebody renames the record, or deletes it without this package, before its ID is known
//   - no list ever shows the record, or lists have no names
//   - the clocks of two processes differ by more than the settle time has room for; a call that is shorter than the
//     difference does not get past a clock that is ahead
//   - a process, or its machine, is suspended between its announcement and the end of its request, for longer than 15
//     seconds and what the settle time has beyond the service's needs
//   - an entry is deleted, or restored from a backup, while it holds something the service's lists do not show yet
//   - a record was created without telling its ID, and the ledger could not be written
//   - a Delete is suspended for longer than the settle time beside a Store
//
// A record that is deleted without this package is stored again, and billed, by a Store after the settle time.
//
// # Looking after a ledger
//
// [Dir] has a file for each name, named by a hash, with a line for each change, the last one at the end. Its entry is
// JSON, with \s for a space: the name; "until", when what was sent is a record that lists have, or never will be;
// "made" and "id", those of the record. This lists what may be open:
//
//	tail -qn1 folder/* | grep '"until":'
//
// Delete, called for a name, deletes its record and clears its entry.
//
// If the folder is deleted, or lost with its machine, every name is new: a call searches once, and finds what the
// service lists. That is safe if no request was sent within the settle time. A copy is a ledger of its own, and must
// not be used beside the original. A backup that is restored has forgotten what came after it: it is safe under the
// same condition. A file that cannot be read fails the calls for its name, and nothing is sent.
package once
