package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/aicontent/aicontent-go"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	largest   = 512 << 20 // bytes of the largest recording
	mostFiles = 500       // files in a list
)

func (t *tools) transcribeFile(ctx context.Context, req *request, in fileArguments) (*mcp.CallToolResult, any, error) {
	if !t.isRecording(in.Path) {
		err := fmt.Errorf("%q: must be a file of 1 to %d bytes below the folder", in.Path, largest)
		return nil, nil, t.advise("Nothing was sent. ", err)
	}
	data, err := t.folder.ReadFile(in.Path) // The name stands for these bytes, even if the file changes meanwhile.
	if err != nil {
		return nil, nil, t.advise("Nothing was sent. ", err)
	}
	params := aicontent.TranscriptionStoreParams{
		Name: nameOf(cmp.Or(in.Description, "recording"),
			sha256.Sum256(data), in.Description, in.Language, max(in.Again, 1)),
		Description: in.Description, Language: in.Language, File: aicontent.FileFromBytes(path.Base(in.Path), data),
	}
	whole := func(ctx context.Context, text *aicontent.Transcription) (*aicontent.Transcription, error) {
		if text.Result != "" {
			return text, nil
		}
		return t.client.Transcriptions.Wait(ctx, text.ID)
	}
	return create(ctx, t, req, t.names.Transcriptions.Store, whole, params.Name, params)
}

func (t *tools) isRecording(path string) bool {
	info, err := t.folder.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() <= largest
}

// listFolder lists the files that transcribeFile accepts, apart from hidden ones. A folder that cannot be read is left
// out.
func (t *tools) listFolder(_ context.Context, _ *request, in struct {
	Contains string `json:"contains,omitempty" jsonschema:"part of the path"`
}) (*mcp.CallToolResult, any, error) {
	paths, more := []string{}, false
	err := fs.WalkDir(t.folder.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == ".":
			return err
		case path != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case err != nil, entry.IsDir(), !strings.Contains(path, in.Contains), !t.isRecording(path):
		case len(paths) == mostFiles:
			more = true
			return fs.SkipAll
		default:
			paths = append(paths, path)
		}
		return nil
	})
	return nil, map[string]any{"paths": paths, "more": more}, t.advise("", err)
}
