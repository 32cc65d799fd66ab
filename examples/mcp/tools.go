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
	"syscall"
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
	settle time.Duration
	wait   time.Duration   // see create
	life   context.Context // of the server; ends the create requests, too
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
	idArguments struct {
		ID aicontent.ID `json:"id"`
	}
	nameArguments struct {
		Name string `json:"name,omitempty" jsonschema:"part of the name, or nothing"`
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
		"arguments are one record, billed once: after a timeout or an error, repeat the same call.", t.budget.limit)
	draws := fmt.Sprintf("Draws an image. Resolutions: %v. Styles: %v. Mediums: %v. Filters: %v. ",
		aicontent.Resolutions(), aicontent.Styles(), aicontent.Mediums(), aicontent.Filters())
	mcp.AddTool(s, creates("create_image", draws+cost), t.createImage)
	if t.folder != nil {
		mcp.AddTool(s, creates("transcribe_file", "Transcribes a recording. "+cost), t.transcribeFile)
	}
	free(s, "show_image", "Returns an image.", func(ctx context.Context, in idArguments) (any, error) {
		return t.client.Images.Show(ctx, in.ID)
	})
	free(s, "show_transcription", "Returns a transcription.", func(ctx context.Context, in idArguments) (any, error) {
		return t.client.Transcriptions.Show(ctx, in.ID)
	})
	free(s, "list_images", "Lists images, the newest first.", func(ctx context.Context, in nameArguments) (any, error) {
		page, err := t.client.Images.List(ctx, aicontent.ImageListParams{Search: in.Name})
		if err == nil {
			for _, image := range page.Items {
				image.Description = short(image.Description)
			}
		}
		return page, err
	})
	free(s, "list_transcriptions", "Lists transcriptions, the newest first.",
		func(ctx context.Context, in nameArguments) (any, error) {
			page, err := t.client.Transcriptions.List(ctx, aicontent.TranscriptionListParams{Search: in.Name})
			if err == nil {
				for _, text := range page.Items {
					text.Description, text.Result = short(text.Description), short(text.Result)
				}
			}
			return page, err
		})
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

// short is the beginning of a text that would fill a list.
func short(text string) string {
	const most = 200
	if characters := []rune(text); len(characters) > most {
		return fmt.Sprintf("%s… (%d characters; show has all)", string(characters[:most]), len(characters))
	}
	return text
}

func (t *tools) createImage(ctx context.Context, req *request, in imageArguments) (*mcp.CallToolResult, any, error) {
	in.Again = max(in.Again, 1)
	params := aicontent.ImageStoreParams{
		Name: nameOf(in), Description: in.Description, Resolution: in.Resolution,
		Style: in.Style, Medium: in.Medium, Filter: in.Filter,
	}
	return create(ctx, t, req, t.names.Images.Store, params)
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
	return create(ctx, t, req, t.names.Transcriptions.Store, params)
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
