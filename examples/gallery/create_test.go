package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	created     = "Here it is."
	found       = "This form was sent before. Here is what it created."
	alreadySent = "This form was already sent"
)

// isFixed reports whether the title of the form on a page cannot be edited.
func isFixed(page string) bool { return regexpMatch(page, `<input id="name"[^>]* readonly`) }

// hidden is a service whose lists are empty while the value is true.
func hidden(hidden *atomic.Bool) aicontenttest.Option {
	return aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontent.ImagesList && hidden.Load() {
			r.Body = []byte(`{"data":[]}`)
		}
	})
}

func TestFormKeepsItsTokenInItsAddress(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/new-picture", "/new-recording"} {
		first := f.get(path)
		form := formOf(t, first)
		assert.Equal(t, first, f.get(form), "after a reload")
		assert.NotContains(t, f.get(path), form, "another visit is another form")
		page := f.post(form, url.Values{"name": {" "}})
		assert.Equal(t, form, formOf(t, page), "a refused form has created nothing, and stays the same")
	}
}

func TestFormWithoutATokenOfTheGalleryCreatesNothing(t *testing.T) {
	f := newFixture(t)
	for _, token := range []string{"", "one", "../x", newToken() + "0", newToken()[:11], strings.ToUpper(newToken())} {
		page := f.post("/new-picture?form="+url.QueryEscape(token), fox)
		assert.Regexp(t, `^/new-picture\?form=[a-z2-7]{12}$`, formOf(t, page))
	}
	assert.Empty(t, f.service.Requests())
}

func TestRecordIsNamedForTheTitleAndTokenOfItsFormAndPagesShowTheTitle(t *testing.T) {
	f := newFixture(t)
	f.opts = nil // The default settle time: a record of the other collection would count as one that is not shown yet.
	f.restart()
	token := newToken()
	page := f.post("/new-picture?form="+token, fox)
	assert.Equal(t, "Fox #"+token, f.service.Images()[0].Name)
	f.upload("/new-recording?form="+token, map[string]string{"name": " Fox\u200b "}, "fox.wav", recording(100))
	require.Len(t, f.service.Transcriptions(), 1, "the other collection has tokens of its own")
	assert.Equal(t, "Fox #"+token, f.service.Transcriptions()[0].Name)
	picture := "/pictures/" + string(f.service.Images()[0].ID)
	text := "/recordings/" + string(f.service.Transcriptions()[0].ID)
	for _, page := range []string{page, f.get("/pictures?search=fox"), f.get("/recordings"), f.get(text)} {
		says(t, page, "Fox")
		assert.NotContains(t, page, token)
	}
	f.post(picture, url.Values{"name": {"Red fox"}})
	assert.Equal(t, "Red fox", f.service.Images()[0].Name)
	for _, name := range []string{"Fox #1", "Fox #abcdefghijk", "Fox#abcdefghijkl", "Fox #ABCDEFGHIJKL"} {
		assert.Equal(t, name, title(name))
	}
}

func TestNameWithItsTokenHasAtMost128Characters(t *testing.T) {
	f := newFixture(t)
	form, long := newPicture(), strings.Repeat("ü", 115)
	page := f.post(form, with(fox, "name", long))
	says(t, page, "Name: must have at most 114 characters, not 115 Nothing was created, and nothing was billed.")
	assert.Contains(t, page, `value="`+long+`"`)
	assert.Equal(t, form, formOf(t, page))
	assert.Empty(t, f.service.Requests())
	says(t, f.post(form, with(fox, "name", "\u2060 "+strings.Repeat("ü", 114)+"\u200b")), created)
	assert.Equal(t, 128, utf8.RuneCountInString(f.service.Images()[0].Name))
}

func TestFormSentAgainShowsItsRecord(t *testing.T) {
	for name, between := range map[string]func(*fixture){
		"at once":         func(*fixture) {},
		"after a restart": (*fixture).restart,
		"after a restart with another folder": func(f *fixture) {
			f.ledger = once.InMemory()
			f.restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ledger = once.Dir(t.TempDir())
			f.restart()
			picture, text, song := newPicture(), newRecording(), map[string]string{"name": "Song"}
			says(t, f.post(picture, fox), created)
			says(t, f.upload(text, song, "song.wav", recording(100)), created)
			between(f)
			says(t, f.post(picture, fox), found)
			says(t, f.upload(text, song, "song.wav", recording(100)), found)
			assert.Len(t, f.service.Records(), 2)
			says(t, f.post(newPicture(), fox), created)
			assert.Len(t, f.service.Records(), 3, "pictures may share a title")
		})
	}
}

