// Package aicontent is the Go client of the AI content service.
package aicontent
