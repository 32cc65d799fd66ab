package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// A record is a record of either collection, as it was sent or received.
type record struct {
	id       aicontent.ID
	fields   map[string]string
	favorite bool
	raw      json.RawMessage // of a received record
	file     aicontent.File  // of a transcription that is sent
}

// A change is the form of an update. A nil field is not sent.
type change struct {
	name, result *string
	favorite     *bool
}

func (c change) apply(r *record) {
	if c.name != nil {
		r.fields["name"] = *c.name
	}
	if c.result != nil {
		r.fields["result"] = *c.result
	}
	if c.favorite != nil {
		r.favorite = *c.favorite
	}
}

// A query selects and sorts the records of a list.
type query struct {
	search, searchBy string
	settings         map[string]string
	favorite         *bool
	sortBy           aicontent.SortBy
	sort             aicontent.Sort
	perPage          aicontent.PerPage // zero means 100
}

// searched returns the field that a query searches.
func (q query) searched() string { return cmp.Or(q.searchBy, "name") }

// api has the calls of one collection. all lists records by iterating, pages by following next links.
type api struct {
	resource *contract.Resource
	store    func(*aicontent.Client, *record, ...aicontent.CallOption) (*record, error)
	show     func(*aicontent.Client, aicontent.ID) (*record, error)
	update   func(*aicontent.Client, aicontent.ID, change) (*record, error)
	remove   func(*aicontent.Client, aicontent.ID) error
	all      func(*aicontent.Client, query) ([]aicontent.ID, error)
	pages    func(*aicontent.Client, query) ([][]aicontent.ID, error)
}

var ctx = context.Background()

var images = api{
	resource: contract.Images(),
	store: func(c *aicontent.Client, r *record, opts ...aicontent.CallOption) (*record, error) {
		return imageRecord(c.Images.Store(ctx, aicontent.ImageStoreParams{
			Name: r.fields["name"], Description: r.fields["description"],
			Resolution: aicontent.Resolution(r.fields["resolution"]), Style: aicontent.Style(r.fields["style"]),
			Medium: aicontent.Medium(r.fields["medium"]), Filter: aicontent.Filter(r.fields["filter"]),
		}, opts...))
	},
	show: func(c *aicontent.Client, id aicontent.ID) (*record, error) {
		return imageRecord(c.Images.Show(ctx, id))
	},
	update: func(c *aicontent.Client, id aicontent.ID, form change) (*record, error) {
		params := aicontent.ImageUpdateParams{Name: form.name, Favorite: form.favorite}
		return imageRecord(c.Images.Update(ctx, id, params))
	},
	remove: func(c *aicontent.Client, id aicontent.ID) error { return c.Images.Delete(ctx, id) },
	all: func(c *aicontent.Client, q query) ([]aicontent.ID, error) {
		return iterated(c.Images.All(ctx, imageList(q)), imageID)
	},
	pages: func(c *aicontent.Client, q query) ([][]aicontent.ID, error) {
		page, err := c.Images.List(ctx, imageList(q))
		return followed(page, err, imageID)
	},
}

func imageList(q query) aicontent.ImageListParams {
	return aicontent.ImageListParams{
		Search: q.search, SearchBy: aicontent.ImageSearchBy(q.searchBy), Favorite: q.favorite,
		Resolution: aicontent.Resolution(q.settings["resolution"]), Style: aicontent.Style(q.settings["style"]),
		Medium: aicontent.Medium(q.settings["medium"]), Filter: aicontent.Filter(q.settings["filter"]),
		SortBy: q.sortBy, Sort: q.sort, PerPage: cmp.Or(q.perPage, aicontent.PerPage100),
	}
}

func imageID(image *aicontent.Image) aicontent.ID { return image.ID }

func imageRecord(image *aicontent.Image, err error) (*record, error) {
	if err != nil {
		return nil, err
	}
	return &record{
		id: image.ID, favorite: image.Favorite, raw: image.Raw(),
		fields: map[string]string{
			"name": image.Name, "description": image.Description, "resolution": string(image.Resolution),
			"style": string(image.Style), "medium": string(image.Medium), "filter": string(image.Filter),
		},
	}, nil
}

var transcriptions = api{
	resource: contract.Transcriptions(),
	store: func(c *aicontent.Client, r *record, opts ...aicontent.CallOption) (*record, error) {
		return transcriptionRecord(c.Transcriptions.Store(ctx, aicontent.TranscriptionStoreParams{
			Name: r.fields["name"], File: r.file, Description: r.fields["description"],
			Language: aicontent.CountryCode(r.fields["language"]),
		}, opts...))
	},
	show: func(c *aicontent.Client, id aicontent.ID) (*record, error) {
		return transcriptionRecord(c.Transcriptions.Show(ctx, id))
	},
	update: func(c *aicontent.Client, id aicontent.ID, form change) (*record, error) {
		params := aicontent.TranscriptionUpdateParams{Name: form.name, Result: form.result, Favorite: form.favorite}
		return transcriptionRecord(c.Transcriptions.Update(ctx, id, params))
	},
	remove: func(c *aicontent.Client, id aicontent.ID) error { return c.Transcriptions.Delete(ctx, id) },
	all: func(c *aicontent.Client, q query) ([]aicontent.ID, error) {
		return iterated(c.Transcriptions.All(ctx, transcriptionList(q)), transcriptionID)
	},
	pages: func(c *aicontent.Client, q query) ([][]aicontent.ID, error) {
		page, err := c.Transcriptions.List(ctx, transcriptionList(q))
		return followed(page, err, transcriptionID)
	},
}

func transcriptionList(q query) aicontent.TranscriptionListParams {
	return aicontent.TranscriptionListParams{
		Search: q.search, SearchBy: aicontent.TranscriptionSearchBy(q.searchBy), Favorite: q.favorite,
		SortBy: q.sortBy, Sort: q.sort, PerPage: cmp.Or(q.perPage, aicontent.PerPage100),
	}
}

func transcriptionID(t *aicontent.Transcription) aicontent.ID { return t.ID }

func transcriptionRecord(t *aicontent.Transcription, err error) (*record, error) {
	if err != nil {
		return nil, err
	}
	return &record{
		id: t.ID, favorite: t.Favorite, raw: t.Raw(),
		fields: map[string]string{
			"name": t.Name, "description": t.Description, "language": string(t.Language), "result": t.Result,
		},
	}, nil
}

// iterated returns the IDs of the records.
func iterated[T any](records iter.Seq2[*T, error], id func(*T) aicontent.ID) (ids []aicontent.ID, err error) {
	for r, err := range records {
		if err != nil {
			return ids, err
		}
		ids = append(ids, id(r))
	}
	return ids, nil
}

// followed returns the IDs of the records on the page and on the next ones, at most ten.
func followed[T any](page *aicontent.Page[T], err error, id func(*T) aicontent.ID) (pages [][]aicontent.ID, _ error) {
	for ; err == nil && page != nil && len(pages) < 10; page, err = page.Next(ctx) {
		var ids []aicontent.ID
		for _, r := range page.Items {
			ids = append(ids, id(r))
		}
		pages = append(pages, ids)
	}
	return pages, err
}
