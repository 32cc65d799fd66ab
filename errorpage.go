package aicontent

import "strings"

// entities are those that titles hold; a library for all of them is not worth its size.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&apos;", "'", "&nbsp;", " ", "&mdash;", "—", "&amp;", "&")

// pageTitle is a page's title or first heading, else its first words, without tags.
func pageTitle(page []byte) string {
	// A title stands near the beginning, and a page may be long.
	text := string(page[:min(len(page), 16<<10)])
	for _, tag := range []string{"title", "h1"} {
		if title := untagged(between(text, "<"+tag, "</"+tag)); title != "" {
			return title
		}
	}
	return shortened(untagged(text), 200)
}

// between is what stands between an opening tag and what closes it, whatever the case of their letters.
func between(text, open, closing string) string {
	low := folded(text)
	start := strings.Index(low, open)
	if start < 0 {
		return ""
	}
	inner := strings.IndexByte(low[start:], '>')
	if inner < 0 {
		return ""
	}
	start += inner + 1
	end := strings.Index(low[start:], closing)
	if end < 0 {
		return ""
	}
	return text[start : start+end]
}

// folded is text with the letters of tags in lower case and every other byte in its place.
func folded(text string) string {
	b := []byte(text)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

// untagged drops tags, scripts and styles, and puts what is left on one line.
func untagged(text string) string {
	var out strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "<")
		out.WriteString(before + " ")
		if !found {
			break
		}
		tag, rest, _ := strings.Cut(after, ">")
		for _, hidden := range []string{"script", "style"} {
			if name := folded(tag); name == hidden || strings.HasPrefix(name, hidden+" ") {
				end := strings.Index(folded(rest), "</"+hidden)
				if end < 0 {
					end = len(rest)
				}
				_, rest, _ = strings.Cut(rest[end:], ">")
			}
		}
		text = rest
	}
	return strings.Join(strings.Fields(entities.Replace(out.String())), " ")
}
