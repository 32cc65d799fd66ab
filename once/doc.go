// Package once makes Store calls safe to repeat: by a second click, a retry, another process, or after a restart. It
// keeps records by name, in a ledger that survives what the program does not.
//
//	names, err := once.New(client, once.Dir("/var/lib/illustrator"))
//	if err != nil {
//		return err
//	}
//	image, found, err := names.Images.Store(ctx, params) // creates it unless it is there
//
// A Store call is billed, and one that failed may still have created its record: a proxy gave up, the connection broke,
// the process was killed. A program that stores again pays twice; one that does not may never get its record. With this
// package, it calls Store again with the same name whenever [aicontent.Temporary] says so, from any process that uses
// the ledger, and gets the one record.
//
// The name must be unique, such as a job's ID or the hash of a file, and never a title that a person typed. Two calls
// for one name must mean the same record. The ledger is [InMemory] for a single process, [Dir] for the processes of a
// machine, or a database: see [Ledger].
//
// # How it works
//
//  1. If the ledger knows the record's ID, Store shows that record and returns it.
//  2. Otherwise it takes the name, in the ledger, for itself. A call that dies loses it after 30 seconds, or five
//     minutes while a create request was under way.
//  3. It searches for the name. If a request was sent before, even by a process that was killed, it repeats the search
//     until the settle time after that request has passed: see [WithSettleTime]. Restarts prolong nothing.
//  4. If there is no record, it notes in the ledger that a request is under way, and makes one plain Store call. If the
//     outcome is Unknown, or the service created the record without telling its ID, step 3 follows.
//  5. It writes the result to the ledger, and frees the name.
//
// A record that was created is never created again, even if no list shows it, until Delete frees the name. The service
// may change what it stores, even the name: once its ID is known, a record is found by that. A record whose ID has
// another name than it was given is a [*aicontent.ConflictError], since a database may have been reset.
//
// The outcome of an [*Error] is about the record: Done if it was created, Unknown while a request may still become it,
// and NotSent or Rejected only if there is none and will be none.
//
// # What a call costs
//
//	                                        Get  Put  requests
//	a record that the ledger knows            1    0  Show
//	a new record                              1    3  a search, Store
//	a record that only the service knows      1    2  a search, Show
//	Delete                                    1    2  Show, Delete
//
// A search is a List of 100 records; more pages follow only if that many names contain this one. A Put of [Dir] is one
// fsync, two for a new name. While a call has the name, it renews its claim every 10 seconds, every minute while it
// sends. A call that waits for a record searches at once, after 1, 2, 4, 8 and 16 seconds, and then every 30 seconds:
// 35 times in the default settle time. Nothing but the context limits how long a call takes: with all else at its
// default, a Store whose response is lost after 10 minutes may take 25.
//
// # What it cannot do
//
// A second record is possible, and a wrong NotSent, if
//
//   - a program stores the name without this package, or with another ledger or scope
//   - the service takes longer than the settle time after a request ended to create the record
//   - somebody renames the record, or deletes it without this package, before its ID is known
//   - a list never shows the record, or shows no names
//   - the clocks of two processes differ by more than a minute, or one is set forward by more than the settle time
//   - a process, or its machine, is suspended between noting a request and the end of that request
//   - an entry is deleted, or restored from a backup, while it says more than the service's lists do
//
// # Looking after a ledger
//
// [Dir] has a file for each name, named by a hash, with a line of JSON for each change, the last one at the end. A line
// has the name, "holder" while a call has it, "sending" while a request is under way, and "until" when its record can
// no longer appear; "made" and "id" are those of the record. So
// tail -qn1 folder/* | grep -E '"(sending|until)":' shows what may be open, and Delete, called for a name, deletes its
// record and clears its entry.
//
// If the folder is deleted, or lost with its machine, every name is new: a call searches once, and finds what the
// service lists. That is safe when no request was sent within the settle time. A copy is a ledger of its own, and must
// not be used beside the original. A backup that is restored has forgotten what came after it, with the same conditions
// as a folder that is deleted. A file that cannot be read fails its calls, and nothing is sent.
package once
