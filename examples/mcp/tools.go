package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/once"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are the tools of a server.
type tools struct {
	client *aicontent.Client
	names  *once.Client
	budget *budget
	folder *os.Root // of recordings; nil for none
	log    *slog.Logger
	wait   time.Duration // for a record; a create request may take longer
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
	mcp.AddTool(s, creates[imageArguments]("create_image", "Draws an image. "+cost), t.createImage)
	if t.folder != nil {
		mcp.AddTool(s, creates[fileArguments]("transcribe_file", "Transcribes a recording. "+cost), t.transcribeFile)
		mcp.AddTool(s, looks("list_folder", "Lists the files that transcribe_file takes."), t.listFolder)
	}
	look(t, s, "image", t.client.Images.Show, t.client.Images.List,
		func(search string) aicontent.ImageListParams { return aicontent.ImageListParams{Search: search} },
		func(i *aicontent.Image) []*string { return []*string{&i.Description} })
	look(t, s, "transcription", t.client.Transcriptions.Show, t.client.Transcriptions.List,
		func(search string) aicontent.TranscriptionListParams {
			return aicontent.TranscriptionListParams{Search: search}
		},
		func(t *aicontent.Transcription) []*string { return []*string{&t.Description, &t.Result} })
	return s
}

// creates returns a tool that creates records. Its schema lists the values that the arguments may have. Agents send an
// optional one as an empty text, too.
func creates[T any](name, does string) *mcp.Tool {
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[aicontent.Resolution](): oneOf(aicontent.Resolutions()),
		reflect.TypeFor[aicontent.Style]():      oneOf(append(aicontent.Styles(), "")),
		reflect.TypeFor[aicontent.Medium]():     oneOf(append(aicontent.Mediums(), "")),
		reflect.TypeFor[aicontent.Filter]():     oneOf(append(aicontent.Filters(), "")),
	}})
	if err != nil {
		panic(err) // The types of the arguments are at fault.
	}
	hints := &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(true)}
	return &mcp.Tool{Name: name, Description: does, Annotations: hints, InputSchema: schema}
}

func oneOf[T ~string](values []T) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string"}
	for _, value := range values {
		schema.Enum = append(schema.Enum, string(value))
	}
	return schema
}

// looks returns a tool that changes nothing.
func looks(name, does string) *mcp.Tool {
	hints := &mcp.ToolAnnotations{IdempotentHint: true, ReadOnlyHint: true, OpenWorldHint: new(false)}
	return &mcp.Tool{Name: name, Description: does + " Free.", Annotations: hints}
}

// look adds the tools that show and list records. A list has the beginnings of texts, which would fill it.
func look[T, P any](
	t *tools, s *mcp.Server, kind string, show func(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error),
	list func(context.Context, P, ...aicontent.CallOption) (*aicontent.Page[T], error), search func(string) P,
	texts func(*T) []*string,
) {
	mcp.AddTool(s, looks("show_"+kind, "Returns one."),
		func(ctx context.Context, _ *request, in struct {
			ID aicontent.ID `json:"id"`
		}) (*mcp.CallToolResult, any, error) {
			record, err := show(ctx, in.ID)
			return nil, record, t.advise("", err)
		})
	mcp.AddTool(s, looks("list_"+kind+"s", "Lists the newest, or those with these words in their names."),
		func(ctx context.Context, _ *request, in struct {
			Name string `json:"name,omitempty"`
		}) (*mcp.CallToolResult, any, error) {
			page, err := list(ctx, search(searchFor(in.Name)))
			if err != nil {
				return nil, nil, t.advise("", err)
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
