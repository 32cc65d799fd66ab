package aicontenttest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	aicontent "github.com/aicontent/aicontent-go"
)

func (c *conformance) imageScenarios() []scenario {
	return []scenario{
		{"images/store takes every documented value", c.imagesStore},
		{"images/show gives what was stored", c.imagesShow},
		{"images/list filters by each setting", c.imagesFilter},
		{"images/list searches names", c.imagesSearch},
		{"images/list sorts", c.imagesSort},
		{"images/pages by All", c.imagesAll},
		{"images/pages by Next", c.imagesNext},
		{"images/pages of every size", c.imagesPerPage},
		{"images/update by PATCH", func(t TB) { c.imagesUpdate(t, http.MethodPatch) }},
		{"images/update by PUT", func(t TB) { c.imagesUpdate(t, http.MethodPut) }},
		{"images/list filters favorites", c.imagesFavorite},
		{"images/names come back as they were sent", c.imagesNames},
		{"images/delete", c.imagesDelete},
	}
}

// imageParams are those of image i: between them, all 14 have every documented value.
func (c *conformance) imageParams(i int) aicontent.ImageStoreParams {
	return aicontent.ImageStoreParams{
		Name:        c.name("image %02d", i),
		Description: "A lighthouse on a cliff, seen from the sea",
		Resolution:  aicontent.Resolution(resolutions[i%len(resolutions)]),
		Style:       aicontent.Style(styles[i]),
		Medium:      aicontent.Medium(mediums[i%len(mediums)]),
		Filter:      aicontent.Filter(filters[i/2%len(filters)]),
	}
}

func (c *conformance) imagesStore(t TB) {
	for i := range styles {
		params := c.imageParams(i)
		image := c.storeImage(t, params)
		c.images = append(c.images, image.ID)
		compareImage(t, params, image)
	}
	plain := aicontent.ImageStoreParams{Name: c.name("image 98, plain"), Description: "A harbour", Resolution: aicontent.Resolution256x256}
	image := c.storeImage(t, plain)
	c.images = append(c.images, image.ID)
	compareImage(t, plain, image)
}

func compareImage(t TB, want aicontent.ImageStoreParams, got *aicontent.Image) {
	t.Helper()
	if got.ID == "" {
		t.Errorf("%s: no id", want.Name)
	}
	sent(t, got.Raw(), "name", want.Name, got.Name)
	sent(t, got.Raw(), "description", want.Description, got.Description)
	sent(t, got.Raw(), "resolution", want.Resolution, got.Resolution)
	sent(t, got.Raw(), "style", want.Style, got.Style)
	sent(t, got.Raw(), "medium", want.Medium, got.Medium)
	sent(t, got.Raw(), "filter", want.Filter, got.Filter)
	if got.Favorite {
		t.Errorf("%s: a new image is a favorite", want.Name)
	}
}

func (c *conformance) imagesShow(t TB) {
	for i, id := range c.images[:len(styles)] {
		image, err := c.client.Images.Show(context.Background(), id)
		if err != nil {
			t.Fatalf("show %s: %v", id, err)
		}
		if image.ID != id {
			t.Errorf("show %s: the image has the id %s", id, image.ID)
		}
		compareImage(t, c.imageParams(i), image)
	}
}

func (c *conformance) imagesFilter(t TB) {
	// having are the ids of the images that were stored with the setting, newest first.
	having := func(has func(aicontent.ImageStoreParams) bool) []aicontent.ID {
		var ids []aicontent.ID
		for i := range styles {
			if has(c.imageParams(i)) {
				ids = append(ids, c.images[i])
			}
		}
		return reversed(ids)
	}
	for _, v := range styles {
		v := aicontent.Style(v)
		want := having(func(p aicontent.ImageStoreParams) bool { return p.Style == v })
		same(t, "style "+string(v), want, c.listedImages(t, aicontent.ImageListParams{Style: v}))
	}
	for _, v := range mediums {
		v := aicontent.Medium(v)
		want := having(func(p aicontent.ImageStoreParams) bool { return p.Medium == v })
		same(t, "medium "+string(v), want, c.listedImages(t, aicontent.ImageListParams{Medium: v}))
	}
	for _, v := range filters {
		v := aicontent.Filter(v)
		want := having(func(p aicontent.ImageStoreParams) bool { return p.Filter == v })
		same(t, "filter "+string(v), want, c.listedImages(t, aicontent.ImageListParams{Filter: v}))
	}
	for _, v := range resolutions {
		v := aicontent.Resolution(v)
		want := having(func(p aicontent.ImageStoreParams) bool { return p.Resolution == v })
		got := c.listedImages(t, aicontent.ImageListParams{Resolution: v})
		// The plain image has a resolution too.
		got = slices.DeleteFunc(got, func(id aicontent.ID) bool { return id == c.images[len(styles)] })
		same(t, "resolution "+string(v), want, got)
	}
}

func (c *conformance) imagesSearch(t TB) {
	for _, by := range []aicontent.ImageSearchBy{"", aicontent.ImageSearchByName} {
		got := c.listedImages(t, aicontent.ImageListParams{Search: c.name("image 07"), SearchBy: by})
		same(t, "a name", c.images[7:8], got)
	}
	same(t, "a name that is none", nil, c.listedImages(t, aicontent.ImageListParams{Search: c.name("nothing")}))
}

