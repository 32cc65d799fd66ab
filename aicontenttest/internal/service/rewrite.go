package service

import "strings"

const (
	// maxPrompt limits the characters of a description.
	maxPrompt = 24
	// nameMark is appended to names.
	nameMark = " (AI)"
)

// entities writes text as PHP's htmlspecialchars does.
var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;")

// rewritten returns the value as a service keeps it that escapes texts for its pages, shortens prompts and marks names.
func rewritten(field, value string) string {
	switch field {
	case "name":
		if strings.HasSuffix(value, nameMark) {
			return value
		}
		return entities.Replace(value) + nameMark
	case "description":
		prompt := []rune(value)
		return entities.Replace(string(prompt[:min(len(prompt), maxPrompt)]))
	case "result":
		return entities.Replace(value)
	}
	return value
}
