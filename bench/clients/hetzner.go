package clients

import (
	"context"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

type hetzner struct{ client *hcloud.Client }

func newHetzner(s Settings) (Client, error) {
	opts := []hcloud.ClientOption{hcloud.WithEndpoint(s.URL), hcloud.WithToken(key)}
	if given := s.httpClient(); given != nil {
		opts = append(opts, hcloud.WithHTTPClient(given))
	}
	if s.Retries {
		opts = append(opts, hcloud.WithRetryOpts(hcloud.RetryOpts{
			BackoffFunc: hcloud.ExponentialBackoffWithOpts(hcloud.ExponentialBackoffOpts{
				Base: time.Second, Multiplier: 2, Cap: 4 * time.Second, Jitter: true,
			}),
			MaxRetries: 5,
		}))
	}
	return &hetzner{hcloud.NewClient(opts...)}, nil
}

func (c *hetzner) Show(ctx context.Context) error {
	image, _, err := c.client.Image.GetByID(ctx, 7)
	if err != nil {
		return err
	}
	return complete(strconv.FormatInt(image.ID, 10), image.Description)
}

func (c *hetzner) List(ctx context.Context) (int, error) {
	page, _, err := c.client.Image.List(ctx, hcloud.ImageListOpts{ListOpts: hcloud.ListOpts{PerPage: 100}})
	return len(page), err
}

func (c *hetzner) Walk(ctx context.Context) (int, error) {
	all, err := c.client.Image.AllWithOpts(ctx, hcloud.ImageListOpts{ListOpts: hcloud.ListOpts{PerPage: 100}})
	return len(all), err
}

func (c *hetzner) Create(ctx context.Context, name string) error {
	_, _, err := c.client.SSHKey.Create(ctx, hcloud.SSHKeyCreateOpts{Name: name, PublicKey: "ssh-ed25519 AAAA"})
	return err
}

// Upload uses the SDK's generic requests: it has no method that sends a file. It asks for a body at each attempt.
func (c *hetzner) Upload(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	req, err := c.client.NewRequest(ctx, http.MethodPost, "/uploads", http.NoBody)
	if err != nil {
		return err
	}
	req.ContentLength = info.Size()
	req.GetBody = func() (io.ReadCloser, error) { return os.Open(path) }
	_, err = c.client.Do(req, nil)
	return err
}
