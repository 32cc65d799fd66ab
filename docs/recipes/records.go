package recipes

import (
	"context"
	"encoding/json"

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

func thirdPage(ctx context.Context, client *aicontent.Client) ([]*aicontent.Image, error) {
	page, err := client.Images.List(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage25},
		aicontent.WithQuery("page", "3"))
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

func everything(ctx context.Context, client *aicontent.Client) ([]*aicontent.Image, error) {
	return aicontent.Collect(client.Images.All(ctx, aicontent.ImageListParams{PerPage: aicontent.PerPage100},
		aicontent.WithReadAhead(8)))
}
