package conformance

import (
	"bytes"
	"fmt"
	"strings"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// longest is the length of a name that every deployment accepts, in bytes.
const longest = 128

// odd returns a name that deployments must not change.
func odd(name string) string {
	name += ` odd "names" <&> = + %% / \ ' ü 日本 😀 `
	return name + strings.Repeat("n", max(1, longest-len(name)))
}

// imageForms returns forms with every documented value, one without optional fields, and one with an odd name.
func imageForms(run string) (list []*record) {
	for i, style := range contract.Styles {
		list = append(list, &record{fields: map[string]string{
			"name": fmt.Sprintf("%s image %02d", run, i), "description": "A lighthouse on a cliff, seen from the sea",
			"resolution": contract.Resolutions[i%len(contract.Resolutions)], "style": style,
			"medium": contract.Mediums[i%len(contract.Mediums)], "filter": contract.Filters[i/2%len(contract.Filters)],
		}})
	}
	plain := &record{fields: map[string]string{
		"name": run + " image 98, plain", "description": "A harbor", "resolution": "256x256",
	}}
	oddest := &record{fields: map[string]string{
		"name": odd(run + " image 99,"), "resolution": "256x256",
		"description": "line one\nline two & more=yes; 100% + ü",
	}}
	return append(list, plain, oddest)
}

// transcriptionForms returns forms with each kind of file. The last one cannot be read again.
func transcriptionForms(run string) []*record {
	return []*record{
		{
			fields: map[string]string{"name": run + " recording 0"},
			file:   aicontent.FileFromBytes("silence.wav", silence()),
		},
		{
			fields: map[string]string{"name": run + " recording 1", "language": "GB"},
			file:   aicontent.FileFromBytes(`a "quiet" moment, ü.wav`, silence()),
		},
		{
			fields: map[string]string{
				"name": odd(run + " recording 2,"), "description": "half a second & no more", "language": "DE",
			},
			file: aicontent.FileFromReader("silence.wav", bytes.NewBuffer(silence())),
		},
	}
}

// silence is half a second of silence as WAV: 8000 samples per second of one byte.
func silence() []byte {
	const header = "RIFF\xc4\x0f\x00\x00WAVE" +
		"fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00" +
		"data\xa0\x0f\x00\x00"
	return append([]byte(header), bytes.Repeat([]byte{0x80}, 4000)...)
}
