package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is one Chromium for all tests, started by the first that needs it.
var browser = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Getuid() == 0 {
		// Chromium's sandbox does not work for root.
		options = append(options, chromedp.NoSandbox)
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	closeBrowser = func() {
		chromedp.Cancel(ctx)
		cancel()
	}
	return ctx, chromedp.Do(ctx)
})

var closeBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// tab is a page of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// wide and phone are the sizes that pages are looked at in, in CSS pixels.
var (
	wide  = [2]int64{1280, 860}
	phone = [2]int64{390, 844}
)

// openTab opens a page of the size, with nothing in common with those of other tests.
func openTab(t *testing.T, size [2]int64) *tab {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("Chromium is missing, which ./install installs: ", err)
	}
	parent, err := browser()
	require.NoError(t, err)
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx))
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	p := &tab{t, ctx}
	if size == phone {
		p.do(chromedp.EmulateViewport(size[0], size[1], chromedp.EmulateMobile, chromedp.EmulateTouch,
			chromedp.EmulatePortrait, chromedp.EmulateScale(2)))
	} else {
		p.do(chromedp.EmulateViewport(size[0], size[1]))
	}
	return p
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, actions...))
}

// waitFor waits until the expression is true, on whatever page the tab then shows.
func (p *tab) waitFor(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 15*time.Second)
	defer cancel()
	for {
		// Each look is a round trip to the browser, as a page without scripts cannot look itself. An error is a page
		// that is just being left.
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")")); ok && err == nil {
			return
		}
		if ctx.Err() != nil {
			shown, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string]("document.body.innerText"))
			require.FailNow(p.t, "the page does not get there", "%s on:\n%s", expression, shown)
		}
	}
}

// says waits until the page is loaded and shows the text.
func (p *tab) says(text string) {
	p.t.Helper()
	p.waitFor(`document.readyState === "complete" &&
		document.body.innerText.replace(/\s+/g, " ").includes(` + quote(text) + `)`)
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// open opens the part of the page with the summary.
func (p *tab) open(summary string) {
	p.t.Helper()
	p.says(summary)
	p.do(chromedp.Click(chromedp.Search("//summary[text()='"+summary+"']")), chromedp.WaitVisible(css("details[open]")))
}

// is reports whether the expression is true on the page.
func (p *tab) is(expression string) bool {
	p.t.Helper()
	return get[bool](p, "!!("+expression+")")
}

// css is a selector of the first element that matches.
type css = chromedp.CSS

func (p *tab) withoutScripts() {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(p.t, err)
}

// throttle bounds how fast the browser sends, in bytes per second; -1 is no bound.
func (p *tab) throttle(upload float64) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{DownloadThroughput: -1, UploadThroughput: upload}},
	})
	require.NoError(p.t, err)
}

// get evaluates the expression on the page.
func get[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err)
	return value
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	return get[string](p, "document.querySelector("+quote(selector)+").innerText")
}
