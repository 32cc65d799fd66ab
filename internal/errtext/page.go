package errtext

import (
	"html"
	"strings"

	"github.com/aicontent/aicontent-go/internal/redact"
)

// pageTitle returns the title of a page, else its first heading, else its first words.
func pageTitle(page string) string {
	for _, tag := range []string{"title", "h1"} {
		if title := visible(inside(page, tag)); title != "" {
			return title
		}
	}
	return redact.Shorten(visible(page), 200)
}

// inside returns what the first element with the tag holds.
func inside(page, tag string) string {
	folded := fold(page)
	_, after, _ := strings.Cut(folded, "<"+tag)
	_, after, _ = strings.Cut(after, ">")
	text, _, closed := strings.Cut(after, "</"+tag)
	if !closed {
		return ""
	}
	start := len(page) - len(after)
	return page[start : start+len(text)]
}

// visible returns the text of a page on one line, without tags, comments, scripts and styles.
func visible(page string) string {
	var b strings.Builder
	folded := fold(page)
	for i := 0; ; {
		n := strings.IndexByte(page[i:], '<')
		if n < 0 {
			b.WriteString(page[i:])
			break
		}
		b.WriteString(page[i:i+n] + " ")
		i += n
		switch tag := folded[i:]; {
		case strings.HasPrefix(tag, "<!--"):
			n = strings.Index(tag, "-->")
		case strings.HasPrefix(tag, "<script"):
			n = strings.Index(tag, "</script")
		case strings.HasPrefix(tag, "<style"):
			n = strings.Index(tag, "</style")
		default:
			n = 0
		}
		if n < 0 {
			break
		}
		i += n
		if n = strings.IndexByte(page[i:], '>'); n < 0 {
			break
		}
		i += n + 1
	}
	return strings.Join(strings.Fields(html.UnescapeString(b.String())), " ")
}

// fold returns s with ASCII letters in lower case: unlike strings.ToLower, it moves no byte.
func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
