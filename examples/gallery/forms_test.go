package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest"
	"github.com/aicontent/aicontent-go/once"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lookAt is where a refused form says to look first.
func lookAt(t *testing.T, page string) string {
	match := regexp.MustCompile(`href="([^"]*)">Look for it`).FindStringSubmatch(page)
	require.NotNil(t, match)
	return html.UnescapeString(match[1])
}

// tokenOf is the token of the form on a page.
func tokenOf(t *testing.T, page string) string {
	match := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, match)
	return html.UnescapeString(match[1])
}

func fox(form string) url.Values {
	return url.Values{"form": {form}, "name": {"Fox"}, "description": {"A fox"}, "resolution": {"256x256"}}
}

// restart replaces the gallery by a new one at the same address, which has what the ledger has.
func (f *fixture) restart() {
	f.t.Helper()
	f.open(f.gallery.client)
	srv := httptest.NewServer(f.gallery.handler())
	f.t.Cleanup(srv.Close)
	f.url = srv.URL
}

// A form from before a restart shows what it created, whether it is pressed again, reloaded, opened or checked before
// its upload.
func TestFormFromBeforeTheRestart(t *testing.T) {
	f := newFixture(t)
	f.ledger = once.Dir(t.TempDir())
	f.restart()
	form := fox(newToken())
	recorded := map[string]string{"form": newToken(), "name": "Song"}
	says(t, f.post("/new-picture", form), "Here it is.")
	says(t, f.upload(recorded, "song.wav", recording(100)), "Here it is.")

	const found = "This form was sent before. Here is what it created."
	f.restart()
	says(t, f.post("/new-picture", form), found)
	says(t, f.upload(recorded, "song.wav", recording(100)), found)
	f.restart()
	says(t, f.get("/new-picture?form="+form.Get("form")), "Creating a picture")
	require.Eventually(t, func() bool {
		return strings.Contains(f.get("/new-picture?wait=1&form="+form.Get("form")), found)
	}, 10*time.Second, 10*time.Millisecond)
	page := f.get("/new-picture?form=" + form.Get("form"))
	says(t, page, "This form was already sent")
	says(t, f.get(lookAt(t, page)), found)
	assert.Len(t, f.service.Records(), 2)
	says(t, f.post("/new-picture", fox(tokenOf(t, page))), "Here it is.")
	assert.Len(t, f.service.Records(), 3)
}

// If the folder is deleted, what a form created is found in the service's list.
func TestDeletedFolder(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	f.post("/new-picture", form)
	f.ledger = once.InMemory()
	f.restart()
	says(t, f.post("/new-picture", form), "This form was sent before. Here is what it created.")
	assert.Len(t, f.service.Records(), 1)
}

// A form that was edited after it was sent does not create a second record by itself, before and after a restart.
func TestEditedForms(t *testing.T) {
	for name, field := range map[string]string{"title": "name", "prompt": "description", "size": "resolution"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart: %t", name, restart), func(t *testing.T) {
				f := newFixture(t)
				form := fox(newToken())
				f.post("/new-picture", form)
				if restart {
					f.restart()
				}
				form.Set(field, "512x512") // which may be a title and a prompt too
				resp, err := http.PostForm(f.url+"/new-picture", form)
				page := f.page(resp, err)
				assert.Equal(t, http.StatusConflict, resp.StatusCode)
				says(t, page, "This form was already sent")
				assert.Len(t, f.service.Records(), 1)
				require.Eventually(t, func() bool {
					return strings.Contains(f.get(lookAt(t, page)), "<h1>Fox</h1>")
				}, 10*time.Second, 10*time.Millisecond)
				form.Set("form", tokenOf(t, page))
				says(t, f.post("/new-picture", form), "Here it is.")
				assert.Len(t, f.service.Records(), 2)
			})
		}
	}
}

