package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/aicontent/aicontent-go/bench/clients"
)

// uploadResult is the cost of one process's uploads.
type uploadResult struct {
	Cold cost   // of the first
	Warm []cost // of each later one
	Peak int64  // bytes over the start, of the first
}

// uploadJob uploads a file once in a fresh process, and some times more.
func uploadJob(ctx context.Context, j job) (any, error) {
	c, err := j.client()
	if err != nil {
		return nil, err
	}
	runtime.GC()
	start := startMemory()
	var result uploadResult
	for i := range 1 + j.Times {
		before := used()
		if err := c.Upload(ctx, j.Path); err != nil {
			return nil, err
		}
		took := before.since()
		if i > 0 {
			result.Warm = append(result.Warm, took)
			continue
		}
		result.Cold, result.Peak = took, readMemory().peak-start.now
	}
	return result, nil
}

// parallelJob uploads a file many times at once.
func parallelJob(ctx context.Context, j job) (any, error) {
	c, err := j.client()
	if err != nil {
		return nil, err
	}
	runtime.GC()
	start, before := startMemory(), used()
	errs := make([]error, j.Times)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = c.Upload(ctx, j.Path) })
	}
	wg.Wait()
	took := before.since()
	return uploadResult{Cold: took, Peak: readMemory().peak - start.now}, errors.Join(errs...)
}

// file makes a file that begins as a WAV file does. A sparse one holds nothing else, and takes no room. It is read
// once, so that no upload has to fill the system's cache.
func (r *runner) file(size int64, sparse bool) (string, error) {
	path := filepath.Join(r.scratch, fmt.Sprintf("audio-%d-%t.wav", size, sparse))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := fillFile(f, size, sparse); err != nil {
		return "", err
	}
	return path, nil
}

func fillFile(f *os.File, size int64, sparse bool) error {
	block := make([]byte, mib)
	for i := range block {
		block[i] = byte(i * 7)
	}
	blocks := size / mib
	if sparse {
		clear(block)
		blocks = 1
	}
	copy(block, "RIFF\xff\xff\xff\xffWAVEfmt ")
	for range blocks {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, f)
	return err
}

// upload runs a job against a fresh server and makes sure that all bytes came.
func (r *runner) upload(ctx context.Context, j job, secure bool, times int, size int64) (uploadResult, error) {
	s, err := startServer(ctx, serving{Records: records, TLS: secure})
	if err != nil {
		return uploadResult{}, err
	}
	defer s.stop()
	j.URL, j.CA = s.URL, s.CA
	result, err := do[uploadResult](ctx, j)
	if err != nil {
		return result, err
	}
	uploads, bytes, err := s.received()
	if err == nil && (uploads != int64(times) || bytes < int64(times)*size) {
		err = fmt.Errorf("%s: %d uploads and %d bytes came, of %d uploads of %d bytes",
			j.SDK, uploads, bytes, times, size)
	}
	return result, err
}

// uploads measures each size, cold and warm, in a fresh process for each SDK and round. With TLS only those are asked
// that stream: it adds the same to all.
func (r *runner) uploads(ctx context.Context) error {
	if err := r.uploadSizes(ctx, r.plan.Sizes, false); err != nil {
		return err
	}
	return r.uploadSizes(ctx, r.plan.TLSSizes, true)
}

func (r *runner) uploadSizes(ctx context.Context, sizes []uploadSize, secure bool) error {
	for _, size := range sizes {
		path, err := r.file(size.MiB*mib, false)
		if err != nil {
			return err
		}
		err = r.rotate(size.Rounds, func(round int, sdk clients.SDK) error {
			if secure && !sdk.Streams {
				return nil
			}
			j := job{Kind: "upload", SDK: sdk.Name, Path: path, Times: size.Warm}
			result, err := r.upload(ctx, j, secure, 1+size.Warm, size.MiB*mib)
			if err != nil {
				return err
			}
			work := fmt.Sprintf("upload %d MiB", size.MiB)
			if secure {
				work = fmt.Sprintf("upload with TLS, %d MiB", size.MiB)
			}
			r.addUpload(work+", cold", sdk.Name, round, size.MiB, result.Cold)
			r.addUpload(work+", warm", sdk.Name, round, size.MiB, typical(result.Warm))
			if !secure {
				r.samples.add(work, sdk.Name, round, peak, float64(result.Peak))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// large measures the clients that stream: a very large file, and many files at once, need too much memory otherwise.
func (r *runner) large(ctx context.Context) error {
	sparse, err := r.file(r.plan.LargeMiB*mib, true)
	if err != nil {
		return err
	}
	small, err := r.file(r.plan.ParallelMiB*mib, false)
	if err != nil {
		return err
	}
	return r.rotate(r.plan.LargeRounds, func(round int, sdk clients.SDK) error {
		if !sdk.Streams {
			return nil
		}
		work := fmt.Sprintf("upload %d MiB, sparse", r.plan.LargeMiB)
		result, err := r.upload(ctx, job{Kind: "upload", SDK: sdk.Name, Path: sparse}, false, 1, r.plan.LargeMiB*mib)
		if err != nil {
			return err
		}
		r.addUpload(work, sdk.Name, round, r.plan.LargeMiB, result.Cold)
		r.samples.add(work, sdk.Name, round, peak, float64(result.Peak))
		work = fmt.Sprintf("%d uploads of %d MiB at once", r.plan.Parallel, r.plan.ParallelMiB)
		j := job{Kind: "parallel", SDK: sdk.Name, Path: small, Times: r.plan.Parallel}
		result, err = r.upload(ctx, j, false, r.plan.Parallel, r.plan.ParallelMiB*mib)
		if err != nil {
			return err
		}
		r.addUpload(work, sdk.Name, round, r.plan.ParallelMiB*int64(r.plan.Parallel), result.Cold)
		r.samples.add(work, sdk.Name, round, peak, float64(result.Peak))
		return nil
	})
}

func (r *runner) addUpload(work, sdk string, round int, size int64, c cost) {
	r.samples.add(work, sdk, round, throughput, float64(size)/c.Seconds)
	r.samples.add(work, sdk, round, cpu, c.CPU)
	r.samples.add(work, sdk, round, allocated, c.Bytes)
	r.samples.add(work, sdk, round, allocations, c.Objects)
}

// typical is the median of each figure.
func typical(list []cost) cost {
	pick := func(of func(cost) float64) float64 {
		values := make([]float64, len(list))
		for i, c := range list {
			values[i] = of(c)
		}
		return spreadOf(values).Median
	}
	return cost{
		Seconds: pick(func(c cost) float64 { return c.Seconds }), CPU: pick(func(c cost) float64 { return c.CPU }),
		Bytes: pick(func(c cost) float64 { return c.Bytes }), Objects: pick(func(c cost) float64 { return c.Objects }),
	}
}
