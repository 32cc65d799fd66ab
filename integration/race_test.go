//go:build race

package integration

// Under the race detector, which takes many times the CPU time, some tests play less. In CI, go test ./... plays all of
// it without the detector.
func init() { underRace, *chaosOps = true, 100 }
