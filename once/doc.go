// Package once makes Store calls safe to repeat: after a second click, a retry or a restart, and by other processes. It
// stores records by name, and keeps what must not be forgotten in a ledger.
//
//	names, err := once.New(client, once.Dir("/var/lib/illustrator"))
//	if err != nil {
//		return err
//	}
//	image, found, err := names.Images.Store(ctx, params) // creates the image unless it exists
//
// A Store call is billed, and one that failed may still have created its record: a proxy gave up, the connection broke,
// the process was killed. A program that stores again may pay twice; one that does not may never get its record. With
// this package, the program calls Store again with the same arguments whenever [aicontent.Temporary] says so, from any
// process that uses the ledger, and gets the one record.
//
// The name must be unique, such as a job's ID or the hash of a file, and never a title that a person typed: two calls
// with one name must mean the same record. Store by name from the first call on: the ledger knows nothing of plain
// Store calls.
//
// The ledger is [InMemory] for a single process, [Dir] for the processes of one machine, or a database. A database
// holds one row for each name: a key, an entry of some 300 bytes, and a version. See [Ledger].
//
// # How it works
//
//  1. If the ledger knows the record's ID, Store shows that record and returns it.
//  2. Otherwise, it takes the name in the ledger, so that no other call stores it meanwhile. A process that dies loses
//     the name after 30 seconds, or after five minutes if a create request was under way.
//  3. It searches for the name. If a create request was sent before, even by a process that was killed, it repeats the
//     search until the settle time after that request has passed: see [WithSettleTime]. A restart does not begin the
//     wait anew.
//  4. If there is no record, it notes in the ledger that a create request is under way, and makes one plain Store call.
//     If the outcome is Unknown, or the service created the record without telling its ID, step 3 follows.
//  5. It writes the result to the ledger, and gives the name back.
//
// A record that was created is never created again, even if no list shows it, until Delete frees the name. The service
// may change what it stores, even the name: once its ID is known, a record is found by the ID. If the name of the
// record with that ID has changed since, the error is a [*aicontent.ConflictError]: somebody has renamed the record, or
// a database was reset and the ID belongs to another one.
//
// The outcome of an [*Error] is that of the record, not of the call: Done if it was created, Unknown while a request
// may still create it, and NotSent or Rejected only if there is none and will be none.
//
// # How long a call takes
//
// Only the context limits a call. With all else at its default, and searches that succeed:
//
//	                                                     create requests  searches  until the call ends
//	the record is created, and the response arrives                    1         1  as long as a Store
//	a 504 at once, and the record 8 min later                          1        22  8 min
//	a 504 at once, and no record                                       1        36  15 min: NotSent, temporary
//	no response, and no record                                         1        36  25 min: NotSent, temporary
//	the process was killed while it sent, and then:
//	  the record appears                                               0      2-36  5 min, or when it appears
//	  no record appears                                                1        37  sends after 21 min, then as above
//
// A 502, 503 or 504 is never followed by a second create request in the same call; no connection, an upload that was
// cut off and a 429 are, up to four attempts in all, because they created nothing.
//
// A search is a List request for up to 100 records; more pages follow only if more names contain this one, and a Show
// if it finds the record. If the first search of a call fails and no earlier request may still create the record, the
// call ends: NotSent, temporary, nothing is sent. A later one that fails is repeated. A call that waits searches after
// 0, 1, 3, 7, 15 and 31 seconds, and then every 30 seconds: 30 names that wait use up a limit of 60 requests a minute,
// and three times that in their first minute. A rate limiter delays searches and loses nothing. Retry-After is obeyed
// up to 15 minutes. The 21 minutes after a kill are the five of the name, the settle time, and one for clocks that
// differ.
//
// # What a call costs
//
//	                                        Get  Put  requests
//	a record that the ledger knows            1    0  Show
//	a new record                              1    3  a search, Store
//	a record that only the service knows      1    2  a search, Show
//	Delete                                    1    2  Show, Delete
//
// A Put of [Dir] is one fsync, or two for a new name. While a call has the name, it also renews its claim, every 10
// seconds, or every minute while it sends.
//
// # What it cannot do
//
// There may be a second record, or a wrong NotSent, if
//
//   - a program stores the name without this package, or with another ledger or scope
//   - the service creates the record later than the settle time after the request ended
//   - somebody renames the record, or deletes it without this package, before its ID is known
//   - no list ever shows the record, or lists have no names
//   - the clocks of two processes differ by more than a minute, or one is set forward by more than the settle time
//   - a process, or its machine, is suspended between noting a request and the end of that request
//   - an entry is deleted, or restored from a backup, while it says more than the service's lists do
//
// # Looking after a ledger
//
// [Dir] has a file for each name, named by a hash, with a line of JSON for each change, the last one at the end. A line
// has the name, "holder" while a call has it, "sending" while a request is under way, and "until" when its record can
// no longer appear; "made" and "id" are those of the record. This lists what may be open:
//
//	tail -qn1 folder/* | grep -E '"(sending|until)":'
//
// Delete, called for a name, deletes its record and clears its entry.
//
// If the folder is deleted, or lost with its machine, every name is new: a call searches once, and finds what the
// service lists. That is safe if no request was sent within the settle time. A copy is a ledger of its own, and must
// not be used beside the original. A backup that is restored has forgotten what came after it: it is safe under the
// same condition. A file that cannot be read fails the calls for its name, and nothing is sent.
package once
