package wire

import "runtime"

// Go runs f on a goroutine of its own, and sends its error when it returns. A panic of f is a [*Panic].
func Go(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		stray := new(Panic)
		var err error = stray // until f has returned
		defer func() {
			stray.value = recover()
			done <- err
		}()
		err = f()
	}()
	return done
}

// Panic is the error of a function that panicked, or ended its goroutine.
type Panic struct {
	value any // nil for the end of the goroutine
}

func (*Panic) Error() string { return "a panic" }

// Raise lets err continue in the goroutine that calls it if it is a [*Panic].
func Raise(err error) {
	switch stray, ok := err.(*Panic); {
	case !ok:
	case stray.value == nil:
		runtime.Goexit() // as FailNow of a test does
	default:
		panic(stray.value)
	}
}
