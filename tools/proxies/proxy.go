package main

import (
	"context"
	"errors"
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
	tls     bool // it ends TLS, with {dir}/pair.pem; behind others, the service is slow
}

// missing reports whether an error says that a program is not installed.
func missing(err error) bool { return errors.Is(err, exec.ErrNotFound) }

// running is a proxy that was started.
type running struct {
	address string
	title   string // name and version
	command *exec.Cmd
	ended   chan error
	log     string // a file
	dir     string
}

// start starts the proxy in front of the backend, an address.
func (p *proxy) start(ctx context.Context, backend string, files map[string]string) (*running, error) {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return nil, fmt.Errorf("%w (Debian: %s)", err, p.debian)
	}
	dir, err := os.MkdirTemp("", "proxies-")
	if err != nil {
		return nil, err
	}
	r := &running{title: p.name, dir: dir, log: filepath.Join(dir, "output"), ended: make(chan error, 1)}
	printed, _ := exec.CommandContext(ctx, program, p.version).CombinedOutput()
	if version := regexp.MustCompile(`\d+\.\d+(\.\d+)*`).Find(printed); version != nil {
		before, after, _ := strings.Cut(p.name, ",")
		r.title = strings.TrimSuffix(before+" "+string(version)+","+after, ",")
	}
	if r.address, err = freeAddress(); err == nil {
		err = r.launch(ctx, program, p, backend, files)
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// freeAddress is one that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (r *running) launch(ctx context.Context, program string, p *proxy, backend string, files map[string]string) error {
	_, port, _ := net.SplitHostPort(r.address)
	_, backendPort, _ := net.SplitHostPort(backend)
	root := ""
	if os.Geteuid() != 0 {
		root = "#"
	}
	fill := strings.NewReplacer(
		"{dir}", r.dir, "{port}", port, "{backend}", backend, "{backend-port}", backendPort, "{root}", root)
	for name, text := range p.files {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(fill.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	output, err := os.Create(r.log)
	if err != nil {
		return err
	}
	defer output.Close()
	var args []string
	for _, arg := range p.args {
		args = append(args, fill.Replace(arg))
	}
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr, command.Dir = output, output, r.dir
	if err := command.Start(); err != nil {
		return err
	}
	r.command = command
	go func() { r.ended <- command.Wait() }()
	return r.listens(ctx)
}

// listens waits until the proxy accepts connections.
func (r *running) listens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
		if err == nil {
			return nc.Close()
		}
		select {
		case err := <-r.ended:
			r.ended <- err
			text, _ := os.ReadFile(r.log)
			return fmt.Errorf("it ended: %v\n%s", err, text)
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the proxy and removes its directory.
func (r *running) stop() {
	if r.command != nil {
		_ = r.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.ended:
		case <-time.After(10 * time.Second):
			_ = r.command.Process.Kill()
			<-r.ended
		}
	}
	os.RemoveAll(r.dir)
}
