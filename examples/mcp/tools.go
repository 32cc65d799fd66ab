package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// largest is the size of the largest recording, in bytes.
const largest = 512 << 20

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
	showArguments struct {
		ID   aicontent.ID `json:"id,omitempty"`
		Name string       `json:"name,omitempty" jsonschema:"the whole name, in place of the id"`
	}
	listArguments struct {
		Name string `json:"name,omitempty" jsonschema:"part of the names, or nothing"`
	}
)

func (t *tools) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "aicontent", Version: aicontent.Version}, nil)
	creates := func(name, description string) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{
			IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(true),
		}}
	}
	cost := fmt.Sprintf("COSTS MONEY: a new record is billed, at most %d a day. It may take minutes. The same "+
		"arguments are one record, billed once: after a timeout or an error, repeat the same call.", t.journal.limit)
	draws := fmt.Sprintf("Draws an image. Resolutions: %v. Styles: %v. Mediums: %v. Filters: %v. ",
		aicontent.Resolutions(), aicontent.Styles(), aicontent.Mediums(), aicontent.Filters())
	mcp.AddTool(s, creates("create_image", draws+cost), t.createImage)
	if t.folder != nil {
		mcp.AddTool(s, creates("transcribe_file", "Transcribes a recording. "+cost), t.transcribeFile)
	}
	free(s, "show_image", "Returns an image.", show(t.client.Images.Show, t.client.Images.FindByName))
	free(s, "show_transcription", "Returns a transcription with its text.",
		show(t.client.Transcriptions.Show, t.client.Transcriptions.FindByName))
	free(s, "list_images", "Lists images, the newest first.", t.listImages)
	free(s, "list_transcriptions", "Lists transcriptions, the newest first.", t.listTranscriptions)
	return s
}

// free adds a tool that creates nothing.
func free[In any](s *mcp.Server, name, description string, f func(context.Context, In) (any, error)) {
	looks := &mcp.ToolAnnotations{IdempotentHint: true, ReadOnlyHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description + " Free.", Annotations: looks},
		func(ctx context.Context, _ *request, in In) (*mcp.CallToolResult, any, error) {
			found, err := f(ctx, in)
			if err != nil {
				return nil, nil, advise(err, false)
			}
			return nil, found, nil
		})
}

func show[T any](
	byID func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error),
	byName func(context.Context, string, ...aicontent.CallOption) (*T, error),
) func(context.Context, showArguments) (any, error) {
	return func(ctx context.Context, in showArguments) (any, error) {
		if in.ID != "" {
			return byID(ctx, in.ID)
		}
		return byName(ctx, in.Name)
	}
}

func (t *tools) listImages(ctx context.Context, in listArguments) (any, error) {
	page, err := t.client.Images.List(ctx, aicontent.ImageListParams{Search: in.Name})
	if err != nil {
		return nil, err
	}
	for _, image := range page.Items {
		image.Description = short(image.Description)
	}
	return page, nil
}

func (t *tools) listTranscriptions(ctx context.Context, in listArguments) (any, error) {
	page, err := t.client.Transcriptions.List(ctx, aicontent.TranscriptionListParams{Search: in.Name})
	if err != nil {
		return nil, err
	}
	for _, text := range page.Items {
		text.Description, text.Result = short(text.Description), short(text.Result)
	}
	return page, nil
}

// short is the beginning of a text that would fill a list.
func short(text string) string {
	const most = 200
	characters := []rune(text)
	if len(characters) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d characters; show has all)", string(characters[:most]), len(characters))
}

func (t *tools) createImage(ctx context.Context, req *request, in imageArguments) (*mcp.CallToolResult, any, error) {
	in.Again = max(in.Again, 1)
	params := aicontent.ImageStoreParams{
		Name: nameOf(in), Description: in.Description, Resolution: in.Resolution,
		Style: in.Style, Medium: in.Medium, Filter: in.Filter,
	}
	return create(ctx, t, req, params.Name, t.client.Images.Store, params)
}

func (t *tools) transcribeFile(ctx context.Context, req *request, in fileArguments) (*mcp.CallToolResult, any, error) {
	data, err := t.read(in.Path)
	if err != nil {
		return nil, nil, advise(err, false)
	}
	params := aicontent.TranscriptionStoreParams{
		Name: nameOf(sha256.Sum256(data), in.Description, in.Language, max(in.Again, 1)), Description: in.Description,
		Language: in.Language, File: aicontent.FileFromBytes(filepath.Base(in.Path), data),
	}
	return create(ctx, t, req, params.Name, t.client.Transcriptions.Store, params)
}

// read reads the whole file: the name stands for what is sent, even if the file changes meanwhile.
func (t *tools) read(path string) ([]byte, error) {
	f, err := t.folder.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or a pipe would block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > largest {
		return nil, errors.Join(fmt.Errorf("%s: must be a file of at most %d bytes", path, largest), err)
	}
	return io.ReadAll(f)
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

// forProgrammers is what an error says of options of the SDK, which an agent does not have.
var forProgrammers = regexp.MustCompile(` \([^()]*\bWith(?:out)?[A-Z][^()]*\)`)

// advise puts before an error what an agent should know and do.
func advise(err error, creates bool) error {
	text := "The same call would fail again: change the arguments or ask the user."
	if aicontent.Temporary(err) {
		text = "Call again with the same arguments in a minute."
	}
	switch outcome := aicontent.OutcomeOf(err); {
	case errors.As(err, new(*aicontent.ConflictError)):
		text = "It exists. Do not call again with these arguments: show it by its id, or ask the user."
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
	return fmt.Errorf("%s Reason: %s", text, forProgrammers.ReplaceAllString(err.Error(), ""))
}
