package main

import "time"

// records is how many there are in the service, but for a quick walk.
const records = 100_000

// mib is a mebibyte, the unit of sizes here.
const mib = 1 << 20

// plan says how much of everything is done.
type plan struct {
	Quick       bool
	Sizes       []uploadSize
	TLSSizes    []uploadSize // by SDKs that stream
	LargeRounds int
	LargeMiB    int64         // one upload of a sparse file
	Parallel    int           // uploads at once
	ParallelMiB int64         // of this size
	CallRounds  int           // of show and list
	CallTime    time.Duration // for each call, round and SDK
	ManyRounds  int
	ManyTime    time.Duration // 64 goroutines of show
	WalkRounds  int
	WalkRecords int
	Operations  int // that meet faults
	OutageCalls int // at once, while a gateway responds with 502
}

// uploadSize is a size, how often a process repeats the upload after the first, cold one, and in how many rounds.
type uploadSize struct {
	MiB    int64
	Warm   int
	Rounds int
}

// goroutines is how many call show at once.
const goroutines = 64

// seed draws the faults.
const seed = 20260101

func fullPlan() plan {
	return plan{
		Sizes:       []uploadSize{{1, 100, 15}, {64, 8, 9}, {512, 1, 3}},
		TLSSizes:    []uploadSize{{1, 50, 9}, {64, 4, 5}, {512, 1, 3}},
		LargeRounds: 3, LargeMiB: 4096, Parallel: 64, ParallelMiB: 64,
		CallRounds: 21, CallTime: 35 * time.Millisecond,
		ManyRounds: 3, ManyTime: 1500 * time.Millisecond,
		WalkRounds: 2, WalkRecords: records, Operations: 66, OutageCalls: 3200,
	}
}

func quickPlan() plan {
	return plan{
		Quick: true, Sizes: []uploadSize{{1, 5, 1}, {64, 1, 1}}, TLSSizes: []uploadSize{{1, 2, 1}},
		LargeRounds: 1, LargeMiB: 512, Parallel: 8, ParallelMiB: 16,
		CallRounds: 3, CallTime: 20 * time.Millisecond,
		ManyRounds: 1, ManyTime: 250 * time.Millisecond,
		WalkRounds: 1, WalkRecords: 5_000, Operations: 22, OutageCalls: 200,
	}
}
