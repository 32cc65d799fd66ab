package conformance

import (
	"cmp"
	"context"
	"encoding/json"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// A record is a record of either collection, as it was sent or received.
type record struct {
	id       aicontent.ID
	fields   map[string]string
	favorite bool
	raw      json.RawMessage // of a received record
	file     aicontent.File  // of a sent transcription
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

// maxRecords ends lists whose pages do not end.
const maxRecords = 1000

// An api has the calls of one collection. list returns the records of all pages, and the number on the first page.
type api struct {
	resource *contract.Resource
	store    func(*aicontent.Client, *record, ...aicontent.CallOption) (*record, error)
	show     func(*aicontent.Client, aicontent.ID) (*record, error)
	update   func(*aicontent.Client, aicontent.ID, change) (*record, error)
	remove   func(*aicontent.Client, aicontent.ID) error
	list     func(*aicontent.Client, query) (ids []aicontent.ID, first int, err error)
}

// calls are the methods of the SDK for one collection: L, S and U are the parameters of List, Store and Update.
type calls[T, L, S, U any] interface {
	List(context.Context, L, ...aicontent.CallOption) (*aicontent.Page[T], error)
	Show(context.Context, aicontent.ID, ...aicontent.CallOption) (*T, error)
	Store(context.Context, S, ...aicontent.CallOption) (*T, error)
	Update(context.Context, aicontent.ID, U, ...aicontent.CallOption) (*T, error)
	Delete(context.Context, aicontent.ID, ...aicontent.CallOption) error
}

// newAPI returns the API of a collection, given the conversions of its records and parameters.
func newAPI[T, L, S, U any](
	resource *contract.Resource, of func(*aicontent.Client) calls[T, L, S, U],
	toRecord func(*T) *record, toList func(query) L, toStore func(*record) S, toUpdate func(change) U,
) api {
	ctx := context.Background()
	one := func(got *T, err error) (*record, error) {
		if err != nil {
			return nil, err
		}
		return toRecord(got), nil
	}
	return api{
		resource: resource,
		store: func(c *aicontent.Client, r *record, opts ...aicontent.CallOption) (*record, error) {
			return one(of(c).Store(ctx, toStore(r), opts...))
		},
		show: func(c *aicontent.Client, id aicontent.ID) (*record, error) { return one(of(c).Show(ctx, id)) },
		update: func(c *aicontent.Client, id aicontent.ID, form change) (*record, error) {
			return one(of(c).Update(ctx, id, toUpdate(form)))
		},
		remove: func(c *aicontent.Client, id aicontent.ID) error { return of(c).Delete(ctx, id) },
		list: func(c *aicontent.Client, q query) (ids []aicontent.ID, first int, err error) {
			page, err := of(c).List(ctx, toList(q))
			for ; err == nil && page != nil && len(ids) < maxRecords; page, err = page.Next(ctx) {
				for _, got := range page.Items {
					ids = append(ids, toRecord(got).id)
				}
				first = cmp.Or(first, len(ids))
			}
			return ids, first, err
		},
	}
}

type (
	imageCalls = calls[aicontent.Image, aicontent.ImageListParams, aicontent.ImageStoreParams,
		aicontent.ImageUpdateParams]
	transcriptionCalls = calls[aicontent.Transcription, aicontent.TranscriptionListParams,
		aicontent.TranscriptionStoreParams, aicontent.TranscriptionUpdateParams]
)

var images = newAPI(
	contract.Images(), func(c *aicontent.Client) imageCalls { return c.Images },
	func(i *aicontent.Image) *record {
		return &record{id: i.ID, favorite: i.Favorite, raw: i.Raw(), fields: map[string]string{
			"name": i.Name, "description": i.Description, "resolution": string(i.Resolution),
			"style": string(i.Style), "medium": string(i.Medium), "filter": string(i.Filter),
		}}
	},
	func(q query) aicontent.ImageListParams {
		return aicontent.ImageListParams{
			Search: q.search, SearchBy: aicontent.ImageSearchBy(q.searchBy), Favorite: q.favorite,
			Resolution: aicontent.Resolution(q.settings["resolution"]), Style: aicontent.Style(q.settings["style"]),
			Medium: aicontent.Medium(q.settings["medium"]), Filter: aicontent.Filter(q.settings["filter"]),
			SortBy: q.sortBy, Sort: q.sort, PerPage: cmp.Or(q.perPage, aicontent.PerPage100),
		}
	},
	func(r *record) aicontent.ImageStoreParams {
		return aicontent.ImageStoreParams{
			Name: r.fields["name"], Description: r.fields["description"],
			Resolution: aicontent.Resolution(r.fields["resolution"]), Style: aicontent.Style(r.fields["style"]),
			Medium: aicontent.Medium(r.fields["medium"]), Filter: aicontent.Filter(r.fields["filter"]),
		}
	},
	func(form change) aicontent.ImageUpdateParams {
		return aicontent.ImageUpdateParams{Name: form.name, Favorite: form.favorite}
	},
)

var transcriptions = newAPI(
	contract.Transcriptions(), func(c *aicontent.Client) transcriptionCalls { return c.Transcriptions },
	func(t *aicontent.Transcription) *record {
		return &record{id: t.ID, favorite: t.Favorite, raw: t.Raw(), fields: map[string]string{
			"name": t.Name, "description": t.Description, "language": string(t.Language), "result": t.Result,
		}}
	},
	func(q query) aicontent.TranscriptionListParams {
		return aicontent.TranscriptionListParams{
			Search: q.search, SearchBy: aicontent.TranscriptionSearchBy(q.searchBy), Favorite: q.favorite,
			SortBy: q.sortBy, Sort: q.sort, PerPage: cmp.Or(q.perPage, aicontent.PerPage100),
		}
	},
	func(r *record) aicontent.TranscriptionStoreParams {
		return aicontent.TranscriptionStoreParams{
			Name: r.fields["name"], File: r.file, Description: r.fields["description"],
			Language: aicontent.CountryCode(r.fields["language"]),
		}
	},
	func(form change) aicontent.TranscriptionUpdateParams {
		return aicontent.TranscriptionUpdateParams{Name: form.name, Result: form.result, Favorite: form.favorite}
	},
)
