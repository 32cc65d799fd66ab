package errtext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A proxy's page has one line that helps; a log wants that line and no markup.
func TestPageTitles(t *testing.T) {
	for page, want := range map[string]string{
		`<title>413 Request Entity Too Large</title>`:                               "413 Request Entity Too Large",
		`<TITLE lang="en">Bad&nbsp;Gateway &mdash; 502</TITLE>`:                     "Bad Gateway — 502",
		`<title></title><h1>Down</h1>`:                                              "Down",
		`<h1><span>Time</span><br>out &lt;524&gt; &quot;now&quot; &#39;&apos;</h1>`: `Time out <524> "now" ''`,
		`<title>Down</title>More`:                                                   "Down",
		`Before<h1>Down</h1`:                                                        "Down",
		`Before<title></title>Words</h1>More`:                                       "Before Words More",
		`Words</h1>More`:                                                            "Words More",
		`<p>Only <b>text</b></p>`:                                                   "Only text",
		`<script src="x">if (a < b) { alert("no") }</script >Shown`:                 "Shown",
		`<SCRIPT>no</SCRIPT><STYLE>no</STYLE>Shown`:                                 "Shown",
		`Before<script>never closed`:                                                "Before",
		`<title>never closed`:                                                       "never closed",
		`<title`:                                                                    "",
		`<`:                                                                         "",
		`<!-- a > comment -->Shown<!-- never closed`:                                "Shown",
		`<p>` + strings.Repeat("word ", 100):                                        strings.Repeat("word ", 40) + "…",
		`<title>` + "\u0130stanbul K\u212A" + `</title>`:                            "\u0130stanbul K\u212A",
		"\u0130\u0130<h1>Down</h1>":                                                 "Down",
	} {
		assert.Equal(t, want, pageTitle(page), "%.80s", page)
	}
}

// A page may be long; its title stands near the beginning.
func TestLongPages(t *testing.T) {
	for page, want := range map[string]string{
		strings.Repeat("<p>", 16<<10/3+1) + `<title>too far down</title>`: "",
		`<p>` + strings.Repeat("x", maxMarkup-4) + "é" + `</p>`:           strings.Repeat("x", 200) + "…",
	} {
		message, _ := Read([]byte(page), key)
		assert.Equal(t, want, message, "%.80s", page)
	}
}
