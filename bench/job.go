package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// job is the work of a child process.
type job struct {
	Kind    string
	SDK     string // empty where the job goes over all of them
	URL     string
	Path    string        // the file to upload
	Times   int           // how often, or how many at once
	Time    time.Duration // for how long
	Rounds  int
	Records int
	Retries bool
	Settle  time.Duration // of this SDK's package once; 0 is its default
	Secure  string        // the URL of the server with TLS, where the job has two
	CA      []byte        // the server's certificate, in DER; empty without TLS
}

var jobs = map[string]func(context.Context, job) (any, error){
	"upload": uploadJob, "parallel": parallelJob, "calls": callsJob, "many": manyJob, "walk": walkJob,
	"faults": faultsJob, "outage": outageJob,
}

func runJob(ctx context.Context, task string) error {
	var j job
	if err := json.Unmarshal([]byte(task), &j); err != nil {
		return err
	}
	run := jobs[j.Kind]
	if run == nil {
		return fmt.Errorf("no job is named %q", j.Kind)
	}
	result, err := run(ctx, j)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// client makes the job's client, with the SDK's default transport, or with TLS.
func (j job) client() (clients.Client, error) {
	sdk, err := clients.Named(j.SDK)
	if err != nil {
		return nil, err
	}
	settings := clients.Settings{URL: j.URL, Retries: j.Retries, Settle: j.Settle}
	if len(j.CA) > 0 {
		if settings.Transport, err = trusting(j.CA); err != nil {
			return nil, err
		}
	}
	return sdk.New(settings)
}

// trusting is the default transport, but for the certificate that it trusts.
func trusting(ca []byte) (*http.Transport, error) {
	certificate, err := x509.ParseCertificate(ca)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	t.TLSClientConfig.RootCAs.AddCert(certificate)
	return t, nil
}

// usage is the consumption of a process so far.
type usage struct {
	at      time.Time
	cpu     time.Duration
	bytes   uint64
	objects uint64
}

func used() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{at: time.Now(), cpu: cpuTime(), bytes: m.TotalAlloc, objects: m.Mallocs}
}

// cost is the difference of two usages.
type cost struct {
	Seconds, CPU   float64
	Bytes, Objects float64
}

func (u usage) since() cost {
	now := used()
	return cost{
		Seconds: now.at.Sub(u.at).Seconds(), CPU: (now.cpu - u.cpu).Seconds(),
		Bytes: float64(now.bytes - u.bytes), Objects: float64(now.objects - u.objects),
	}
}

// each is the cost of one of n.
func (c cost) each(n int) cost {
	d := float64(n)
	return cost{c.Seconds / d, c.CPU / d, c.Bytes / d, c.Objects / d}
}
