package aicontenttest

import "slices"

// The tables of this file and of countries.go are written down from the interface a second
// time, on purpose: a value mistyped in the SDK must not be mistyped here.

var (
	resolutions = []string{"256x256", "512x512", "1024x1024"}
	styles      = []string{
		"3d_render", "abstract", "anime", "art_deco", "cartoon", "digital_art", "illustration",
		"origami", "pixel_art", "photography", "pop_art", "retro", "sketch", "vaporwave",
	}
	mediums = []string{
		"acrylic", "canvas", "chalk", "charcoal", "crayon", "glass", "ink", "pastel", "pencil",
		"spray_paint", "watercolor",
	}
	filters = []string{"grayscale", "sepia", "invert"}
)

// kind says how the value of a field is written.
type kind int

const (
	text   kind = iota // anything
	choice             // one of the field's values
	flag               // a boolean: 1 or 0, or words by [BooleanWords]
	number             // a whole number from 1 on
	audio              // a file part
)

// A field is one query parameter of a list, or one form field of a store or an update.
type field struct {
	name     string
	kind     kind
	values   []string
	required bool
	// filled means that the field may be left out but not be empty.
	filled bool
}

// A resource is one of the two collections as the interface describes it.
type resource struct {
	name      string // as in the path: images
	singular  string // as in the answer to a delete: image
	mediaType string // of the body of a store
	list      []field
	store     []field
	update    []field
	// perPage is the size of a page when the caller does not say.
	perPage int
}

const (
	urlencoded = "application/x-www-form-urlencoded"
	multiparts = "multipart/form-data"
)

// listFields are the parameters that both lists have, around the resource's own.
func listFields(searchBy []string, own ...field) []field {
	fields := []field{
		{name: "search"},
		{name: "search_by", kind: choice, values: searchBy},
	}
	fields = append(fields, own...)
	return append(fields,
		field{name: "favorite", kind: flag},
		field{name: "sort_by", kind: choice, values: []string{"id", "name"}},
		field{name: "sort", kind: choice, values: []string{"desc", "asc"}},
		field{name: "per_page", kind: choice, values: []string{"10", "25", "50", "100"}},
		// The paginator's own: its next links carry them.
		field{name: "page", kind: number},
		field{name: "cursor"},
	)
}

func imagesResource() *resource {
	settings := []field{
		{name: "resolution", kind: choice, values: resolutions},
		{name: "style", kind: choice, values: styles},
		{name: "medium", kind: choice, values: mediums},
		{name: "filter", kind: choice, values: filters},
	}
	store := []field{{name: "name", required: true}, {name: "description", required: true}}
	store = append(store, settings...)
	store[2].required = true
	return &resource{
		name: "images", singular: "image", mediaType: urlencoded, perPage: 10,
		list:   listFields([]string{"name"}, settings...),
		store:  store,
		update: []field{{name: "name", filled: true}, {name: "favorite", kind: flag}},
	}
}

func transcriptionsResource() *resource {
	return &resource{
		name: "transcriptions", singular: "transcription", mediaType: multiparts, perPage: 10,
		list: listFields([]string{"name", "result"}),
		store: []field{
			{name: "name", required: true},
			{name: "file", kind: audio, required: true},
			{name: "description"},
			{name: "language", kind: choice, values: countries},
		},
		update: []field{
			{name: "name", filled: true}, {name: "result"}, {name: "favorite", kind: flag},
		},
	}
}

// renew makes the resource take what newer deployments take, beside what is documented.
func (r *resource) renew() {
	r.perPage = 100
	for _, fields := range [][]field{r.list, r.store} {
		for i := range fields {
			switch fields[i].name {
			case "resolution":
				fields[i].values = append(slices.Clip(fields[i].values), "1536x1024", "1024x1536")
			case "language":
				fields[i].kind, fields[i].values = text, nil
			}
		}
	}
	if r.name == "images" {
		r.store = append(r.store, field{
			name: "quality", kind: choice, values: []string{"low", "medium", "high", "auto"},
		})
	}
}

// find returns the field with the name, if there is one.
func find(fields []field, name string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}
