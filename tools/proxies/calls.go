package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
)

// job is a record to be created: by so many calls, one after the other. Its name is what the table calls them.
type job struct {
	op    aicontent.Operation
	name  string
	count int
	opts  []aicontent.CallOption
}

func jobs() (list []job) {
	once := []aicontent.CallOption{aicontent.WithOnce()}
	for _, op := range []aicontent.Operation{aicontent.ImagesStore, aicontent.TranscriptionsStore} {
		list = append(list,
			job{op, "one call", 1, nil},
			job{op, "WithOnce", 1, once},
			job{op, "WithOnce, twice", 2, once},
		)
	}
	return list
}

// right reports whether there is one record, and the calls say of it what they can know. At a proxy's 405 a call with
// WithOnce ends, and the next one finds the record.
func (j job) right(r row) bool {
	want := "unknown"
	if j.opts != nil {
		want = "found"
	}
	known := strings.HasSuffix(r.outcome, want) || j.count == 1 && r.outcome == "405 unknown"
	return known && r.posts == 1 && r.records == 1
}

// store makes a Store call.
func (j job) store(ctx context.Context, c *aicontent.Client, data []byte, opts ...aicontent.CallOption) (err error) {
	if opts = append(opts, j.opts...); j.op == aicontent.ImagesStore {
		_, err = c.Images.Store(ctx, aicontent.ImageStoreParams{
			Name: j.name, Description: "A lighthouse", Resolution: aicontent.Resolution256x256,
		}, opts...)
		return err
	}
	file := aicontent.FileFromBytes("interview.wav", append([]byte("RIFF\x04\x00\x00\x00WAVE"), data...))
	_, err = c.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{Name: j.name, File: file}, opts...)
	return err
}

// run makes the calls, and tells what came of each of them.
func (j job) run(ctx context.Context, c *aicontent.Client) string {
	var list []string
	for range j.count {
		var resp *aicontent.Response
		err := j.store(ctx, c, nil, aicontent.WithResponse(&resp))
		switch {
		case err != nil:
			list = append(list, outcome(err))
		case resp.Found:
			list = append(list, "found")
		default:
			list = append(list, "created")
		}
	}
	return strings.Join(list, ", ")
}

// outcome is that of a failed call, after the status of the response or the type of the error.
func outcome(err error) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", err), "*aicontent.")
	if refused, ok := errors.AsType[*aicontent.APIError](err); ok {
		kind = fmt.Sprint(refused.StatusCode)
	}
	return kind + " " + aicontent.OutcomeOf(err).String()
}

// giveUp runs all jobs at once through a proxy that does not wait for the service.
func giveUp(ctx context.Context, p proxy, store time.Duration) ([]row, error) {
	s, err := startSlow(store)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r, err := p.start(ctx, s.address, nil)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	list := jobs()
	rows := make([]row, len(list))
	var group sync.WaitGroup
	for i, j := range list {
		client, err := aicontent.NewClient("http://"+r.address, s.kit.APIKey, aicontent.WithSettleTime(2*store))
		if err != nil {
			return nil, err
		}
		defer client.CloseIdleConnections()
		rows[i] = row{proxy: r.title, call: string(j.op) + ", " + j.name}
		group.Go(func() { rows[i].outcome = j.run(ctx, client) })
	}
	group.Wait()
	s.drain(ctx)
	for i, j := range list {
		rows[i].posts, rows[i].records = s.count(j)
		rows[i].right = j.right(rows[i])
	}
	return rows, ctx.Err()
}
