package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/aicontenttest"
)

// role is set for a process that the tests start from their own binary.
const role = "FLEET_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "node":
		nodeMain(os.Args[1:])
	case "service":
		serviceMain(os.Args[1:])
	default:
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // ends with the tests
			os.Exit(1)
		}()
		main()
	}
}

// A process is a part of a fleet that a test may kill.
type process struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader // its standard output
	ended chan struct{} // closed when it has ended
}

// start starts a process in a role, and ends it with the test.
func start(t *testing.T, env []string, as string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &process{Cmd: exec.Command(self, args...), ended: make(chan struct{})}
	p.Env = append(append(os.Environ(), role+"="+as), env...)
	if testing.Verbose() {
		p.Stderr = os.Stderr
	}
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	stdout, err := p.StdoutPipe()
	require.NoError(t, err)
	p.lines = bufio.NewReader(stdout)
	require.NoError(t, p.Start())
	go func() {
		_, _ = p.Process.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	require.NoError(t, err)
	return line[:len(line)-1]
}

// A cluster is three NATS servers, each a process.
type cluster struct {
	t     *testing.T
	nodes [3]*process
	args  [3][]string
	url   string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	ports := freePorts(t, 6)
	routes := fmt.Sprintf("nats://127.0.0.1:%d,nats://127.0.0.1:%d,nats://127.0.0.1:%d", ports[0], ports[1], ports[2])
	c := &cluster{t: t}
	c.url = fmt.Sprintf("nats://127.0.0.1:%d,nats://127.0.0.1:%d,nats://127.0.0.1:%d", ports[3], ports[4], ports[5])
	for i := range c.nodes {
		port, route := strconv.Itoa(ports[3+i]), strconv.Itoa(ports[i])
		c.args[i] = []string{fmt.Sprint("node", i), t.TempDir(), port, route, routes}
		c.start(i)
	}
	for _, node := range c.nodes {
		require.Equal(t, "ready", node.line(t))
	}
	return c
}

func (c *cluster) start(i int) { c.nodes[i] = start(c.t, nil, "node", c.args[i]...) }

// nodeMain is a node of a cluster.
func nodeMain(args []string) {
	o := &server.Options{ServerName: args[0], StoreDir: args[1], Host: "127.0.0.1"}
	o.Port, _ = strconv.Atoi(args[2])
	o.Cluster = server.ClusterOpts{Name: "fleet", Host: "127.0.0.1"}
	o.Cluster.Port, _ = strconv.Atoi(args[3])
	o.Routes = server.RoutesFromStr(args[4])
	if _, err := startNode(o); err != nil {
		fmt.Fprintln(os.Stderr, args[0], err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// freePorts returns ports of loopback that nothing listens on. Nodes that restart need theirs to be known.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// A service is the kit in a process of its own, which outlives what is killed.
type service struct {
	t   *testing.T
	p   *process
	env []string
}

// A book is what the service has seen.
type book struct {
	Made       int               // records
	Records    map[string][]made // the same by name
	Faults     int               // requests that met one
	Violations []string          // of the contract
}

type made struct{ ID, Result string }

func startService(t *testing.T, latency time.Duration, faults float64, seed uint64) *service {
	t.Helper()
	p := start(t, nil, "service", latency.String(), fmt.Sprint(faults), fmt.Sprint(seed))
	return &service{t, p, []string{"AICONTENT_BASE_URL=" + p.line(t), "AICONTENT_API_KEY=" + p.line(t)}}
}

// order gives the service an order and returns its book: count, which fills Made alone, or book.
func (s *service) order(what string) (b book) {
	s.t.Helper()
	_, err := fmt.Fprintln(s.p.stdin, what)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal([]byte(s.p.line(s.t)), &b))
	return b
}

func serviceMain(args []string) {
	latency, _ := time.ParseDuration(args[0])
	rate, _ := strconv.ParseFloat(args[1], 64)
	seed, _ := strconv.ParseUint(args[2], 10, 64)
	srv, err := aicontenttest.Start(aicontenttest.Latency(latency))
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
	srv.Chaos(seed, rate)
	fmt.Println(srv.URL)
	fmt.Println(srv.APIKey)
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		answer := book{Made: len(srv.Records())}
		if orders.Text() == "book" {
			answer.Records = map[string][]made{}
			for _, r := range srv.Transcriptions() {
				answer.Records[r.Name] = append(answer.Records[r.Name], made{r.ID, r.Result})
			}
			for _, r := range srv.Requests() {
				if r.Fault != "" {
					answer.Faults++
				}
			}
			for _, v := range srv.Violations() {
				answer.Violations = append(answer.Violations, v.String())
			}
		}
		data, _ := json.Marshal(answer)
		fmt.Println(string(data))
	}
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