func (c *conformance) imagesSort(t TB) {
	// The names were given in the order of storing.
	for _, by := range []aicontent.SortBy{"", aicontent.SortByID, aicontent.SortByName} {
		got := c.listedImages(t, aicontent.ImageListParams{SortBy: by, Sort: aicontent.SortAsc})
		same(t, "ascending by "+string(by), c.images, got)
		got = c.listedImages(t, aicontent.ImageListParams{SortBy: by, Sort: aicontent.SortDesc})
		same(t, "descending by "+string(by), reversed(c.images), got)
	}
	same(t, "as the service sorts by itself", reversed(c.images), c.listedImages(t, aicontent.ImageListParams{}))
}

// shownPages ends a walk that cannot go on because the deployment does not say what follows a
// full page: all that can be asked of it then are the records of that page.
func (c *conformance) shownPages(t TB, err error, got []aicontent.ID) {
	t.Helper()
	want := reversed(c.images)
	if errors.Is(err, aicontent.ErrPagination) {
		t.Logf("the deployment does not tell of further pages: %v", err)
		want = want[:10]
	} else if err != nil {
		t.Fatalf("pages: %v", err)
	}
	same(t, "the records of all pages", want, got)
}

func (c *conformance) imagesAll(t TB) {
	var got []aicontent.ID
	var end error
	params := aicontent.ImageListParams{Search: c.run, PerPage: aicontent.PerPage10}
	for image, err := range c.client.Images.All(context.Background(), params) {
		if end = err; err == nil {
			got = append(got, image.ID)
		}
	}
	c.shownPages(t, end, got)
}

func (c *conformance) imagesNext(t TB) {
	var got []aicontent.ID
	params := aicontent.ImageListParams{Search: c.run, PerPage: aicontent.PerPage10}
	page, err := c.client.Images.List(context.Background(), params)
	for n := 0; err == nil && page != nil && n < 10; n++ {
		if len(page.Items) > 10 {
			t.Errorf("a page of 10 has %d images", len(page.Items))
		}
		for _, image := range page.Items {
			got = append(got, image.ID)
		}
		page, err = page.Next(context.Background())
	}
	c.shownPages(t, err, got)
}

func (c *conformance) imagesPerPage(t TB) {
	for _, size := range []aicontent.PerPage{10, 25, 50, 100} {
		page, err := c.client.Images.List(context.Background(), aicontent.ImageListParams{Search: c.run, PerPage: size})
		if err != nil {
			t.Fatalf("a page of %d: %v", size, err)
		}
		if want := min(int(size), len(c.images)); len(page.Items) != want {
			t.Errorf("a page of %d has %d images, not %d", size, len(page.Items), want)
		}
	}
}

func (c *conformance) imagesUpdate(t TB, method string) {
	client := c.newClient(aicontent.WithUpdateMethod(method))
	id, name := c.images[0], c.imageParams(0).Name
	for _, step := range []struct {
		what     string
		params   aicontent.ImageUpdateParams
		name     string
		favorite bool
	}{
		{"name", aicontent.ImageUpdateParams{Name: aicontent.Ptr(name + " changed")}, name + " changed", false},
		{"favorite on", aicontent.ImageUpdateParams{Favorite: aicontent.Ptr(true)}, name + " changed", true},
		{"both", aicontent.ImageUpdateParams{Name: &name, Favorite: aicontent.Ptr(false)}, name, false},
	} {
		changed, err := client.Images.Update(context.Background(), id, step.params)
		if err != nil {
			t.Fatalf("update %s: %v", step.what, err)
		}
		shown, err := client.Images.Show(context.Background(), id)
		if err != nil {
			t.Fatalf("show after update %s: %v", step.what, err)
		}
		for _, image := range []*aicontent.Image{changed, shown} {
			sent(t, image.Raw(), "name", step.name, image.Name)
			if image.Favorite != step.favorite {
				t.Errorf("%s: favorite is %v", step.what, image.Favorite)
			}
		}
	}
}

func (c *conformance) imagesFavorite(t TB) {
	for _, id := range c.images[:2] {
		_, err := c.client.Images.Update(context.Background(), id, aicontent.ImageUpdateParams{Favorite: aicontent.Ptr(true)})
		if err != nil {
			t.Fatalf("favorite %s: %v", id, err)
		}
	}
	same(t, "favorites", reversed(c.images[:2]), c.listedImages(t, aicontent.ImageListParams{Favorite: aicontent.Ptr(true)}))
	same(t, "others", reversed(c.images[2:]), c.listedImages(t, aicontent.ImageListParams{Favorite: aicontent.Ptr(false)}))
}

func (c *conformance) imagesNames(t TB) {
	params := aicontent.ImageStoreParams{
		Name:        c.name(`odd "names" <&> = + %% / \ ' ü 日本 😀 %s`, strings.Repeat("n", 100)),
		Description: "line one\nline two & more=yes; 100% + ü", Resolution: aicontent.Resolution256x256,
	}
	image := c.storeImage(t, params)
	compareImage(t, params, image)
	shown, err := c.client.Images.Show(context.Background(), image.ID)
	if err != nil {
		t.Fatalf("show: %v", err)
	}
	compareImage(t, params, shown)
}

func (c *conformance) imagesDelete(t TB) {
	id := c.images[0]
	if err := c.client.Images.Delete(context.Background(), id); err != nil {
		t.Fatalf("delete: %v", err)
	}
	_, err := c.client.Images.Show(context.Background(), id)
	fails(t, "show what was deleted", err, aicontent.ErrNotFound)
	fails(t, "delete it again", c.client.Images.Delete(context.Background(), id), aicontent.ErrNotFound)
	if slices.Contains(c.listedImages(t, aicontent.ImageListParams{}), id) {
		t.Errorf("what was deleted is still listed")
	}
}