// A title that the service refused may be edited, and so may one that nothing came of.
func TestEditedTitleAfterARefusal(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	f.service.FaultOn(aicontenttest.ImagesStore, 1, aicontenttest.Status(422, `{"errors":{"name":["Too long."]}}`))
	page := f.post("/new-picture", form)
	says(t, page, "Too long.")
	assert.Equal(t, form.Get("form"), tokenOf(t, page))
	f.restart()
	form.Set("name", "Fo")
	says(t, f.post("/new-picture", form), "Here it is.")
	assert.Len(t, f.service.Records(), 1)
}

// A form whose record was deleted says so, and creates another one only if it is sent again.
func TestFormOfADeletedRecord(t *testing.T) {
	for _, restart := range []bool{false, true} {
		bubble(t, func(f *fixture) {
			form := fox(newToken())
			f.send("/new-picture", form)
			f.send("/pictures/"+f.service.Images()[0].ID+"/delete", url.Values{})
			_, page := f.send("/new-picture", form)
			says(f.t, page, "It was created and billed.")
			time.Sleep(time.Hour)
			if restart {
				f.open(f.gallery.client)
				_, page = f.send("/new-picture?form="+form.Get("form"), nil)
				says(f.t, page, "Creating a picture")
				synctest.Wait()
				_, page = f.send("/new-picture?wait=1&form="+form.Get("form"), nil)
				says(f.t, page, "There is nothing from this form It was sent before the gallery was restarted.")
				assert.Contains(f.t, page, `value="Fox"`)
			}
			assert.Empty(f.t, f.service.Images())
			_, page = f.send("/new-picture", form)
			says(f.t, page, "Here it is.")
			assert.Len(f.t, f.service.Images(), 1)
		})
	}
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

// A gallery that was killed while the service worked creates nothing twice: the next one waits for what becomes of it.
func TestKilledWhileTheServiceWorks(t *testing.T) {
	for name, press := range map[string]bool{"pressed again": true, "reloaded": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				lasting, form := f.ledger, fox(newToken())
				dying := &dying{Ledger: lasting}
				f.ledger = dying
				f.open(f.gallery.client)
				ctx, kill := context.WithCancel(f.t.Context())
				f.gallery.forms.ctx = ctx
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
				if press {
					_, page := f.send("/new-picture", form)
					says(f.t, page, "This form was sent before. Here is what it created.")
				} else {
					for range 10 {
						f.send("/new-picture?wait=1&form="+form.Get("form"), nil)
						time.Sleep(time.Minute)
					}
					_, page := f.send("/new-picture?wait=1&form="+form.Get("form"), nil)
					says(f.t, page, "This form was sent before. Here is what it created.")
				}
				assert.Len(f.t, f.service.Images(), 1)
			}, aicontenttest.LatencyOn(aicontenttest.ImagesStore, 2*time.Minute))
		})
	}
}

// Tokens that the gallery did not make are replaced, and cannot get into an address or a name.
func TestForeignTokens(t *testing.T) {
	f := newFixture(t)
	for _, form := range []string{"one", ".", "../x", newToken() + "0", newToken()[:11], strings.ToUpper(newToken())} {
		resp, err := http.Get(f.url + "/new-picture?" + url.Values{"form": {form}}.Encode())
		page := f.page(resp, err)
		assert.True(t, isToken(tokenOf(t, page)))
		assert.Equal(t, tokenOf(t, page), resp.Request.URL.Query().Get("form"))
		says(t, f.post("/new-picture", fox(form)), "Here it is.")
		newest := f.service.Images()[len(f.service.Images())-1]
		assert.Equal(t, "Fox", title(newest.Name))
	}
}

// A form of one collection says nothing of the other.
func TestTokenOfTheOtherCollection(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	f.post("/new-picture", form)
	says(t, f.get("/new-recording?form="+form.Get("form")), "New recording")
	fields := map[string]string{"form": form.Get("form"), "name": "Fox"}
	says(t, f.upload(fields, "a.wav", recording(100)), "Here it is.")
	assert.Len(t, f.service.Records(), 2)
}

// A title ends in the ledger and in each list, and must not be of any length.
func TestTitleTooLong(t *testing.T) {
	f := newFixture(t)
	form := fox(newToken())
	form.Set("name", strings.Repeat("x", maxTitle+1))
	says(t, f.post("/new-picture", form), "Name is too long")
	assert.Empty(t, f.service.Requests())
}

