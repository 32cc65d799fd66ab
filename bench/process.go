package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"

	"github.com/aicontent/aicontent-go/bench/service"
)

// serving describes a server process.
type serving struct {
	Records int
	TLS     bool // over HTTP/1.1, as without TLS
}

// serve is the server process: it prints its URL and its certificate, and ends when its standard input does, so that it
// never outlives the run.
func serve(what string) error {
	var s serving
	if err := json.Unmarshal([]byte(what), &s); err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(service.Handler(s.Records))
	if s.TLS {
		server.StartTLS()
		fmt.Println(server.URL, hex.EncodeToString(server.Certificate().Raw))
	} else {
		server.Start()
		fmt.Println(server.URL)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.CloseClientConnections()
	return nil
}

// server is a server process.
type server struct {
	URL   string
	CA    []byte // its certificate, in DER; empty without TLS
	cmd   *exec.Cmd
	stdin io.Closer
}

// startServer starts one on another port than all before, so that no client meets connections that another left open.
func startServer(ctx context.Context, what serving) (*server, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", string(text))
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
	url, certificate, _ := strings.Cut(strings.TrimSpace(line), " ")
	s.URL = url
	if s.CA, err = hex.DecodeString(certificate); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}

// received asks how many uploads came, and how many bytes with them.
func (s *server) received() (uploads, bytes int64, err error) {
	client := http.DefaultClient
	if len(s.CA) > 0 {
		transport, err := trusting(s.CA)
		if err != nil {
			return 0, 0, err
		}
		defer transport.CloseIdleConnections()
		client = &http.Client{Transport: transport}
	}
	resp, err := client.Get(s.URL + service.ReceivedPath)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, err = fmt.Fscan(resp.Body, &uploads, &bytes)
	return uploads, bytes, err
}

// do runs a job in another process and returns its result.
func do[T any](ctx context.Context, j job) (T, error) {
	var result T
	task, err := json.Marshal(j)
	if err != nil {
		return result, err
	}
	cmd := exec.CommandContext(ctx, self, "-job", string(task))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return result, fmt.Errorf("%s: %s: %w: %s", j.Kind, j.SDK, err, strings.TrimSpace(stderr.String()))
	}
	return result, json.Unmarshal(stdout.Bytes(), &result)
}

// self is this program's file.
var self, _ = os.Executable()
