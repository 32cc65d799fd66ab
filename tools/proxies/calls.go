package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
)

// job is a record to be created: by so many calls, one after the other. Its name is that of the calls in the table.
type job struct {
	op    aicontent.Operation
	name  string
	count int
	once  bool // through package once
}

func jobs() (list []job) {
	for _, op := range []aicontent.Operation{aicontent.ImagesStore, aicontent.TranscriptionsStore} {
		list = append(list,
			job{op, "one call", 1, false},
			job{op, "once", 1, true},
			job{op, "once, twice", 2, true},
		)
	}
	return list
}

// right reports whether there is one record, and the calls say as much of it as they can know. At a proxy's 405 a call
// ends, and the next one finds the record.
func (j job) right(r row) bool {
	want := "unknown"
	switch {
	case j.once && j.count == 1:
		want = "created"
	case j.once:
		want = "found"
	}
	known := strings.HasSuffix(r.outcome, want) || j.count == 1 && r.outcome == "405 unknown"
	return known && r.posts == 1 && r.records == 1
}

// store makes a Store call.
func (j job) store(ctx context.Context, c *aicontent.Client, names *once.Client, data []byte) (found bool, err error) {
	image := aicontent.ImageStoreParams{
		Name: j.name, Description: "A lighthouse", Resolution: aicontent.Resolution256x256,
	}
	file := aicontent.FileFromBytes("interview.wav", append([]byte("RIFF\x04\x00\x00\x00WAVE"), data...))
	recording := aicontent.TranscriptionStoreParams{Name: j.name, File: file}
	switch isImage := j.op == aicontent.ImagesStore; {
	case isImage && j.once:
		_, found, err = names.Images.Store(ctx, image)
	case isImage:
		_, err = c.Images.Store(ctx, image)
	case j.once:
		_, found, err = names.Transcriptions.Store(ctx, recording)
	default:
		_, err = c.Transcriptions.Store(ctx, recording)
	}
	return found, err
}

// run makes the calls, and returns the result of each.
func (j job) run(ctx context.Context, c *aicontent.Client, names *once.Client) string {
	var list []string
	for range j.count {
		found, err := j.store(ctx, c, names, nil)
		switch {
		case err != nil:
			list = append(list, outcome(err))
		case found:
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

// giveUp runs all jobs at once through a proxy that does not wait for the service, which works on.
func giveUp(ctx context.Context, p proxy, store time.Duration) ([]row, error) {
	service, err := aicontenttest.Start(aicontenttest.LatencyOn(aicontent.ImagesStore, store),
		aicontenttest.LatencyOn(aicontent.TranscriptionsStore, store))
	if err != nil {
		return nil, err
	}
	defer service.Close()
	r, err := p.start(ctx, strings.TrimPrefix(service.URL, "http://"))
	if err != nil {
		return nil, err
	}
	defer r.stop()
	client, err := aicontent.NewClient("http://"+r.address, service.APIKey)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	names, err := once.New(client, once.InMemory(), once.WithSettleTime(2*store))
	if err != nil {
		return nil, err
	}
	list := jobs()
	rows := make([]row, len(list))
	var group sync.WaitGroup
	for i, j := range list {
		rows[i] = row{proxy: r.title, call: string(j.op) + ", " + j.name}
		group.Go(func() { rows[i].outcome = j.run(ctx, client, names) })
	}
	group.Wait()
	// The service finishes its work.
	service.Close()
	for i, j := range list {
		rows[i].posts, rows[i].records = j.counts(service)
		rows[i].right = j.right(rows[i])
	}
	return rows, ctx.Err()
}

// counts returns the create requests that came for the job, and its records.
func (j job) counts(service *aicontenttest.Server) (posts, records int) {
	for _, r := range service.Requests() {
		if r.Operation == j.op && r.Form.Get("name") == j.name {
			posts++
		}
	}
	for _, r := range service.Records() {
		if r.Name == j.name && strings.HasPrefix(string(j.op), r.Collection) {
			records++
		}
	}
	return posts, records
}
