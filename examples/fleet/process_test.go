package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// role is set for a process that the tests start from their own binary.
const role = "FLEET_TEST_ROLE"

func TestMain(m *testing.M) {
	as := os.Getenv(role)
	if as == "" {
		os.Exit(m.Run())
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the tests
		os.Exit(1)
	}()
	if as == "node" {
		nodeMain(os.Args[1:])
	}
	main()
}

// newProcess returns a process in a role, which a test may start and kill.
func newProcess(t *testing.T, as string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	return cmd
}

// start starts a process in a role, and ends it with the test.
func start(t *testing.T, as string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := newProcess(t, as, args...)
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { kill(cmd) })
	return cmd
}

// kill ends a process with SIGKILL, unless it has ended.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// A supervised process is started again whenever it ends, because one of fleet ends if it reaches no NATS server.
type supervised struct {
	mu   sync.Mutex
	cmd  *exec.Cmd
	over bool
}

// supervise runs a process of fleet until the test ends.
func supervise(t *testing.T, args ...string) *supervised {
	t.Helper()
	s, ended := &supervised{}, make(chan struct{})
	s.start(t, args)
	go func() {
		defer close(ended)
		for running := true; running; running = s.start(t, args) {
			_ = s.cmd.Wait()
		}
	}()
	t.Cleanup(func() {
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		s.kill()
		<-ended
	})
	return s
}

// start starts the process, unless the test is over.
func (s *supervised) start(t *testing.T, args []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.cmd = newProcess(t, "fleet", args...)
	return assert.NoError(t, s.cmd.Start())
}

func (s *supervised) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Kill()
}

// A cluster is three NATS servers, each a process.
type cluster struct {
	nodes [3]*exec.Cmd
	args  [3][]string
}

// startCluster starts a cluster, which NATS_URL names.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	ports := freePorts(t, 6)
	addresses := func(ports []int) string {
		return fmt.Sprintf("nats://127.0.0.1:%d,nats://127.0.0.1:%d,nats://127.0.0.1:%d", ports[0], ports[1], ports[2])
	}
	c := &cluster{}
	for i := range c.nodes {
		route, port := strconv.Itoa(ports[i]), strconv.Itoa(ports[3+i])
		c.args[i] = []string{fmt.Sprint("node", i), t.TempDir(), port, route, addresses(ports[:3])}
		c.start(t, i)
		require.Eventually(t, func() bool {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			return err == nil && conn.Close() == nil
		}, time.Minute, 10*time.Millisecond)
	}
	t.Setenv("NATS_URL", addresses(ports[3:]))
	js, err := connect("")
	require.NoError(t, err)
	defer js.Conn().Close()
	require.Eventually(t, func() bool { // On a busy machine, it takes longer to choose a leader than openQueue waits.
		_, err := js.AccountInfo(t.Context())
		return err == nil
	}, 3*time.Minute, 50*time.Millisecond)
	return c
}

func (c *cluster) start(t *testing.T, i int) { c.nodes[i] = start(t, "node", c.args[i]...) }

// nodeMain is a node of a cluster.
func nodeMain(args []string) {
	o := &server.Options{ServerName: args[0], StoreDir: args[1], Host: "127.0.0.1"}
	o.Port, _ = strconv.Atoi(args[2])
	o.Cluster = server.ClusterOpts{Name: "fleet", Host: "127.0.0.1"}
	o.Cluster.Port, _ = strconv.Atoi(args[3])
	o.Routes = server.RoutesFromStr(args[4])
	node, err := startNode(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, args[0], err)
		os.Exit(1)
	}
	node.WaitForShutdown()
}

// freePorts returns ports of loopback that nothing listens on. Nodes that restart need theirs to be known. Systems give
// the ports above 32767 to others meanwhile: to connections, and to servers that take any port.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range 1000 {
		port := 10000 + rand.IntN(22768)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer l.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	require.Fail(t, "no free ports")
	return nil
}

// startNode runs a NATS server in this process.
func startNode(o *server.Options) (*server.Server, error) {
	o.JetStream, o.NoSigs, o.NoLog = true, true, true
	node, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	go node.Start()
	if !node.ReadyForConnections(30 * time.Second) {
		return nil, errors.New("the NATS server did not start")
	}
	return node, nil
}
