package fakes

import (
	"os"
	"syscall"
	"testing"
)

// HangingFile returns an open file that calls itself regular and empty, and whose Read hangs in the kernel until the
// test ends, as that of a file on a network disk does when the network is gone. It is an eventfd that has no event.
func HangingFile(t testing.TB) *os.File {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC, 0)
	if errno != 0 {
		t.Fatal(os.NewSyscallError("eventfd2", errno))
	}
	file := os.NewFile(fd, "hanging.wav")
	t.Cleanup(func() {
		// Each Read takes the event, and one may follow another.
		_, _ = file.Write([]byte{7: 1})
		_ = file.Close()
	})
	return file
}
