package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var svgPath = flag.String("fleet.svg", "", "`file` for BenchmarkThroughput's picture")

const (
	benchRate        = 60 // requests per second
	benchConcurrency = 4
	benchLatency     = 250 * time.Millisecond // of each request
	benchMax         = 8                      // workers
	benchFile        = 256 << 10
)

// A sample is a run with so many workers.
type sample struct {
	jobsPerSecond float64
	memory        float64 // peak of the largest worker, in MiB
	cpu           float64 // of all workers, in milliseconds a job
}

// BenchmarkThroughput runs fleets of 1 to 8 workers. With -benchtime 1x -fleet.svg it draws what it measures.
func BenchmarkThroughput(b *testing.B) {
	var samples []sample
	for n := 1; n <= benchMax; n++ {
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			var s sample
			for b.Loop() {
				s = throughput(b, n, min(80*n, 320), benchFile)
			}
			b.ReportMetric(s.jobsPerSecond, "jobs/s")
			b.ReportMetric(s.memory, "MiB/worker")
			b.ReportMetric(s.cpu, "cpu-ms/job")
			b.ReportMetric(0, "ns/op")
			samples = append(samples, s)
		})
	}
	if *svgPath != "" && len(samples) == benchMax {
		require.NoError(b, os.WriteFile(*svgPath, []byte(picture(samples)), 0o644))
	}
}

func throughput(b *testing.B, workers, jobs int, size uint32) (s sample) {
	f := newFleet(b, startNodeProcess(b), limits{replicas: 1, room: 2 << 30, ackWait: 30 * time.Second, rate: benchRate},
		startService(b, benchLatency, 0, 1), benchConcurrency)
	f.enqueue(jobs, size)
	f.startWorkers(workers)
	from, to := jobs/10, jobs*9/10
	var begin, end time.Time
	records := f.follow(b.Context(), func(ended int, _ record) {
		if begin.IsZero() && ended >= from {
			begin = time.Now()
		}
		if end.IsZero() && ended >= to {
			end = time.Now()
		}
	})
	f.check(records)
	for _, w := range f.workers {
		s.memory = max(s.memory, peakMemory(b, w.Process.Pid))
		state := w.finish()
		s.cpu += (state.UserTime() + state.SystemTime()).Seconds() * 1000 / float64(jobs)
	}
	s.jobsPerSecond = float64(to-from) / end.Sub(begin).Seconds()
	return s
}

// BenchmarkSharedRate asks how many requests a second the shared schedule can give out at most.
func BenchmarkSharedRate(b *testing.B) {
	urls := map[int]string{1: startNodeProcess(b), 3: startCluster(b).url}
	for replicas, url := range urls {
		for _, workers := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("replicas=%d/workers=%d", replicas, workers), func(b *testing.B) {
				var limiters []*limiter
				for range workers {
					q, err := makeQueue(b.Context(), url, limits{replicas: replicas, room: 1 << 20, ackWait: 30 * time.Second})
					require.NoError(b, err)
					defer q.nc.Close()
					require.NoError(b, setRate(b.Context(), q.rate, 1e6))
					limiters = append(limiters, newLimiter(q.rate))
				}
				ctx, cancel := context.WithTimeout(b.Context(), 2*time.Second)
				defer cancel()
				begin := time.Now()
				var group sync.WaitGroup
				for _, l := range limiters {
					for range benchConcurrency {
						group.Go(func() {
							for l.Wait(ctx) == nil {
							}
						})
					}
				}
				group.Wait()
				var requests int64
				for _, l := range limiters {
					requests += l.requests.Load()
				}
				b.ReportMetric(float64(requests)/time.Since(begin).Seconds(), "requests/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// peakMemory is the most that a process has had resident, in MiB. It needs Linux.
func peakMemory(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	_, after, found := strings.Cut(string(status), "VmHWM:")
	require.True(b, found)
	var kib float64
	_, err = fmt.Sscan(after, &kib)
	require.NoError(b, err)
	return kib / 1024
}

// BenchmarkFileSize asks what a worker needs for files of a size.
func BenchmarkFileSize(b *testing.B) {
	for _, size := range []uint32{64 << 10, 4 << 20, 64 << 20} {
		b.Run(fmt.Sprintf("MiB=%g", float64(size)/(1<<20)), func(b *testing.B) {
			var s sample
			for b.Loop() {
				s = throughput(b, 1, 16, size)
			}
			b.ReportMetric(s.memory, "MiB/worker")
			b.ReportMetric(s.cpu, "cpu-ms/job")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 15px } .note { fill: #57606a }
.axis { stroke: #8c959f } .bar { fill: #0969da } .limit { stroke: #cf222e; stroke-dasharray: 6 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .note { fill: #9198a1 } .axis { stroke: #6e7681 } .bar { fill: #4493f8 } .limit { stroke: #ff7b72 } }
</style>
`

// picture draws two charts over the number of workers.
func picture(samples []sample) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 300" role="img" aria-label="Throughput and memory over the number of workers">` + "\n" + style)
	speeds, memories := make([]float64, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		speeds[i], memories[i] = s.jobsPerSecond, s.memory
	}
	// A job is two requests: a look for its record, and the upload.
	chart(&b, 0, "Jobs per second", fmt.Sprintf("the shared rate: %d requests/s, two a job", benchRate), "%.1f", speeds, benchRate/2)
	chart(&b, 400, "Peak memory of a worker, MiB", "", "%.0f", memories, 0)
	b.WriteString("</svg>\n")
	return b.String()
}

// chart draws bars, and a limit where there is one.
func chart(b *strings.Builder, left float64, title, note, format string, values []float64, limit float64) {
	const bottom, height, width = 240.0, 170.0, 340.0
	most := max(limit, slices.Max(values)) * 1.1
	y := func(v float64) float64 { return bottom - v/most*height }
	fmt.Fprintf(b, `<text class="title" x="%g" y="24">%s</text>`+"\n", left+40, title)
	fmt.Fprintf(b, `<text class="note" x="%g" y="44">%s</text>`+"\n", left+40, note)
	step := width / float64(len(values))
	for i, v := range values {
		x := left + 40 + step*float64(i)
		fmt.Fprintf(b, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", x+4, y(v), step-8, bottom-y(v))
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">`+format+"</text>\n", x+step/2, y(v)-5, v)
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%d</text>`+"\n", x+step/2, bottom+18, i+1)
	}
	if limit > 0 {
		fmt.Fprintf(b, `<line class="limit" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`+"\n", left+40, left+40+width, y(limit), y(limit))
	}
	fmt.Fprintf(b, `<line class="axis" x1="%g" x2="%g" y1="%g" y2="%g"/>`+"\n", left+40, left+40+width, bottom, bottom)
	fmt.Fprintf(b, `<text class="note" x="%g" y="%g" text-anchor="middle">worker processes</text>`+"\n", left+40+width/2, bottom+40)
}
