package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/aicontent/aicontent-go/bench/service"
)

// serve is the server process: it prints its URL and ends when its standard input does, so that it never outlives the run.
func serve(records int) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	server := &http.Server{Handler: service.Handler(records)}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// server is a server process.
type server struct {
	URL   string
	cmd   *exec.Cmd
	stdin io.Closer
}

// startServer starts one on a port of its own, so that the connections that one client leaves behind are none of the next one's business.
func startServer(ctx context.Context, records int) (*server, error) {
	cmd := exec.CommandContext(ctx, self(), "-serve", strconv.Itoa(records))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	s.URL = strings.TrimSpace(line)
	return s, nil
}

func (s *server) stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}

// received asks how many uploads came, and how many bytes with them.
func (s *server) received() (uploads, bytes int64, err error) {
	resp, err := http.Get(s.URL + service.ReceivedPath)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, err = fmt.Fscan(resp.Body, &uploads, &bytes)
	return uploads, bytes, err
}

// do runs a job in a process of its own and returns what it came to.
func do[T any](ctx context.Context, j job) (T, error) {
	var result T
	task, err := json.Marshal(j)
	if err != nil {
		return result, err
	}
	cmd := exec.CommandContext(ctx, self(), "-job", string(task))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return result, fmt.Errorf("%s: %s: %w: %s", j.Kind, j.SDK, err, strings.TrimSpace(stderr.String()))
	}
	return result, json.Unmarshal(stdout.Bytes(), &result)
}

// self is this program's file.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
