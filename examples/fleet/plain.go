package main

import "regexp"

// jargon is what errors say to programmers, and what to say instead, cause first.
var jargon = []struct {
	pattern *regexp.Regexp
	plain   string
}{
	{regexp.MustCompile(`\b(images|transcriptions)\.[a-z]+: `), ""},
	{regexp.MustCompile(` \([^()]*\bWith\w*[A-Z][^()]*\)`), ""},
	{regexp.MustCompile(`\bWithOnce: (looking for|reading the record with) the name: (.*)`),
		"$2, while looking for an earlier transcription"},
	{regexp.MustCompile(`\bWithOnce: `), ""},
	{regexp.MustCompile(`\b(dial|read|write) tcp ?\S*: ((connect|read|write): )?`), ""},
	{regexp.MustCompile(`(?m)^skipped: (lstat|stat|open) `), "skipped: "},
	{regexp.MustCompile(`\bcontext canceled`), "interrupted"},
	{regexp.MustCompile(`\bcontext deadline exceeded`), "no response in time"},
}

// plain is the text of an error for people who do not program.
func plain(err error) string {
	text := err.Error()
	for _, j := range jargon {
		text = j.pattern.ReplaceAllString(text, j.plain)
	}
	return text
}
