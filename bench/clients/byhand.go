package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// image is the record as someone would write it down who has no SDK.
type image struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Resolution  string    `json:"resolution"`
	Style       string    `json:"style"`
	Medium      string    `json:"medium"`
	Filter      string    `json:"filter"`
	Favorite    bool      `json:"favorite"`
	URL         string    `json:"url"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

type imageAnswer struct {
	Data image `json:"data"`
}

type imagePage struct {
	Data  []image `json:"data"`
	Links struct {
		Next string `json:"next"`
	} `json:"links"`
	Meta struct {
		CurrentPage int `json:"current_page"`
		LastPage    int `json:"last_page"`
		Total       int `json:"total"`
	} `json:"meta"`
}

// byHand is the reference: net/http and encoding/json, without retries.
type byHand struct {
	base   string
	client *http.Client
}

func newByHand(s Settings) (Client, error) {
	c := &byHand{base: s.URL + "/tenant/api/v1", client: http.DefaultClient}
	if given := s.httpClient(); given != nil {
		c.client = given
	}
	return c, nil
}

func (c *byHand) do(req *http.Request, into any) error {
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Accept", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (c *byHand) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	return c.do(req, into)
}

func (c *byHand) Show(ctx context.Context) error {
	var a imageAnswer
	if err := c.get(ctx, "/images/7", &a); err != nil {
		return err
	}
	return complete(strconv.FormatInt(a.Data.ID, 10), a.Data.Description)
}

func (c *byHand) List(ctx context.Context) (int, error) {
	var page imagePage
	err := c.get(ctx, "/images?per_page=100", &page)
	return len(page.Data), err
}

func (c *byHand) Walk(ctx context.Context) (int, error) {
	n := 0
	for number := 1; ; number++ {
		var page imagePage
		if err := c.get(ctx, "/images?per_page=100&page="+strconv.Itoa(number), &page); err != nil {
			return n, err
		}
		n += len(page.Data)
		if page.Meta.CurrentPage >= page.Meta.LastPage {
			return n, nil
		}
	}
}

func (c *byHand) Create(ctx context.Context, name string) error {
	form := url.Values{"name": {name}, "description": {"a tower"}, "resolution": {"512x512"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/images", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(req, &imageAnswer{})
}

// Upload streams the form with its length known beforehand, which is the best that net/http does for a multipart body.
func (c *byHand) Upload(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("name", "audio"); err != nil {
		return err
	}
	if _, err := w.CreateFormFile("file", filepath.Base(path)); err != nil {
		return err
	}
	head := form.Len()
	if err := w.Close(); err != nil {
		return err
	}
	body := io.MultiReader(bytes.NewReader(form.Bytes()[:head]), f, bytes.NewReader(form.Bytes()[head:]))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/transcriptions", body)
	if err != nil {
		return err
	}
	req.ContentLength = int64(form.Len()) + info.Size()
	req.Header.Set("Content-Type", w.FormDataContentType())
	return c.do(req, &imageAnswer{})
}
