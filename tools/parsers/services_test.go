package parsers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// service is a program with parsers in it, on a port of the loopback interface.
type service struct {
	address string
	records string            // the file to which it appends its records
	missing map[string]string // parsers that are not installed, and why
	unable  error             // the whole program cannot run
	process *exec.Cmd
}

// record is what a service read of a form.
type record struct {
	Parser, Name, Filename, Sum string
}

var services = map[string]*service{}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "parsers")
	if err != nil {
		panic(err)
	}
	for name, start := range map[string]func(records string) (*service, error){
		"php": startPHP, "node": startNode, "python": startPython,
	} {
		records := filepath.Join(dir, name)
		s, err := start(records)
		if err != nil {
			s = &service{unable: err}
		}
		s.records = records
		services[name] = s
	}
	status := m.Run()
	for _, s := range services {
		if s.process != nil {
			_ = s.process.Process.Kill()
			_ = s.process.Wait()
		}
	}
	os.RemoveAll(dir)
	os.Exit(status)
}

// startPHP starts PHP's own server, which tells its port on its standard error.
func startPHP(records string) (*service, error) {
	path, err := exec.LookPath("php")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	process := exec.Command(path, "-d", "file_uploads=1", "-d", "post_max_size=64M", "-d", "upload_max_filesize=64M",
		"-S", address, "services/php.php")
	process.Env = append(os.Environ(), "RECORDS="+records)
	log, err := process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "started") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return &service{address: address, process: process}, nil
		}
	}
	return nil, errors.New("php does not start")
}

// freePort returns a free port below those that systems give to connections, which could take it meanwhile.
func freePort() (int, error) {
	for range 100 {
		port := 10000 + rand.IntN(22768)
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no free port")
}

func startNode(records string) (*service, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	return startTelling(records, path, "services/node.js")
}

// startPython prefers Debian's Python, which sees Debian's packages.
func startPython(records string) (*service, error) {
	path := "/usr/bin/python3"
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("python3"); err != nil {
			return nil, err
		}
	}
	return startTelling(records, path, "services/python.py")
}

// startTelling starts a program that tells its port and what it misses in its first line.
func startTelling(records, path, script string) (*service, error) {
	process := exec.Command(path, script)
	process.Env = append(os.Environ(), "RECORDS="+records)
	process.Stderr = os.Stderr
	// It ends when this pipe does, also where the test is killed.
	if _, err := process.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	var told struct {
		Port    int
		Missing map[string]string
	}
	if err := json.NewDecoder(output).Decode(&told); err != nil {
		_ = process.Process.Kill()
		_ = process.Wait()
		return nil, fmt.Errorf("%s does not start: %w", script, err)
	}
	return &service{address: fmt.Sprintf("127.0.0.1:%d", told.Port), missing: told.Missing, process: process}, nil
}

// serviceOf returns the service with a parser in it, and skips the test where there is none.
func serviceOf(t *testing.T, p parser) *service {
	s := services[p.service]
	if s.unable != nil {
		t.Skipf("%s is missing, see tools/parsers/install: %v", p.service, s.unable)
	}
	if reason, found := s.missing[p.name]; found {
		t.Skipf("%s is missing, see tools/parsers/install: %s", p.name, reason)
	}
	return s
}

// idle waits for what a parser does after its connection broke. The others have closed it by then.
func (s *service) idle(t *testing.T, p parser) {
	if p.service == "node" {
		resp, err := http.Get("http://" + s.address + "/idle")
		if assert.NoError(t, err) {
			resp.Body.Close()
		}
	}
}

// all returns the records that a parser has read so far.
func (s *service) all(t *testing.T, p parser) (found []record) {
	data, err := os.ReadFile(s.records)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var r record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if r.Parser == p.name {
			found = append(found, r)
		}
	}
	return found
}
