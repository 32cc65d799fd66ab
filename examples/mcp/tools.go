package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// largest is the size of the largest recording, in bytes.
const largest = 512 << 20

// tools are what agents can call.
type tools struct {
	client *aicontent.Client
	names  *once.Client
	budget *budget
	folder *os.Root // of recordings; nil for none
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
)

func (t *tools) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "aicontent", Version: aicontent.Version}, nil)
	cost := fmt.Sprintf("COSTS MONEY: a new record is billed, at most %d a day. It may take minutes. The same "+
		"arguments are one record, billed once: after a timeout or an error, repeat the same call.", t.budget.limit)
	draws := fmt.Sprintf("Draws an image. Resolutions: %v. Styles: %v. Mediums: %v. Filters: %v. ",
		aicontent.Resolutions(), aicontent.Styles(), aicontent.Mediums(), aicontent.Filters())
	creates := &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(true)}
	mcp.AddTool(s, &mcp.Tool{Name: "create_image", Description: draws + cost, Annotations: creates}, t.createImage)
	if t.folder != nil {
		does := "Transcribes a recording. " + cost
		mcp.AddTool(s, &mcp.Tool{Name: "transcribe_file", Description: does, Annotations: creates}, t.transcribeFile)
	}
	look(s, "image", t.client.Images.Show, t.client.Images.List,
		func(name string) aicontent.ImageListParams { return aicontent.ImageListParams{Search: name} },
		func(i *aicontent.Image) []*string { return []*string{&i.Description} })
	look(s, "transcription", t.client.Transcriptions.Show, t.client.Transcriptions.List,
		func(name string) aicontent.TranscriptionListParams {
			return aicontent.TranscriptionListParams{Search: name}
		},
		func(t *aicontent.Transcription) []*string { return []*string{&t.Description, &t.Result} })
	return s
}

// look adds the tools that show and list records. A list has the beginnings of texts, which would fill it.
func look[T, P any](
	s *mcp.Server, kind string, show func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error),
	list func(context.Context, P, ...aicontent.CallOption) (*aicontent.Page[T], error), search func(string) P,
	texts func(*T) []*string,
) {
	looks := &mcp.ToolAnnotations{IdempotentHint: true, ReadOnlyHint: true, OpenWorldHint: new(false)}
	tool := func(name, does string) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: does + " Free.", Annotations: looks}
	}
	mcp.AddTool(s, tool("show_"+kind, "Returns one."),
		func(ctx context.Context, _ *request, in struct {
			ID aicontent.ID `json:"id"`
		}) (*mcp.CallToolResult, any, error) {
			record, err := show(ctx, in.ID)
			return nil, record, advise("", err)
		})
	mcp.AddTool(s, tool("list_"+kind+"s", "Lists the newest, or those with this in their names."),
		func(ctx context.Context, _ *request, in struct {
			Name string `json:"name,omitempty"`
		}) (*mcp.CallToolResult, any, error) {
			page, err := list(ctx, search(in.Name))
			if err != nil {
				return nil, nil, advise("", err)
			}
			for _, record := range page.Items {
				for _, text := range texts(record) {
					if len(*text) > 1000 {
						*text = fmt.Sprintf("%.200s… (%d bytes; show has all)", *text, len(*text))
					}
				}
			}
			return nil, page, nil
		})
}

func (t *tools) createImage(ctx context.Context, _ *request, in imageArguments) (*mcp.CallToolResult, any, error) {
	in.Again = max(in.Again, 1)
	return create(ctx, t.names.Images.Store, aicontent.ImageStoreParams{
		Name: nameOf(in), Description: in.Description, Resolution: in.Resolution,
		Style: in.Style, Medium: in.Medium, Filter: in.Filter,
	})
}

func (t *tools) transcribeFile(ctx context.Context, _ *request, in fileArguments) (*mcp.CallToolResult, any, error) {
	info, err := t.folder.Stat(in.Path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > largest {
		err = fmt.Errorf("%q: must be a file of 1 to %d bytes below the folder", in.Path, largest)
		return nil, nil, advise("", err)
	}
	data, err := t.folder.ReadFile(in.Path) // the name stands for what is sent, even if the file changes meanwhile
	if err != nil {
		return nil, nil, advise("", err)
	}
	return create(ctx, t.names.Transcriptions.Store, aicontent.TranscriptionStoreParams{
		Name: nameOf(sha256.Sum256(data), in.Description, in.Language, max(in.Again, 1)), Description: in.Description,
		Language: in.Language, File: aicontent.FileFromBytes(filepath.Base(in.Path), data),
	})
}

// nameOf is a hash of all that a record is made of. Arguments that are added must be left out where they are empty.
func nameOf(parts ...any) string {
	data, _ := json.Marshal(parts) // cannot fail for texts, numbers and bytes
	return fmt.Sprintf("mcp-%x", sha256.Sum256(data))[:44]
}

// create makes a Store call, which waits no longer than the flag -wait says. A create request is never cut off, as it
// is billed all the same: the next call with the same arguments gets what came of it. But whoever cancels a call that
// waits is not billed for it later.
func create[P, T any](
	ctx context.Context,
	store func(context.Context, P, ...aicontent.CallOption) (*T, bool, error), params P,
) (*mcp.CallToolResult, any, error) {
	veto := func(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
		if a.Method != http.MethodPost {
			return nil, nil
		}
		return nil, ctx.Err()
	}
	record, found, err := store(context.WithoutCancel(ctx), params, aicontent.WithAttemptHook(veto))
	if err != nil {
		known := map[aicontent.Outcome]string{
			aicontent.OutcomeUnknown: "It may have been created. ", aicontent.OutcomeExecuted: "It was created. ",
		}
		return nil, nil, advise(cmp.Or(known[aicontent.OutcomeOf(err)], "Nothing was created. "), err)
	}
	return nil, map[string]any{"record": record, "billed_by_this_call": !found}, nil
}

// forProgrammers is what an error says of options of the SDK, which an agent does not have.
var forProgrammers = regexp.MustCompile(` \([^()]*\bWith(?:out)?[A-Z][^()]*\)`)

// advise puts before an error what an agent should know and do.
func advise(known string, err error) error {
	if err == nil {
		return nil
	}
	do := "The same call would fail again: change the arguments or ask the user."
	if aicontent.Retryable(err) {
		do = "Call again with the same arguments in a minute, or when the reason says."
	}
	return fmt.Errorf("%s%s Reason: %s", known, do, forProgrammers.ReplaceAllString(err.Error(), ""))
}

// A budget is how many create requests of a day, in UTC, create a record or may have. Each is an empty file in the
// folder: so the limit survives a restart, and all servers of the folder share it.
type budget struct {
	dir   string
	limit uint
}

// attempt is a hook that refuses create requests above the limit.
func (b *budget) attempt(_ context.Context, a aicontent.Attempt) (func(aicontent.AttemptResult), error) {
	if a.Method != http.MethodPost {
		return nil, nil
	}
	day := time.Now().UTC().Format(time.DateOnly)
	for n := range b.limit {
		path := filepath.Join(b.dir, fmt.Sprintf("%s.%d", day, n+1))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return func(r aicontent.AttemptResult) {
			if r.Outcome == aicontent.OutcomeNotExecuted {
				_ = os.Remove(path) // a file that stays counts
			}
		}, f.Close()
	}
	return nil, fmt.Errorf("the limit of %d records a day is reached: create nothing before midnight UTC", b.limit)
}
