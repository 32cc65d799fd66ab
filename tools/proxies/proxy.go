package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// proxy is a program in front of the service. In args and files, {dir} is a directory of its own, {port} the port to
// listen on, {backend} the address of the service, and {root} is "#" unless this program runs as root.
type proxy struct {
	name    string
	program string
	debian  string // the package
	version string // the argument that prints it
	args    []string
	files   map[string]string
	scratch string // where its directories are made
	// refuses is the status with which the service refuses uploads, behind a proxy that ends TLS with {dir}/pair.pem.
	// It is 0 for the others, behind which the service is slow.
	refuses int
}

// running is a started proxy.
type running struct {
	address string
	title   string // name and version
	stop    func() // ends it
}

// start starts the proxy in front of the backend, an address.
func (p *proxy) start(ctx context.Context, backend string) (*running, error) {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return nil, fmt.Errorf("%w (Debian: %s)", err, p.debian)
	}
	dir, err := os.MkdirTemp(p.scratch, "")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	_, backendPort, _ := net.SplitHostPort(backend)
	root := ""
	if os.Geteuid() != 0 {
		root = "#"
	}
	fill := strings.NewReplacer(
		"{dir}", dir, "{port}", port, "{backend}", backend, "{backend-port}", backendPort, "{root}", root)
	for name, text := range p.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fill.Replace(text)), 0o600); err != nil {
			return nil, err
		}
	}
	var args []string
	for _, arg := range p.args {
		args = append(args, fill.Replace(arg))
	}
	running := &running{address: address, title: p.title(ctx, program)}
	running.stop, err = launch(ctx, exec.Command(program, args...), dir, address)
	return running, err
}

// title is the name with the version that the program prints.
func (p *proxy) title(ctx context.Context, program string) string {
	printed, _ := exec.CommandContext(ctx, program, p.version).CombinedOutput()
	version := regexp.MustCompile(`\d+\.\d+(\.\d+)*`).Find(printed)
	before, after, _ := strings.Cut(p.name, ",")
	return strings.TrimSuffix(before+" "+string(version)+","+after, ",")
}

// freeAddress returns an address without a listener.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// launch starts the command and waits until it accepts connections.
func launch(ctx context.Context, command *exec.Cmd, dir, address string) (stop func(), err error) {
	var output bytes.Buffer
	command.Stdout, command.Stderr, command.Dir = &output, &output, dir
	// What it has started may outlive it for a moment.
	command.WaitDelay = time.Second
	if err := command.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	stop = func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = command.Process.Kill()
			<-ended
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return stop, nc.Close()
		}
		select {
		case <-ended:
			stop()
			return nil, fmt.Errorf("it ended: %v\n%s", command.ProcessState, output.String())
		case <-ctx.Done():
			stop()
			return nil, fmt.Errorf("it does not listen: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
