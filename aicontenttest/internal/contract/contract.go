// Package contract holds the documented API as tables: values, parameters and form fields. They are
// written down here independently of the SDK, so that a value mistyped there is found.
package contract

import "slices"

// The documented values of an image's settings.
var (
	Resolutions = []string{"256x256", "512x512", "1024x1024"}
	Styles      = []string{
		"3d_render", "abstract", "anime", "art_deco", "cartoon", "digital_art", "illustration",
		"origami", "pixel_art", "photography", "pop_art", "retro", "sketch", "vaporwave",
	}
	Mediums = []string{
		"acrylic", "canvas", "chalk", "charcoal", "crayon", "glass", "ink", "pastel", "pencil",
		"spray_paint", "watercolor",
	}
	Filters = []string{"grayscale", "sepia", "invert"}
)

// Kind is the type of a field's value.
type Kind int

// The kinds of fields.
const (
	Text   Kind = iota // any text
	Choice             // one of Field.Values
	Flag               // a boolean
	Number             // a whole number from 1
	Audio              // a file part
)

// A Field is a query parameter of a list, or a form field of a store or an update.
type Field struct {
	Name     string
	Kind     Kind
	Values   []string
	Required bool
	// IfEmpty is the validator's message for an empty value of an optional field; "" accepts it.
	IfEmpty string
	// Ignored fields are accepted and dropped.
	Ignored bool
	// MaxLength is how many characters deployments with limits take; 0 is no limit.
	MaxLength int
}

const (
	maxName        = 128
	maxDescription = 2048

	emptyName   = "The :attribute field is required."
	emptyResult = "The :attribute field must be a string."
)

// A Resource is one of the two collections.
type Resource struct {
	Name      string // in the path: images
	Singular  string // image
	MediaType string // of the body of a store
	List      []Field
	Store     []Field
	Update    []Field
	PerPage   int // default page size
}

// Operations are the operations of the API, and the download of a picture.
var Operations = []string{
	"images.list", "images.show", "images.store", "images.update", "images.delete", "images.download",
	"transcriptions.list", "transcriptions.show", "transcriptions.store", "transcriptions.update",
	"transcriptions.delete",
}

// FilePart is the name of the file in the form of an upload.
const FilePart = "file"

// The media types of request bodies.
const (
	URLEncoded = "application/x-www-form-urlencoded"
	Multipart  = "multipart/form-data"
)

// listFields are the parameters of a list: those common to both, and the resource's filters.
func listFields(searchBy []string, filters ...Field) []Field {
	fields := []Field{
		{Name: "search"},
		{Name: "search_by", Kind: Choice, Values: searchBy},
	}
	fields = append(fields, filters...)
	return append(fields,
		Field{Name: "favorite", Kind: Flag},
		Field{Name: "sort_by", Kind: Choice, Values: []string{"id", "name"}},
		Field{Name: "sort", Kind: Choice, Values: []string{"desc", "asc"}},
		Field{Name: "per_page", Kind: Choice, Values: []string{"10", "25", "50", "100"}},
		// Undocumented, but the next links carry them.
		Field{Name: "page", Kind: Number},
		Field{Name: "cursor"},
	)
}

// Images describes the images collection.
func Images() *Resource {
	settings := []Field{
		{Name: "resolution", Kind: Choice, Values: Resolutions},
		{Name: "style", Kind: Choice, Values: Styles},
		{Name: "medium", Kind: Choice, Values: Mediums},
		{Name: "filter", Kind: Choice, Values: Filters},
	}
	store := []Field{
		{Name: "name", Required: true, MaxLength: maxName},
		{Name: "description", Required: true, MaxLength: maxDescription},
	}
	store = append(store, settings...)
	store[2].Required = true
	return &Resource{
		Name: "images", Singular: "image", MediaType: URLEncoded, PerPage: 10,
		List:   listFields([]string{"name"}, settings...),
		Store:  store,
		Update: []Field{{Name: "name", IfEmpty: emptyName, MaxLength: maxName}, {Name: "favorite", Kind: Flag}},
	}
}

// Transcriptions describes the transcriptions collection.
func Transcriptions() *Resource {
	return &Resource{
		Name: "transcriptions", Singular: "transcription", MediaType: Multipart, PerPage: 10,
		List: listFields([]string{"name", "result"}),
		Store: []Field{
			{Name: "name", Required: true, MaxLength: maxName},
			{Name: FilePart, Kind: Audio, Required: true},
			{Name: "description", MaxLength: maxDescription},
			{Name: "language", Kind: Choice, Values: Countries},
		},
		Update: []Field{
			{Name: "name", IfEmpty: emptyName, MaxLength: maxName},
			{Name: "result", IfEmpty: emptyResult},
			{Name: "favorite", Kind: Flag},
		},
	}
}

// Renew makes the changes of newer deployments: other resolutions, a quality instead of style, medium and
// filter, any language, and larger pages.
func (r *Resource) Renew() {
	r.PerPage = 100
	for _, fields := range [][]Field{r.List, r.Store} {
		for i := range fields {
			switch fields[i].Name {
			case "resolution":
				fields[i].Values = append(slices.Clip(fields[i].Values), "1536x1024", "1024x1536")
			case "style", "medium", "filter":
				fields[i].Ignored = true
			case "language":
				fields[i].Kind, fields[i].Values = Text, nil
			}
		}
	}
	if r.Name == "images" {
		r.Store = append(r.Store, Field{
			Name: "quality", Kind: Choice, Values: []string{"low", "medium", "high", "auto"},
		})
	}
}

// Find returns the field with the name, if there is one.
func Find(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}
