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
// A plain Store call that fails may still have created, and billed, its record. With this package you make the same
// call again, if [aicontent.Retryable] reports true, at the time of [aicontent.RetryAt], from any process with the same
// ledger: [InMemory] for one process, [Dir] or SQLite for one machine, or a database for several (see [Ledger]). Each
// call that succeeds returns the same record.
//
// Your part:
//
//   - Use a unique name, such as a job's ID or the hash of a file, not a title that a person typed.
//   - Use this package for every Store: the ledger does not know plain Store calls.
//   - Save the job before you call Store: the ledger has only the name and a hash of the parameters.
//   - On SIGTERM, end the context of the calls, as above, and let them write to the ledger.
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
// If a response proves that the record exists, but has no ID, no call sends again until Delete frees the name. If Show
// lacks a record whose ID is known, calls wait for it until the settle time after it was stored. Then it counts as
// deleted, and Store creates another. If the record has another name, the error is a [*aicontent.ConflictError].
// PROTOCOL.md, beside the code, has all rules with their reasons.
//
// # How long a call takes
//
// A call normally takes as long as a Store. If an earlier request is open, the call first waits for its record: at most
// for the settle time after the request ended. A restart does not extend the wait. The context ends the wait and also a
// create request, which may still be billed; [WithMaxWait] ends only the wait. With the defaults:
//
//	                                         create requests  searches  until the call ends
//	the response arrives                                   1         1  as long as a Store
//	a 504 at once, then the record 8 min later             1        22  8 min
//	a 504 at once, then no record                          1        36  15 min: NotExecuted, retryable
//	another process's request takes 9 min                  0        22  9 min
//	a process was killed while it sent, and then:
//	  the record appears at once                           0         2  1 s
//	  the record appears a minute later                    0         7  1 min
//	  no record appears                                    1        39  sends after 17 min
//
// A call searches 1, 3, 7, 15 and 31 seconds after its first pause began, then every 30 seconds, or later for a
// Retry-After. A worker with WithMaxWait(0) that calls again at RetryAt makes as many searches.
//
// # After a kill
//
// A process that is killed cannot write when its request ended. Therefore it announces beforehand until when the
// request may create a record: two minutes and the settle time from now. It renews this every 30 seconds while it
// sends. After a kill, other calls wait for the record until then, by default 17 minutes at most, and then Store sends.
//
// The two minutes bridge a short failure of the ledger. A process that cannot write to it for 105 seconds ends its
// request, so that no other process takes a living request for a dead one.
//
// # What a call costs
//
//	                                        Get  Put  requests
//	a record that the ledger knows            1    0  Show
//	a new record                              1    2  a search, Store
//	a record that only the service knows      1    1  a search, Show
//	a request that the service refuses        1    2  a search, Store
//	Find of a name that is not there          2    0  a search
//	Delete                                    1    1  Show, Delete
//
// Sending costs a further Put every 30 seconds, and a pause a Get every second.
//
// # What it cannot do
//
// A second record or a wrong NotExecuted is possible if
//
//   - a program stores the name without this package, or with another ledger or scope
//   - the record appears later than the settle time after the request ended, in lists and in Show
//   - the service changes names, and a response is lost
//   - a person renames or deletes the record before its ID is known
//   - clocks differ by more than the settle time allows
//   - a process is suspended while it sends, for longer than 15 seconds and the unused part of the settle time
//   - an entry is deleted, or restored from a backup, before lists show the record
//   - the response to a Store has no ID, and the ledger could not be written
//   - a Delete is suspended for longer than the settle time beside a Store
//
// The settle time ([WithSettleTime]) must therefore cover the longest Store of your deployment, even behind a 504, the
// lag of its lists and of Show, and the difference of your machines' clocks. Take twice the sum. docs/recipes.md
// measures it. If it is too short, you pay twice: with three seconds, a 504 at once and the record six seconds later, a
// call ends NotExecuted after three seconds, and the next one stores again.
//
// Lists must have names and IDs: otherwise calls end with the error of the search. To check a deployment, call
// FindByName for a record that exists. An empty list shows no fault: then the first Store succeeds, and those of other
// names fail.
//
// # Looking after a ledger
//
// A [Lister] lists its names; docs/recipes.md has a command that prints it. [Client.Key] returns the key of a name.
// Delete deletes a name's record and clears its entry. Never use a copy of a ledger beside the original.
package once
