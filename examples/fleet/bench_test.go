package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var svgPath = flag.String("fleet.svg", "", "`file` for the picture of BenchmarkFleet")

const (
	benchRate        = 60 // requests per second
	benchConcurrency = 4
	benchLatency     = 250 * time.Millisecond // of each request
	benchFile        = 256 << 10
)

// A sample is a run with so many workers.
type sample struct {
	jobsPerSecond float64
	memory        float64 // peak of the largest worker, in MiB
	cpu           float64 // of all workers, in milliseconds a job
}

// BenchmarkFleet runs fleets of 1 to 8 workers, and one worker with files of several sizes. With -benchtime 1x
// -fleet.svg it draws what it measures.
func BenchmarkFleet(b *testing.B) {
	speeds := chart{title: "Jobs per second", limit: benchRate / 2, axis: "worker processes",
		note: fmt.Sprintf("limit: %d requests/s for the whole fleet, two a job", benchRate)}
	for n := 1; n <= 8; n++ {
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			s := measure(b, n, min(80*n, 480), benchFile)
			b.ReportMetric(s.jobsPerSecond, "jobs/s")
			speeds.bars = append(speeds.bars, bar{fmt.Sprint(n), s.jobsPerSecond})
		})
	}
	memory := chart{title: "Peak memory of a worker, MiB", axis: "size of each file",
		note: fmt.Sprintf("%d jobs at a time", benchConcurrency)}
	for _, size := range []uint32{64 << 10, 1 << 20, 8 << 20, 64 << 20} {
		label := fmt.Sprintf("%d KiB", size>>10)
		if size >= 1<<20 {
			label = fmt.Sprintf("%d MiB", size>>20)
		}
		b.Run("files of "+label, func(b *testing.B) {
			s := measure(b, 1, 16, size)
			memory.bars = append(memory.bars, bar{label, s.memory})
		})
	}
	if *svgPath != "" && len(speeds.bars) == 8 && len(memory.bars) == 4 {
		require.NoError(b, os.WriteFile(*svgPath, []byte(picture(speeds, memory)), 0o644))
	}
}

func measure(b *testing.B, workers, jobs int, size uint32) (s sample) {
	for b.Loop() {
		s = runFleet(b, workers, jobs, size)
	}
	b.ReportMetric(s.memory, "MiB/worker")
	b.ReportMetric(s.cpu, "cpu-ms/job")
	b.ReportMetric(0, "ns/op")
	return s
}

func runFleet(b *testing.B, workers, jobs int, size uint32) (s sample) {
	l := limits{Room: 2 << 30, AckWait: 30 * time.Second, Rate: perSecond(benchRate)}
	f := newFleet(b, startNodeProcess(b), l, startService(b, benchLatency, 0, 1), benchConcurrency)
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
					l := limits{Replicas: replicas, Room: 1 << 20, Rate: perSecond(1e6)}
					limiters = append(limiters, &limiter{bucket: queueAt(b, url, &l).rate, stop: b.Context()})
				}
				ctx, cancel := context.WithTimeout(b.Context(), 2*time.Second)
				defer cancel()
				begin := time.Now()
				var group sync.WaitGroup
				var requests atomic.Int64
				for _, l := range limiters {
					for range benchConcurrency {
						group.Go(func() {
							for l.Wait(ctx) == nil {
								requests.Add(1)
							}
						})
					}
				}
				group.Wait()
				b.ReportMetric(float64(requests.Load())/time.Since(begin).Seconds(), "requests/s")
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

const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px }
.ground { fill: #ffffff } .note { fill: #59636e } .axis { stroke: #818b98 } .bar { fill: #0969da }
.limit { stroke: #cf222e; stroke-dasharray: 6 4 } .value { fill: #ffffff }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } text { fill: #e6edf3 } .note { fill: #9198a1 } .axis { stroke: #656c76 }
.bar { fill: #4493f8 } .limit { stroke: #ff7b72 } .value { fill: #0d1117 } }
</style>
<rect class="ground" width="100%" height="100%"/>
`

// A chart shows bars, and a limit where there is one.
type chart struct {
	title, note, axis string
	limit             float64
	bars              []bar
}

type bar struct {
	label string
	value float64
}

// picture draws charts side by side.
func picture(charts ...chart) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d 300" `+
		`role="img" aria-label="Throughput and memory">`+"\n%s", 400*len(charts), style)
	for i, c := range charts {
		c.draw(&b, 400*float64(i)+30)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c chart) draw(b *strings.Builder, left float64) {
	const bottom, height, width = 240.0, 170.0, 340.0
	most := c.limit
	for _, bar := range c.bars {
		most = max(most, bar.value)
	}
	y := func(v float64) float64 { return bottom - v/most/1.1*height }
	text := func(class string, x, y float64, text string) {
		fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", class, x, y, text)
	}
	line := func(class string, y float64) {
		fmt.Fprintf(b, `<line class="%s" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`+"\n", class, left, left+width, y, y)
	}
	text("title", left+width/2, 24, c.title)
	text("note", left+width/2, 44, c.note)
	text("note", left+width/2, bottom+40, c.axis)
	step := width / float64(len(c.bars))
	for i, bar := range c.bars {
		x := left + step*float64(i)
		fmt.Fprintf(b, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n",
			x+4, y(bar.value), step-8, bottom-y(bar.value))
		text("value", x+step/2, bottom-8, fmt.Sprintf("%.1f", bar.value))
		text("", x+step/2, bottom+18, bar.label)
	}
	if c.limit > 0 {
		line("limit", y(c.limit))
	}
	line("axis", bottom)
}
