package errtext

import (
	"html"
	"regexp"
	"strings"

	"github.com/aicontent/aicontent-go/internal/redact"
)

var (
	hidden  = regexp.MustCompile(`(?is)<!--.*?(-->|\z)|<script.*?(</script[^>]*>|\z)|<style.*?(</style[^>]*>|\z)`)
	heading = regexp.MustCompile(`(?is)<(?:title|h1)[^>]*>(.*?)</(?:title|h1)`)
	tag     = regexp.MustCompile(`<[^>]*>?`)
)

// pageTitle returns the first of a page's title and headings that is not empty, else the page's first words.
func pageTitle(page string) string {
	page = hidden.ReplaceAllString(page, " ")
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		if text := words(found[1]); text != "" {
			return text
		}
	}
	return redact.Shorten(words(page), 200)
}

// words returns what a page shows on one line.
func words(markup string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(markup, " "))), " ")
}
