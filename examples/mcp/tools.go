package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are what agents can call.
type tools struct {
	client  *aicontent.Client
	journal *journal
	folder  *os.Root // of recordings; nil for none
}

type (
	request        = mcp.CallToolRequest
	imageArguments struct {
		Description string               `json:"description" jsonschema:"what the image shows"`
		Resolution  aicontent.Resolution `json:"resolution"`
		Style       aicontent.Style      `json:"style,omitempty"`
		Medium      aicontent.Medium     `json:"medium,omitempty"`
		Filter      aicontent.Filter     `json:"filter,omitempty"`
		Again       uint                 `json:"again,omitempty" jsonschema:"2 creates and bills a second one"`
	}
	fileArguments struct {
		Path        string                `json:"path" jsonschema:"below the folder of recordings"`
		Description string                `json:"description,omitempty" jsonschema:"what the recording is about"`
		Language    aicontent.CountryCode `json:"language,omitempty" jsonschema:"the speakers' country, such as GB"`
		Again       uint                  `json:"again,omitempty" jsonschema:"2 creates and bills a second one"`
	}
	nameArguments struct {
		Name string `json:"name,omitempty" jsonschema:"find: the whole name; list: part of it, or nothing"`
	}
)

func (t *tools) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "aicontent", Version: aicontent.Version}, nil)
	tool := func(name, description string, hints *mcp.ToolAnnotations) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: description, Annotations: hints}
	}
	creates := &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(true)}
	looks := &mcp.ToolAnnotations{IdempotentHint: true, ReadOnlyHint: true, OpenWorldHint: new(false)}
	cost := fmt.Sprintf("COSTS MONEY: a new record is billed, at most %d a day. It may take minutes. The same "+
		"arguments are one record, billed once: after a timeout or an error, repeat the same call.", t.journal.limit)
	draws := fmt.Sprintf("Draws an image. Resolutions: %v. Styles: %v. Mediums: %v. Filters: %v. ",
		aicontent.Resolutions(), aicontent.Styles(), aicontent.Mediums(), aicontent.Filters())
	mcp.AddTool(s, tool("create_image", draws+cost, creates), t.createImage)
	if t.folder != nil {
		mcp.AddTool(s, tool("transcribe_file", "Transcribes a recording. "+cost, creates), t.transcribeFile)
	}
	mcp.AddTool(s, tool("find_image", "Returns the image with a name. Free.", looks),
		func(ctx context.Context, _ *request, in nameArguments) (*mcp.CallToolResult, any, error) {
			return answer(t.client.Images.FindByName(ctx, in.Name))
		})
	mcp.AddTool(s, tool("find_transcription", "Returns the transcription with a name. Free.", looks),
		func(ctx context.Context, _ *request, in nameArguments) (*mcp.CallToolResult, any, error) {
			return answer(t.client.Transcriptions.FindByName(ctx, in.Name))
		})
	mcp.AddTool(s, tool("list_images", "Lists images, the newest first. Free.", looks),
		func(ctx context.Context, _ *request, in nameArguments) (*mcp.CallToolResult, any, error) {
			return answer(t.client.Images.List(ctx, aicontent.ImageListParams{Search: in.Name}))
		})
	mcp.AddTool(s, tool("list_transcriptions", "Lists transcriptions and texts, the newest first. Free.", looks),
		func(ctx context.Context, _ *request, in nameArguments) (*mcp.CallToolResult, any, error) {
			return answer(t.client.Transcriptions.List(ctx, aicontent.TranscriptionListParams{Search: in.Name}))
		})
	return s
}

func answer(found any, err error) (*mcp.CallToolResult, any, error) {
	if err != nil {
		return nil, nil, advise(err, false)
	}
	return nil, found, nil
}

func (t *tools) createImage(ctx context.Context, req *request, in imageArguments) (*mcp.CallToolResult, any, error) {
	in.Again = max(in.Again, 1)
	params := aicontent.ImageStoreParams{
		Name: nameOf(in), Description: in.Description, Resolution: in.Resolution,
		Style: in.Style, Medium: in.Medium, Filter: in.Filter,
	}
	return create(ctx, t, req, params.Name, t.client.Images.Store, params)
}

// transcribeFile reads the whole file first: the name stands for what is sent, even if the file changes meanwhile.
func (t *tools) transcribeFile(ctx context.Context, req *request, in fileArguments) (*mcp.CallToolResult, any, error) {
	data, err := t.folder.ReadFile(in.Path)
	if err != nil {
		return answer(nil, err)
	}
	params := aicontent.TranscriptionStoreParams{
		Name: nameOf(sha256.Sum256(data), in.Description, in.Language, max(in.Again, 1)), Description: in.Description,
		Language: in.Language, File: aicontent.FileFromBytes(filepath.Base(in.Path), data),
	}
	return create(ctx, t, req, params.Name, t.client.Transcriptions.Store, params)
}

// nameOf is a hash of all that a record is made of. Arguments that are added must be left out where they are empty.
func nameOf(parts ...any) string {
	data, _ := json.Marshal(parts) // cannot fail for texts, numbers and bytes
	return fmt.Sprintf("mcp-%x", sha256.Sum256(data))[:44]
}

// create makes a Store call that can be repeated: with the same name it is the same record.
func create[P, T any](
	ctx context.Context, t *tools, req *request, name string,
	store func(context.Context, P, ...aicontent.CallOption) (*T, error), params P,
) (*mcp.CallToolResult, any, error) {
	var upload atomic.Pointer[aicontent.Progress]
	notifying, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { notify(notifying, req, &upload) })
	var resp *aicontent.Response
	record, err := store(context.WithValue(ctx, nameKey{}, name), params,
		aicontent.WithOnceSince(t.journal.lastTry(name)), aicontent.WithResponse(&resp),
		aicontent.WithProgress(func(p aicontent.Progress) { upload.Store(&p) }))
	stop()
	wg.Wait()
	if err != nil {
		return nil, nil, advise(err, true)
	}
	return nil, map[string]any{"record": record, "billed_by_this_call": resp.Attempts > 0}, nil
}

// notify tells once a second how a call is going. Progress must grow, unlike the bytes of an upload that starts over.
func notify(ctx context.Context, req *request, upload *atomic.Pointer[aicontent.Progress]) {
	p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken()}
	for p.ProgressToken != nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			p.Progress, p.Message = p.Progress+1, "waiting for the service"
			if sent := upload.Load(); sent != nil && sent.Sent < sent.Total {
				p.Message = fmt.Sprintf("sent %d of %d bytes", sent.Sent, sent.Total)
			}
			_ = req.Session.NotifyProgress(ctx, p)
		}
	}
}

// advise puts before an error what an agent should know and do.
func advise(err error, creates bool) error {
	text := "The same call would fail again: change the arguments or ask the user."
	if aicontent.Temporary(err) {
		text = "Call again with the same arguments in a minute."
	}
	switch outcome := aicontent.OutcomeOf(err); {
	case !creates:
	case outcome == aicontent.OutcomeDone:
		text = "It was created. Call again with the same arguments: that looks for it first."
	case outcome == aicontent.OutcomeUnknown && aicontent.Temporary(err):
		text = "It may have been created. Call again with the same arguments: that looks for it first."
	case outcome == aicontent.OutcomeUnknown:
		text = "It may have been created. Call again once: that looks for it first. If that fails, ask the user."
	case errors.Is(err, errLimit):
		text = "Nothing was created. Create nothing before midnight UTC; what exists is still returned."
	default:
		text = "Nothing was created. " + text
	}
	return fmt.Errorf("%s Reason: %w", text, err)
}