// What is remembered for reloads is limited by its size. What was sent is known all the same.
func TestForgottenForms(t *testing.T) {
	f := newFixture(t)
	first := fox(newToken())
	f.post("/new-picture", first)
	long := fox("")
	long.Set("description", strings.Repeat("x", maxFields/2))
	forms := f.gallery.forms
	require.NoError(t, forms.begin(t.Context(), "picture working", "Fox", long))
	for range maxRecent / (maxFields / 2) {
		require.NoError(t, forms.begin(t.Context(), newToken(), "Fox", long))
	}
	for form := range forms.recent {
		if form != "picture working" && forms.recent[form].working > 0 {
			forms.end(form, "Fox", sentForm{}, aicontent.OutcomeRejected)
		}
	}
	require.NoError(t, forms.begin(t.Context(), newToken(), "Fox", long))
	assert.LessOrEqual(t, forms.size, maxRecent)
	assert.Len(t, forms.order, len(forms.recent))
	_, known := forms.look("picture " + first.Get("form"))
	assert.False(t, known)
	_, known = forms.look("picture working")
	assert.True(t, known)
	says(t, f.post("/new-picture", first), "This form was sent before.")
	assert.Len(t, f.service.Records(), 1)
}

// A form that cannot be remembered is not sent.
func TestFolderThatCannotBeWritten(t *testing.T) {
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	f.ledger = once.Dir(file)
	f.restart()
	page := f.post("/new-picture", fox(newToken()))
	says(t, page, "The gallery cannot write to its folder Nothing was created and nothing was billed.")
	assert.Empty(t, f.service.Requests())
}

// A form that is read only when the program ends already, or the visitor has left, creates nothing, and may be sent
// again.
func TestNothingBeginsAfterTheEnd(t *testing.T) {
	f := newFixture(t)
	form := newToken()
	ended, end := context.WithCancel(t.Context())
	end()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ended, http.MethodPost, "http://localhost/new-picture",
		strings.NewReader(fox(form).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f.gallery.pictures().create(w, r)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	says(t, w.Body.String(), "Cancelled "+tryAgain)
	assert.Empty(t, f.service.Requests())
	says(t, f.post("/new-picture", fox(form)), "Here it is.")
}

// watched counts who waits for its end.
type watched struct {
	context.Context
	waiting int
}

func (w *watched) AfterFunc(func()) (stop func() bool) {
	w.waiting++
	return func() bool { w.waiting--; return true }
}

// A form that has ended leaves nothing behind that waits for the end of the gallery.
func TestFormsLeaveNothingBehind(t *testing.T) {
	f := newFixture(t)
	ctx := &watched{Context: t.Context()}
	f.gallery.forms.ctx = ctx
	f.post("/new-picture", fox(newToken()))
	assert.Zero(t, ctx.waiting)
}

// The time for creating a record begins when its upload has ended, however long that may take.
func TestTimeForCreating(t *testing.T) {
	f := newFixture(t)
	for length, least := range map[int64]time.Duration{
		0: createTime, 1 << 30: 12 * 24 * time.Hour, maxMaxUpload: 30 * 365 * 24 * time.Hour,
		-1: 30 * 365 * 24 * time.Hour,
	} {
		left, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(left, http.MethodPost, "/new-recording", nil)
		r.ContentLength = length
		ctx, cancel := f.gallery.forms.creating(r)
		leave()
		require.NoError(t, ctx.Err())
		ends, _ := ctx.Deadline()
		assert.Greater(t, time.Until(ends), least-time.Minute)
		cancel()
	}
}

// Of two calls for one form, one that fails neither frees the title that the other one uses nor hides what it created.
func TestTwoCallsForOneForm(t *testing.T) {
	f := newForms(once.InMemory())
	begin := func(name string) error { return f.begin(t.Context(), "form", name, url.Values{}) }
	failed := sentForm{problem: &problem{}}
	require.NoError(t, begin("Fox"))
	require.NoError(t, begin("Fox"))
	f.end("form", "Fox", failed, aicontent.OutcomeNotSent)
	require.ErrorIs(t, begin("Wolf"), errSentBefore)
	f.end("form", "Fox", sentForm{id: "7"}, aicontent.OutcomeDone)
	require.NoError(t, begin("Fox"))
	f.end("form", "Fox", failed, aicontent.OutcomeUnknown)
	sent, _ := f.look("form")
	assert.Equal(t, aicontent.ID("7"), sent.id)
	created, open := f.sum()
	assert.Equal(t, 1, created)
	assert.Empty(t, open)
}

// asked reports whether the service got a request for the operation.
func (f *fixture) asked(operation aicontent.Operation) bool {
	return slices.ContainsFunc(f.service.Requests(), func(r aicontenttest.Request) bool {
		return r.Operation == operation
	})
}

// slowly makes the service keep the responses to create requests until they are let go.
func slowly() (option aicontenttest.Option, letGo func()) {
	gate := make(chan struct{})
	return aicontenttest.OnResponse(func(r *aicontenttest.Response) {
		if r.Request.Operation == aicontenttest.ImagesStore {
			<-gate
		}
	}), sync.OnceFunc(func() { close(gate) })
}

// isWorking waits until the service has been asked for what the form describes.
func (f *fixture) isWorking() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		return f.asked(aicontenttest.ImagesStore)
	}, 10*time.Second, time.Millisecond)
}

