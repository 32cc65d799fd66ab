package fakes

import (
	"os"
	"syscall"
	"testing"
)

// HangingFile returns an open file with the mode of an empty regular file. Its Read hangs in the kernel until the test
// ends, like a Read from a network disk without its network. It is an eventfd without an event.
func HangingFile(t testing.TB) *os.File {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC, 0)
	if errno != 0 {
		t.Fatal(os.NewSyscallError("eventfd2", errno))
	}
	file := os.NewFile(fd, "hanging.wav")
	t.Cleanup(func() {
		// Each Read consumes the event. One waits, and another may follow.
		_, _ = file.Write([]byte{7: 1})
		_ = file.Close()
	})
	return file
}
