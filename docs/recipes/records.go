package recipes

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/aicontent/aicontent-go"
)

// row is an image in a database: a column for each field that queries need, and the whole record as sent.
type row struct {
	ID     string
	Name   string
	Record json.RawMessage
}

func toRow(image *aicontent.Image) row {
	return row{ID: string(image.ID), Name: image.Name, Record: image.Raw()}
}

func fromRow(r row) (*aicontent.Image, error) {
	image := new(aicontent.Image)
	err := json.Unmarshal(r.Record, image)
	return image, err
}

// export passes all images to save, a page at a time, from the given page on. It returns the page at which another run
// continues. That run may pass some images again.
func export(ctx context.Context, client *aicontent.Client, from int, save func([]*aicontent.Image) error) (int, error) {
	params := aicontent.ImageListParams{PerPage: aicontent.PerPage100, Sort: aicontent.SortAsc} // new ones come last
	page, err := client.Images.List(ctx, params, aicontent.WithQuery("page", strconv.Itoa(from)))
	for page != nil && err == nil {
		if err = save(page.Items); err != nil {
			break
		}
		if page, err = page.Next(ctx); page != nil {
			from++
		}
	}
	return from, err
}

// everything returns all images in their order, with up to eight pages under way at once.
func everything(ctx context.Context, client *aicontent.Client) ([]*aicontent.Image, error) {
	params := aicontent.ImageListParams{PerPage: aicontent.PerPage100, Sort: aicontent.SortAsc} // new ones come last
	first, err := client.Images.List(ctx, params)
	if err != nil {
		return nil, err
	}
	if first.Last == 0 || first.Last > 100_000 { // the service does not number its pages, or makes no sense
		return aicontent.Collect(client.Images.All(ctx, params))
	}
	pages := make([][]*aicontent.Image, first.Last)
	pages[0] = first.Items
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := 1; i < len(pages); i++ {
		group.Go(func() error {
			page, err := client.Images.List(ctx, params, aicontent.WithQuery("page", strconv.Itoa(i+1)))
			if err == nil {
				pages[i] = page.Items
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(pages...), nil // an image that moved meanwhile is there twice or missing
}