func TestEditedFormCreatesASecondRecordOnlyIfItsButtonIsPressedAgain(t *testing.T) {
	for name, field := range map[string]string{"prompt": "description", "size": "resolution", "title": "name"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			form := newPicture()
			f.post(form, fox)
			f.restart()
			edited := with(fox, field, "512x512") // which may be a prompt too
			page := f.post(form, edited)
			says(t, page, alreadySent)
			says(t, page, "To create another, press the button again.")
			assert.Len(t, f.service.Records(), 1)
			assert.Contains(t, f.get(lookAt(t, page)), "<h1>Fox</h1>")
			assert.False(t, isFixed(page))
			says(t, f.post(formOf(t, page), edited), created)
			assert.Len(t, f.service.Records(), 2)
		})
	}
}

func TestEditedTitleAfterARefusalCreatesARecord(t *testing.T) {
	f := newFixture(t)
	form := newPicture()
	f.service.FaultOn(aicontent.ImagesStore, 1, aicontenttest.Status(422, `{"errors":{"name":["Too long."]}}`))
	page := f.post(form, fox)
	says(t, page, "Too long.")
	assert.False(t, isFixed(page))
	says(t, f.post(form, with(fox, "name", "Fo")), created)
	assert.Len(t, f.service.Records(), 1)
}

// A search for the new title would not find the record of the first one.
func TestEditedTitleOfALostRecordCreatesNoSecondOneEvenAfterTheSettleTime(t *testing.T) {
	var hiding atomic.Bool
	hiding.Store(true)
	bubble(t, func(f *fixture) {
		f.service.FaultOn(aicontent.ImagesStore, 1, aicontenttest.LoseResponse())
		form := newPicture()
		says(f.t, f.post(form, fox), lookFirst)
		time.Sleep(time.Hour)
		says(f.t, f.post(form, with(fox, "name", "Fo")), alreadySent)
		assert.Len(f.t, f.service.Images(), 1)
	}, hidden(&hiding))
}

// Presses of one form at the same time share a call, whatever titles they have: none is sent after another was refused.
func TestPressesAtTheSameTimeCreateOneRecord(t *testing.T) {
	for name, test := range map[string]struct {
		fault aicontenttest.Fault
		says  string
	}{
		"created":       {aicontenttest.Fault{Place: aicontenttest.BeforeResponse, Acts: true}, "Fox"},
		"first refused": {aicontenttest.Status(429, "slow down"), tryAgain},
		"response lost": {aicontenttest.LoseResponse(), "Fox"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				f.service.FaultOn(aicontent.ImagesStore, 1, test.fault)
				form := newPicture()
				var presses sync.WaitGroup
				for n := range 8 {
					edited := with(fox, "name", fmt.Sprint("Fox ", n/2))
					presses.Go(func() { says(f.t, f.post(form, edited), test.says) })
				}
				presses.Wait()
				for _, title := range []string{"Fox 1", "Fox 2"} {
					f.post(form, with(fox, "name", title))
				}
				says(f.t, f.post(form, fox), alreadySent)
				assert.Len(f.t, f.service.Images(), 1)
			}, aicontenttest.LatencyOn(aicontent.ImagesStore, 20*time.Second))
		})
	}
}

// watched is a ledger whose calls first ask for an error.
type watched struct {
	once.Ledger
	get, put func() error
}

func (l *watched) Get(ctx context.Context, key string) ([]byte, string, error) {
	if err := l.get(); err != nil {
		return nil, "", err
	}
	return l.Ledger.Get(ctx, key)
}

func (l *watched) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if err := l.put(); err != nil {
		return "", err
	}
	return l.Ledger.Put(ctx, key, entry, version)
}

func works() error { return nil }

func TestFormIsNotSentIfTheLedgerFails(t *testing.T) {
	broken := func() error { return syscall.EIO }
	for name, ledger := range map[string]*watched{
		"it cannot be read":    {once.InMemory(), broken, broken},
		"it cannot be written": {once.InMemory(), works, broken},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ledger = ledger
			f.restart()
			status, page := f.send(newPicture(), fox)
			assert.Equal(t, http.StatusServiceUnavailable, status)
			says(t, page, "The ledger failed")
			says(t, page, tryAgain)
			assert.False(t, f.asked(aicontent.ImagesStore))
		})
	}
}

func TestTwoGalleriesWithOneFolderCreateOneRecordForAForm(t *testing.T) {
	bubble(t, func(f *fixture) {
		form := newPicture()
		other := &fixture{t: f.t, client: f.client, ledger: f.ledger}
		other.restart()
		f.ledger = &watched{f.ledger, works, sync.OnceValue(func() error {
			says(f.t, other.post(form, with(fox, "name", "Fo")), created)
			return nil
		})}
		f.restart()
		says(f.t, f.post(form, fox), alreadySent)
		assert.Len(f.t, f.service.Images(), 1)
	})
}
