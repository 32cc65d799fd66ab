//go:build race

package integration

func init() { underRace = true }
