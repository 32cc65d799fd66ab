package clients

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-resty/resty/v2"
)

type restyClient struct{ client *resty.Client }

func newResty(s Settings) (Client, error) {
	client := resty.New()
	if given := s.httpClient(); given != nil {
		client = resty.NewWithClient(given)
	}
	client.SetBaseURL(s.URL + "/tenant/api/v1").SetAuthToken(key)
	if s.Retries {
		client.SetRetryCount(3).AddRetryCondition(func(r *resty.Response, err error) bool {
			return err != nil || r.StatusCode() == http.StatusTooManyRequests || r.StatusCode() >= 500
		})
	}
	return &restyClient{client}, nil
}

// failed makes an error of a response that resty does not take for one.
func failed(resp *resty.Response, err error) error {
	if err == nil && resp.IsError() {
		return fmt.Errorf("%s: %s", resp.Status(), resp.Body())
	}
	return err
}

func (c *restyClient) Show(ctx context.Context) error {
	var a imageAnswer
	if err := failed(c.client.R().SetContext(ctx).SetResult(&a).Get("/images/7")); err != nil {
		return err
	}
	return complete(strconv.FormatInt(a.Data.ID, 10), a.Data.Description)
}

func (c *restyClient) page(ctx context.Context, number string) (*imagePage, error) {
	var page imagePage
	req := c.client.R().SetContext(ctx).SetResult(&page).SetQueryParam("per_page", "100")
	if number != "" {
		req.SetQueryParam("page", number)
	}
	err := failed(req.Get("/images"))
	return &page, err
}

func (c *restyClient) List(ctx context.Context) (int, error) {
	page, err := c.page(ctx, "")
	return len(page.Data), err
}

func (c *restyClient) Walk(ctx context.Context) (int, error) {
	n := 0
	for number := 1; ; number++ {
		page, err := c.page(ctx, strconv.Itoa(number))
		if err != nil {
			return n, err
		}
		n += len(page.Data)
		if page.Meta.CurrentPage >= page.Meta.LastPage {
			return n, nil
		}
	}
}

func (c *restyClient) Create(ctx context.Context, name string) error {
	form := map[string]string{"name": name, "description": "a tower", "resolution": "512x512"}
	return failed(c.client.R().SetContext(ctx).SetFormData(form).SetResult(&imageAnswer{}).Post("/images"))
}

func (c *restyClient) Upload(ctx context.Context, path string) error {
	req := c.client.R().SetContext(ctx).SetFormData(map[string]string{"name": "audio"}).SetFile("file", path)
	return failed(req.SetResult(&imageAnswer{}).Post("/transcriptions"))
}
