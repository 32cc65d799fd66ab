package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const found = "This form was sent before. Here is what it created."

// lookAt is where a refused form says to look first.
func lookAt(t *testing.T, page string) string {
	match := regexp.MustCompile(`href="([^"]*)">Look for it`).FindStringSubmatch(page)
	require.NotNil(t, match)
	return html.UnescapeString(match[1])
}

// formOf is the token of the form on a page.
func formOf(t *testing.T, page string) string {
	match := regexp.MustCompile(`action="/new-[a-z]+\?form=([^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, match)
	return html.UnescapeString(match[1])
}

// isFixed reports whether the title of the form on a page cannot be edited.
func isFixed(page string) bool { return regexpMatch(page, `<input id="name"[^>]* readonly`) }

func fox(form string) url.Values {
	return url.Values{"form": {form}, "name": {"Fox"}, "description": {"A fox"}, "resolution": {"256x256"}}
}

// restart replaces the gallery by a new one at the same address, which has what the ledger has.
func (f *fixture) restart() {
	f.t.Helper()
	f.open(f.gallery.client)
	f.listen()
}

// The token is made when a form is shown, and stays: its address holds it, for visitors who reload it or go back to it.
func TestFormKeepsItsToken(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/new-picture", "/new-recording"} {
		resp, err := http.Get(f.url + path)
		first := f.page(resp, err)
		token := resp.Request.URL.Query().Get("form")
		require.NotEmpty(t, token)
		assert.Equal(t, token, formOf(t, first))
		assert.Equal(t, first, f.get(resp.Request.URL.RequestURI()))
		assert.NotContains(t, f.get(path), token, "another visit is another form")
	}
	token := newToken()
	page := f.post("/new-picture", url.Values{"form": {token}, "name": {" "}})
	assert.Equal(t, token, formOf(t, page), "a refused form has created nothing, and stays the same")
}

// A form without a token of the gallery's creates nothing: sent twice, it would create two records.
func TestFormWithoutTokenCreatesNothing(t *testing.T) {
	f := newFixture(t)
	for _, form := range []string{"", "one", "../x", newToken() + "0", newToken()[:11], strings.ToUpper(newToken())} {
		resp, err := http.PostForm(f.url+"/new-picture?form="+url.QueryEscape(form), fox(""))
		page := f.page(resp, err)
		assert.Equal(t, formOf(t, page), resp.Request.URL.Query().Get("form"))
		assert.True(t, isToken(formOf(t, page)))
	}
	assert.Empty(t, f.service.Requests())
}

// A record's name is its title and the token of its form. Pages show the title.
func TestTokensAreNotShown(t *testing.T) {
	f := newFixture(t)
	token := newToken()
	page := f.post("/new-picture", fox(token))
	assert.Equal(t, "Fox #"+token, f.service.Images()[0].Name)
	f.upload(map[string]string{"form": token, "name": " Fox\u200b "}, "fox.wav", recording(100))
	assert.Equal(t, "Fox #"+token, f.service.Transcriptions()[0].Name)
	path := "/pictures/" + f.service.Images()[0].ID
	text := "/recordings/" + f.service.Transcriptions()[0].ID
	for _, page := range []string{page, f.get("/pictures?search=fox"), f.get("/recordings"), f.get(text)} {
		says(t, page, "Fox")
		assert.NotContains(t, page, token)
	}
	f.post(path, url.Values{"name": {"Red fox"}})
	assert.Equal(t, "Red fox", f.service.Images()[0].Name)
	for _, name := range []string{"Fox #1", "Fox #abcdefghijk", "Fox#abcdefghijkl", "Fox #ABCDEFGHIJKL"} {
		assert.Equal(t, name, title(name))
	}
}

// Known services accept names of 128 characters, in which the token counts.
func TestNameWithItsTokenHasAtMost128Characters(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	form.Set("name", strings.Repeat("ü", 115))
	page := f.post("/new-picture", form)
	says(t, page, "Name: must have at most 114 characters, not 115 Nothing was created, and nothing was billed.")
	assert.Contains(t, page, `value="`+form.Get("name")+`"`)
	assert.Equal(t, form.Get("form"), formOf(t, page))
	assert.Empty(t, f.service.Requests())
	form.Set("name", "\u2060 "+strings.Repeat("ü", 114)+"\u200b")
	says(t, f.post("/new-picture", form), "Here it is.")
	assert.Equal(t, 128, utf8.RuneCountInString(f.service.Images()[0].Name))
}

// Services trim invisible characters from names. A title of nothing else is missing.
func TestInvisibleTitleIsRefused(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{
		"", " ", "\u200b", "\u00a0\u2060", "\u00ad", "\u3164", "\u2800", "\U0001D159", "\ufe0f", "\x00",
	} {
		form := fox(newToken())
		form.Set("name", name)
		says(t, f.post("/new-picture", form), "Name: is required")
	}
	assert.False(t, f.asked(aicontenttest.ImagesStore))
}

// The button of an error page belongs to the form that failed. Its record may have been created and billed, so another
// token would bill a second one.
func TestErrorPageKeepsTheTokenAndBillsNoSecondRecord(t *testing.T) {
	for name, fault := range map[string]aicontenttest.Fault{
		"created, and the response is lost": aicontenttest.LoseResponse(),
		"created, and a proxy gave up":      aicontenttest.ActThenStatus(504),
		"created, and unreadable":           aicontenttest.InvalidJSON(),
		"not created":                       aicontenttest.Status(429, "slow down"),
		"refused":                           aicontenttest.Status(422, `{"errors":{"name":["Too long."]}}`),
		"no right":                          aicontenttest.Status(403, `{"message":"Forbidden."}`),
		"not implemented":                   aicontenttest.Status(501, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			var hidden atomic.Bool
			hidden.Store(true)
			bubble(t, func(f *fixture) {
				f.service.FaultOn(aicontenttest.ImagesStore, 1, fault)
				form := fox(newToken())
				_, page := f.send("/new-picture", form)
				require.Equal(f.t, form.Get("form"), formOf(f.t, page))
				hidden.Store(false)
				for began := time.Now(); time.Since(began) < time.Hour && !strings.Contains(page, "Fox · Gallery"); {
					form.Set("form", formOf(f.t, page))
					_, page = f.send("/new-picture", form)
					time.Sleep(time.Second)
				}
				assert.Len(f.t, f.service.Images(), 1)
			}, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
				if r.Request.Operation == aicontenttest.ImagesList && hidden.Load() {
					r.Body = []byte(`{"data":[]}`)
				}
			}))
		})
	}
}

// The token is in the address, so a form keeps it if its body cannot be read.
func TestUnreadableFormKeepsItsToken(t *testing.T) {
	f := newFixture(t)
	f.gallery.maxUpload = 1000
	f.listen()
	token := newToken()
	page := f.upload(map[string]string{"form": token, "name": "Opera"}, "opera.wav", recording(2000))
	says(t, page, "the gallery accepts at most")
	assert.Equal(t, token, formOf(t, page))
	for _, path := range []string{"/new-picture", "/new-recording"} {
		resp, err := http.Post(f.url+path+"?form="+token, "application/x-www-form-urlencoded", strings.NewReader("name=%zz"))
		page = f.page(resp, err)
		says(t, page, "The form could not be read")
		assert.Equal(t, token, formOf(t, page))
	}
	assert.Empty(t, f.service.Requests())
}

// A button that is pressed twice makes one picture, and shows it, also at the same time.
func TestFormSentTwice(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	says(t, f.post("/new-picture", form), "Here it is.")
	says(t, f.post("/new-picture", form), found)
	assert.Len(t, f.service.Records(), 1)
	says(t, f.post("/new-picture", fox(newToken())), "Here it is.")
	assert.Len(t, f.service.Records(), 2, "pictures may share a title")

	form = fox(newToken())
	var presses sync.WaitGroup
	for range 8 {
		presses.Go(func() { says(t, f.post("/new-picture", form), "Fox") })
	}
	presses.Wait()
	assert.Len(t, f.service.Records(), 3)
}

// A form of one collection says nothing of the other.
func TestTokenOfTheOtherCollection(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	f.post("/new-picture", form)
	fields := map[string]string{"form": form.Get("form"), "name": "Fox"}
	says(t, f.upload(fields, "a.wav", recording(100)), "Here it is.")
	assert.Len(t, f.service.Records(), 2)
}

// A form from before a restart shows what it created, also if its folder was deleted.
func TestFormFromBeforeTheRestart(t *testing.T) {
	for name, ledger := range map[string]once.Ledger{"kept": nil, "folder deleted": once.InMemory()} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ledger = once.Dir(t.TempDir())
			f.restart()
			form := fox(newToken())
			recorded := map[string]string{"form": newToken(), "name": "Song"}
			says(t, f.post("/new-picture", form), "Here it is.")
			says(t, f.upload(recorded, "song.wav", recording(100)), "Here it is.")
			if ledger != nil {
				f.ledger = ledger
			}
			f.restart()
			says(t, f.post("/new-picture", form), found)
			says(t, f.upload(recorded, "song.wav", recording(100)), found)
			assert.Len(t, f.service.Records(), 2)
		})
	}
}

// A form that was edited after it was sent does not create a second record by itself, before and after a restart.
func TestEditedForms(t *testing.T) {
	for name, field := range map[string]string{"prompt": "description", "size": "resolution", "title": "name"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart: %t", name, restart), func(t *testing.T) {
				f := newFixture(t)
				form := fox(newToken())
				f.post("/new-picture", form)
				if restart {
					f.restart()
				}
				form.Set(field, "512x512") // which may be a prompt too
				page := f.post("/new-picture", form)
				says(t, page, "This form was already sent")
				says(t, page, "To create another, press the button again.")
				assert.Len(t, f.service.Records(), 1)
				assert.Contains(t, f.get(lookAt(t, page)), "<h1>Fox</h1>")
				assert.False(t, isFixed(page))
				form.Set("form", formOf(t, page))
				says(t, f.post("/new-picture", form), "Here it is.")
				assert.Len(t, f.service.Records(), 2)
			})
		}
	}
}

// As long as nobody knows what became of a form, its title cannot be edited: under another one, a second record would
// be created. The same form then finds what it created.
func TestTitleIsFixedWhileTheOutcomeIsUnknown(t *testing.T) {
	var hidden atomic.Bool
	hide := aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesList && hidden.Load() {
			r.Body = []byte(`{"data":[]}`)
		}
	})
	for name, fault := range map[string]aicontenttest.Fault{
		"lost": aicontenttest.LoseResponse(), "proxy gave up": aicontenttest.ActThenStatus(504),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				hidden.Store(true)
				f.service.FaultOn(aicontenttest.ImagesStore, 1, fault)
				form := fox(newToken())
				for range 2 {
					began := time.Now()
					_, page := f.send("/new-picture", form)
					says(f.t, page, lookFirst)
					assert.LessOrEqual(f.t, time.Since(began), maxPause+time.Second)
					assert.True(f.t, isFixed(page))
					assert.Equal(f.t, form.Get("form"), formOf(f.t, page))
					assert.Equal(f.t, "/pictures?search="+form.Get("form"), lookAt(f.t, page))
				}
				hidden.Store(false)
				_, page := f.send("/new-picture", form)
				says(f.t, page, found)
				assert.Len(f.t, f.service.Images(), 1)
			}, hide)
		})
	}
}

// A visitor who leaves before the response, goes back and edits the title is asked, too.
func TestEditedTitleOfAFormUnderWay(t *testing.T) {
	bubble(t, func(f *fixture) {
		f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.ActThenStatus(504))
		form := fox(newToken())
		go f.send("/new-picture", form)
		synctest.Wait()
		edited := maps.Clone(form)
		edited.Set("name", "Fo")
		_, page := f.send("/new-picture", edited)
		says(f.t, page, "This form was already sent")
		assert.NotEqual(f.t, form.Get("form"), formOf(f.t, page))
		_, page = f.send("/new-picture", form)
		says(f.t, page, found)
		assert.Len(f.t, f.service.Images(), 1)
	})
}

// Presses of one form at the same time share a call, whatever titles they have: none is sent after another was refused.
func TestPressesAtTheSameTimeCreateOneRecord(t *testing.T) {
	for name, fault := range map[string]aicontenttest.Fault{
		"first refused": aicontenttest.Status(429, "slow down"), "response lost": aicontenttest.LoseResponse(),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				f.service.FaultOn(aicontenttest.ImagesStore, 1, fault)
				form := fox(newToken())
				press := func(title string) string {
					form := maps.Clone(form)
					form.Set("name", title)
					_, page := f.send("/new-picture", form)
					return page
				}
				var presses sync.WaitGroup
				for n := range 8 {
					presses.Go(func() { press(fmt.Sprint("Fox ", n)) })
				}
				presses.Wait()
				press("Fox 1")
				press("Fox 2")
				says(f.t, press("Fox"), "This form was already sent")
				assert.Len(f.t, f.service.Images(), 1)
			}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, 20*time.Second))
		})
	}
}

// A title that the service refused may be edited.
func TestEditedTitleAfterARefusal(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.Status(422, `{"errors":{"name":["Too long."]}}`))
	page := f.post("/new-picture", form)
	says(t, page, "Too long.")
	assert.False(t, isFixed(page))
	assert.Equal(t, form.Get("form"), formOf(t, page))
	form.Set("name", "Fo")
	says(t, f.post("/new-picture", form), "Here it is.")
	assert.Len(t, f.service.Records(), 1)
}

// A form that was refused may be sent again as it is.
func TestFormSentAgainAfterRefusal(t *testing.T) {
	f := newFixture(t)
	f.service.FaultOn(aicontenttest.ImagesStore, 1,
		aicontenttest.Status(http.StatusTooManyRequests, `{"message":"Too Many Attempts."}`))
	form := fox(newToken())
	says(t, f.post("/new-picture", form), tryAgain)
	says(t, f.post("/new-picture", form), "Here it is.")
	assert.Len(t, f.service.Records(), 1)
}

// A form whose record was deleted says that it was created, and after the settle time creates another one if it is sent
// again.
func TestFormOfADeletedRecord(t *testing.T) {
	bubble(t, func(f *fixture) {
		form := fox(newToken())
		f.send("/new-picture", form)
		f.send("/pictures/"+f.service.Images()[0].ID+"/delete", url.Values{})
		_, page := f.send("/new-picture", form)
		says(f.t, page, "It was created and billed.")
		assert.Empty(f.t, f.service.Images())
		time.Sleep(time.Hour)
		_, page = f.send("/new-picture", form)
		says(f.t, page, "Here it is.")
		assert.Len(f.t, f.service.Images(), 1)
	})
}

// dying is the ledger of a process until that is killed.
type dying struct {
	once.Ledger
	killed atomic.Bool
}

func (d *dying) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	if d.killed.Load() {
		return "", errors.New("killed")
	}
	return d.Ledger.Put(ctx, key, entry, version)
}

// A gallery that was killed while the service worked creates nothing twice: the next one finds what became of it, or
// creates it when nothing can come any more.
func TestKilledWhileTheServiceWorks(t *testing.T) {
	for name, acts := range map[string]bool{"the record appears": true, "nothing comes": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				if !acts {
					f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.Stall(aicontenttest.BeforeRead))
				}
				lasting, form := f.ledger, fox(newToken())
				dying := &dying{Ledger: lasting}
				f.ledger = dying
				f.open(f.gallery.client)
				ctx, kill := context.WithCancel(f.t.Context())
				f.gallery.creating = ctx
				var pressed sync.WaitGroup
				pressed.Go(func() { f.send("/new-picture", form) })
				time.Sleep(time.Minute)
				require.True(f.t, f.asked(aicontenttest.ImagesStore))
				dying.killed.Store(true)
				kill()
				pressed.Wait()
				assert.Empty(f.t, f.service.Images())

				f.ledger = lasting
				f.open(f.gallery.client)
				began := time.Now()
				_, page := f.send("/new-picture", form)
				says(f.t, page, lookFirst)
				assert.True(f.t, isFixed(page))
				edited := maps.Clone(form)
				edited.Set("name", "Fo")
				_, page = f.send("/new-picture", edited)
				assert.NotContains(f.t, shown(page), "Here it is.", "the first title was written down before the kill")
				for time.Since(began) < time.Hour && !strings.Contains(page, "Fox · Gallery") {
					_, page = f.send("/new-picture", form)
				}
				if acts {
					says(f.t, page, found)
					assert.Less(f.t, time.Since(began), 3*time.Minute)
				} else {
					says(f.t, page, "Here it is.")
					assert.Less(f.t, time.Since(began), 25*time.Minute)
				}
				assert.Len(f.t, f.service.Images(), 1)
			}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, 2*time.Minute))
		})
	}
}

// brokenLedger is a ledger that can be read but not written, or not even read.
type brokenLedger struct {
	once.Ledger
	unreadable bool
}

func (l brokenLedger) Get(ctx context.Context, key string) ([]byte, string, error) {
	if l.unreadable {
		return nil, "", &fs.PathError{Op: "read", Path: "ledger", Err: syscall.EIO}
	}
	return l.Ledger.Get(ctx, key)
}

func (brokenLedger) Put(context.Context, string, []byte, string) (string, error) {
	return "", &fs.PathError{Op: "write", Path: "ledger", Err: syscall.ENOSPC}
}

// A form that cannot be remembered is not sent. It can be when the ledger works again.
func TestFormIsNotSentIfTheLedgerFails(t *testing.T) {
	for name, unreadable := range map[string]bool{"full disk": false, "unreadable": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ledger = brokenLedger{once.InMemory(), unreadable}
			f.restart()
			status, page := f.send("/new-picture", fox(newToken()))
			assert.Equal(t, http.StatusServiceUnavailable, status)
			says(t, page, "The ledger failed")
			says(t, page, tryAgain)
			assert.False(t, f.asked(aicontenttest.ImagesStore))
		})
	}
}

// asked reports whether the service got a request for the operation.
func (f *fixture) asked(operation aicontent.Operation) bool {
	return slices.ContainsFunc(f.service.Requests(), func(r aicontenttest.Request) bool {
		return r.Operation == operation
	})
}

// A visitor who leaves while the service works does not end that, and finds the record with the same form.
func TestCreatingSurvivesLeaving(t *testing.T) {
	letGo := make(chan struct{})
	f := newFixture(t, aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesStore {
			<-letGo
		}
	}))
	form := fox(newToken())
	ctx, leave := context.WithCancel(t.Context())
	path, fields := inAddress(f.url+"/new-picture", form)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(fields.Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	require.Eventually(t, func() bool { return f.asked(aicontenttest.ImagesStore) }, 10*time.Second, time.Millisecond)
	leave()
	require.Error(t, <-left)
	var pressed sync.WaitGroup
	pressed.Go(func() { says(t, f.post("/new-picture", form), found) })
	close(letGo)
	pressed.Wait()
	assert.Len(t, f.service.Records(), 1)
}

// interrupted is a ledger in which something happens before its first Put.
type interrupted struct {
	once.Ledger
	first func()
}

func (l *interrupted) Put(ctx context.Context, key string, entry []byte, version string) (string, error) {
	l.first()
	return l.Ledger.Put(ctx, key, entry, version)
}

// Two galleries can have one folder. A form that both are sent at once, with two titles, has one record.
func TestTwoGalleriesCreateOneRecordForAForm(t *testing.T) {
	bubble(t, func(f *fixture) {
		form := fox(newToken())
		edited := maps.Clone(form)
		edited.Set("name", "Fo")
		other := &fixture{t: f.t, service: f.service, ledger: f.ledger}
		other.open(f.gallery.client)
		f.ledger = &interrupted{f.ledger, sync.OnceFunc(func() {
			_, page := other.send("/new-picture", edited)
			says(f.t, page, "Here it is.")
		})}
		f.open(f.gallery.client)
		_, page := f.send("/new-picture", form)
		says(f.t, page, "This form was already sent")
		assert.Len(f.t, f.service.Images(), 1)
	})
}
