package conformance

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

func (s *Suite) imageScenarios() []Scenario {
	return after([]Scenario{
		{"images/store accepts every documented value", s.imagesStore},
		{"images/show returns what was stored", s.imagesShow},
		{"images/list filters by each setting", s.imagesFilter},
		{"images/list searches names", s.imagesSearch},
		{"images/list sorts", s.imagesSort},
		{"images/pages by All", s.imagesAll},
		{"images/pages by Next", s.imagesNext},
		{"images/pages of every size", s.imagesPerPage},
		{"images/update by PATCH", func(t TB) { s.imagesUpdate(t, http.MethodPatch) }},
		{"images/update by PUT", func(t TB) { s.imagesUpdate(t, http.MethodPut) }},
		{"images/list filters favorites", s.imagesFavorite},
		{"images/names come back as they were sent", s.imagesNames},
		{"images/delete", s.imagesDelete},
	}, func() bool { return len(s.images) > len(contract.Styles) })
}

// imageParams are those of image i: between them, all 14 have every documented value.
func (s *Suite) imageParams(i int) aicontent.ImageStoreParams {
	return aicontent.ImageStoreParams{
		Name:        s.name("image %02d", i),
		Description: "A lighthouse on a cliff, seen from the sea",
		Resolution:  aicontent.Resolution(contract.Resolutions[i%len(contract.Resolutions)]),
		Style:       aicontent.Style(contract.Styles[i]),
		Medium:      aicontent.Medium(contract.Mediums[i%len(contract.Mediums)]),
		Filter:      aicontent.Filter(contract.Filters[i/2%len(contract.Filters)]),
	}
}