// While the service works, the address of a form that was sent says so, however often it is loaded, and whoever sent it
// may leave. Then it leads to what was created.
func TestResultSurvivesReloadsAndLeaving(t *testing.T) {
	option, letGo := slowly()
	f := newFixture(t, option)
	t.Cleanup(letGo)
	form := newToken()
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/new-picture",
		strings.NewReader(fox(form).Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	f.isWorking()
	leave()
	require.Error(t, <-left)

	var next string
	for range 2 {
		resp, err := http.Get(f.url + "/new-picture?form=" + form)
		says(t, f.page(resp, err), "Creating a picture “Fox” is being created")
		_, next, _ = strings.Cut(resp.Header.Get("Refresh"), "; url=")
		require.NotEmpty(t, next)
		says(t, f.get(next), "Creating a picture")
	}
	var pressed sync.WaitGroup
	pressed.Go(func() { says(t, f.post("/new-picture", fox(form)), "This form was sent before.") })
	letGo()
	pressed.Wait()
	says(t, f.get(next), "Here is what it created.")
	says(t, f.get("/new-picture?form="+form), "This form was already sent")
	assert.Len(t, f.service.Records(), 1)
}

// What went wrong is still there after a reload, with what was typed.
func TestFailureSurvivesReloads(t *testing.T) {
	f := newFixture(t)
	form := newToken()
	for problem, fault := range map[string]aicontenttest.Fault{
		"The name is taken.": aicontenttest.Status(422, `{"errors":{"name":["The name is taken."]}}`),
		lookFirst:            aicontenttest.Status(501, "no"),
	} {
		f.service.FaultOn(aicontenttest.ImagesStore, 1, fault)
		says(t, f.post("/new-picture", fox(form)), problem)
		for _, result := range []string{"/new-picture?wait=1&form=", "/new-picture?form="} {
			page := f.get(result + form)
			says(t, page, problem)
			says(t, page, "A fox")
			assert.Equal(t, form, tokenOf(t, page), "it can be sent again")
		}
	}
	says(t, f.post("/new-picture", fox(form)), "Here it is.")
	assert.Len(t, f.service.Records(), 1)
}

// In the browser, a reload in the middle of creating ends on what was created, with and without scripts.
func TestReloadWhileTheServiceWorks(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			option, letGo := slowly()
			f := newFixture(t, option)
			t.Cleanup(letGo)
			p := openTab(t, wide)
			if !scripts {
				p.withoutScripts()
			}
			fillPicture(p, f)
			p.do(chromedp.Click(css("form.stack button")))
			f.isWorking()
			for range 2 {
				p.do(chromedp.Reload())
				p.says("“Opera” is being created")
			}
			letGo()
			p.says("Here it is.")
			assert.Len(t, f.service.Records(), 1)
		})
	}
}