func (s *Suite) imagesStore(t TB) {
	for i := range contract.Styles {
		params := s.imageParams(i)
		image := s.storeImage(t, params)
		s.images = append(s.images, image.ID)
		compareImage(t, params, image)
	}
	plain := aicontent.ImageStoreParams{
		Name: s.name("image 98, plain"), Description: "A harbor", Resolution: aicontent.Resolution256x256,
	}
	image := s.storeImage(t, plain)
	s.images = append(s.images, image.ID)
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

func (s *Suite) imagesShow(t TB) {
	for i, id := range s.images[:len(contract.Styles)] {
		image, err := s.client.Images.Show(context.Background(), id)
		if err != nil {
			t.Fatalf("show %s: %v", id, err)
		}
		if image.ID != id {
			t.Errorf("show %s: the image has the id %s", id, image.ID)
		}
		compareImage(t, s.imageParams(i), image)
	}
}

// A setting is one of the settings that a list can be filtered by.
type setting struct {
	name   string
	values []string
	of     func(aicontent.ImageStoreParams) string
	filter func(value string) aicontent.ImageListParams
}

var settings = []setting{
	{"style", contract.Styles,
		func(p aicontent.ImageStoreParams) string { return string(p.Style) },
		func(v string) aicontent.ImageListParams { return aicontent.ImageListParams{Style: aicontent.Style(v)} }},
	{"medium", contract.Mediums,
		func(p aicontent.ImageStoreParams) string { return string(p.Medium) },
		func(v string) aicontent.ImageListParams {
			return aicontent.ImageListParams{Medium: aicontent.Medium(v)}
		}},
	{"filter", contract.Filters,
		func(p aicontent.ImageStoreParams) string { return string(p.Filter) },
		func(v string) aicontent.ImageListParams {
			return aicontent.ImageListParams{Filter: aicontent.Filter(v)}
		}},
	{"resolution", contract.Resolutions,
		func(p aicontent.ImageStoreParams) string { return string(p.Resolution) },
		func(v string) aicontent.ImageListParams {
			return aicontent.ImageListParams{Resolution: aicontent.Resolution(v)}
		}},
}

func (s *Suite) imagesFilter(t TB) {
	shown, err := s.client.Images.Show(context.Background(), s.images[0])
	if err != nil {
		t.Fatalf("show %s: %v", s.images[0], err)
	}
	for _, by := range settings {
		// Newer deployments have dropped some settings.
		if !hasMember(shown.Raw(), by.name) {
			t.Logf("not checked: images have no %s", by.name)
			continue
		}
		for _, value := range by.values {
			var want []aicontent.ID
			for i := range contract.Styles {
				if by.of(s.imageParams(i)) == value {
					want = append(want, s.images[i])
				}
			}
			got := s.listedImages(t, by.filter(value))
			// The plain image has a resolution too.
			got = slices.DeleteFunc(got, func(id aicontent.ID) bool { return id == s.images[len(contract.Styles)] })
			same(t, by.name+" "+value, reversed(want), got)
		}
	}
}

func (s *Suite) imagesSearch(t TB) {
	for _, by := range []aicontent.ImageSearchBy{"", aicontent.ImageSearchByName} {
		got := s.listedImages(t, aicontent.ImageListParams{Search: s.name("image 07"), SearchBy: by})
		same(t, "a name", s.images[7:8], got)
	}
	same(t, "an unknown name", nil, s.listedImages(t, aicontent.ImageListParams{Search: s.name("nothing")}))
}

func (s *Suite) imagesSort(t TB) {
	// The names were given in the order of storing.
	for _, by := range []aicontent.SortBy{"", aicontent.SortByID, aicontent.SortByName} {
		got := s.listedImages(t, aicontent.ImageListParams{SortBy: by, Sort: aicontent.SortAsc})
		same(t, "ascending by "+string(by), s.images, got)
		got = s.listedImages(t, aicontent.ImageListParams{SortBy: by, Sort: aicontent.SortDesc})
		same(t, "descending by "+string(by), reversed(s.images), got)
	}
	same(t, "the default order", reversed(s.images), s.listedImages(t, aicontent.ImageListParams{}))
}

// shownPages ends a walk that cannot go on because the deployment does not say what follows a
// full page: all that can be asked of it then are the records of that page.
func (s *Suite) shownPages(t TB, err error, got []aicontent.ID) {
	t.Helper()
	want := reversed(s.images)
	if errors.Is(err, aicontent.ErrPagination) {
		t.Logf("the deployment does not say whether more pages follow: %v", err)
		want = want[:10]
	} else if err != nil {
		t.Fatalf("pages: %v", err)
	}
	same(t, "the records of all pages", want, got)
}

func (s *Suite) imagesAll(t TB) {
	params := aicontent.ImageListParams{Search: s.run, PerPage: aicontent.PerPage10}
	images, err := aicontent.Collect(s.client.Images.All(context.Background(), params))
	s.shownPages(t, err, ids(images, func(image *aicontent.Image) aicontent.ID { return image.ID }))
}

func (s *Suite) imagesNext(t TB) {
	var got []aicontent.ID
	params := aicontent.ImageListParams{Search: s.run, PerPage: aicontent.PerPage10}
	page, err := s.client.Images.List(context.Background(), params)
	for n := 0; err == nil && page != nil && n < 10; n++ {
		if len(page.Items) > 10 {
			t.Errorf("a page of 10 has %d images", len(page.Items))
		}
		for _, image := range page.Items {
			got = append(got, image.ID)
		}
		page, err = page.Next(context.Background())
	}
	s.shownPages(t, err, got)
}

func (s *Suite) imagesPerPage(t TB) {
	for _, size := range []aicontent.PerPage{10, 25, 50, 100} {
		page, err := s.client.Images.List(context.Background(), aicontent.ImageListParams{Search: s.run, PerPage: size})
		if err != nil {
			t.Fatalf("a page of %d: %v", size, err)
		}
		if want := min(int(size), len(s.images)); len(page.Items) != want {
			t.Errorf("a page of %d has %d images, not %d", size, len(page.Items), want)
		}
	}
}

func (s *Suite) imagesUpdate(t TB, method string) {
	client := s.newClient(aicontent.WithUpdateMethod(method))
	id, name := s.images[0], s.imageParams(0).Name
	for _, step := range []struct {
		what     string
		params   aicontent.ImageUpdateParams
		name     string
		favorite bool
	}{
		{"name", aicontent.ImageUpdateParams{Name: new(name + " changed")}, name + " changed", false},
		{"favorite on", aicontent.ImageUpdateParams{Favorite: new(true)}, name + " changed", true},
		{"both", aicontent.ImageUpdateParams{Name: &name, Favorite: new(false)}, name, false},
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

func (s *Suite) imagesFavorite(t TB) {
	for _, id := range s.images[:2] {
		_, err := s.client.Images.Update(context.Background(), id, aicontent.ImageUpdateParams{Favorite: new(true)})
		if err != nil {
			t.Fatalf("favorite %s: %v", id, err)
		}
	}
	same(t, "favorites", reversed(s.images[:2]), s.listedImages(t, aicontent.ImageListParams{Favorite: new(true)}))
	same(t, "others", reversed(s.images[2:]), s.listedImages(t, aicontent.ImageListParams{Favorite: new(false)}))
}

// maxName is how long a name is that every deployment takes, in bytes.
const maxName = 128

func (s *Suite) imagesNames(t TB) {
	name := s.name(`odd "names" <&> = + %% / \ ' ü 日本 😀 `)
	params := aicontent.ImageStoreParams{
		Name:        name + strings.Repeat("n", max(1, maxName-len(name))),
		Description: "line one\nline two & more=yes; 100% + ü", Resolution: aicontent.Resolution256x256,
	}
	image := s.storeImage(t, params)
	compareImage(t, params, image)
	shown, err := s.client.Images.Show(context.Background(), image.ID)
	if err != nil {
		t.Fatalf("show: %v", err)
	}
	compareImage(t, params, shown)
}

func (s *Suite) imagesDelete(t TB) {
	id := s.images[0]
	if err := s.client.Images.Delete(context.Background(), id); err != nil {
		t.Fatalf("delete: %v", err)
	}
	_, err := s.client.Images.Show(context.Background(), id)
	fails(t, "show what was deleted", err, aicontent.ErrNotFound)
	fails(t, "delete it again", s.client.Images.Delete(context.Background(), id), aicontent.ErrNotFound)
	if slices.Contains(s.listedImages(t, aicontent.ImageListParams{}), id) {
		t.Errorf("the deleted image is still listed")
	}
}
