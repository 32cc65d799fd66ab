package main

import (
	"errors"
	"net/http"

	"github.com/aicontent/aicontent-go"
)

// action is what was attempted.
type action int

const (
	reading  action = iota
	changing        // an update or a delete, which may be repeated
	creating        // is billed, each time
)

// advise says what the failed call has changed, and whether to press the button again.
func advise(err error, a action) string {
	if errors.Is(err, errSentBefore) {
		return "What the first press of the button started may be made already, and billed. " +
			"Look for it. To make another, press the button again."
	}
	outcome := outcomeOf(err)
	switch {
	case a == creating && outcome == aicontent.OutcomeUnknown:
		return "It may have been made all the same, and billed. Look for it before you press the button again."
	case a == creating && outcome == aicontent.OutcomeDone:
		return "It was made, and is billed. Do not press the button again: look for it."
	case a == changing && outcome == aicontent.OutcomeUnknown:
		return "The change may have been made all the same. Pressing the button again does no harm."
	case a == changing && outcome == aicontent.OutcomeDone:
		return "The change was made all the same."
	}
	return map[action]string{
		reading:  "",
		changing: "Nothing was changed. ",
		creating: "Nothing was made, and nothing is billed. ",
	}[a] + remedy(err, a)
}

// remedy says what helps where nothing was changed.
func remedy(err error, a action) string {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, aicontent.ErrUnauthorized), errors.Is(err, aicontent.ErrForbidden):
		return "Whoever runs the gallery has to check its key; until then it does not help to try again."
	case errors.Is(err, aicontent.ErrNotFound):
		return "It may have been deleted, or the address is wrong."
	case errors.Is(err, aicontent.ErrTooLarge), errors.As(err, &tooLarge):
		return "Choose a smaller file and press the button again."
	case a == reading && errors.Is(err, aicontent.ErrInvalid):
		return "Choose other filters."
	case a == reading:
		return "Load the page again in a moment."
	case errors.Is(err, aicontent.ErrInvalid):
		return "Correct it and press the button again."
	}
	return "You can press the button again."
}

// outcomeOf is aicontent.OutcomeOf for the gallery's errors too, with which no whole form reaches the service.
func outcomeOf(err error) aicontent.Outcome {
	var tooLarge *http.MaxBytesError
	if errors.Is(err, errMalformedForm) || errors.As(err, &tooLarge) {
		return aicontent.OutcomeNotSent
	}
	return aicontent.OutcomeOf(err)
}

// mayBeMade reports whether a create request that failed may have made a record.
func mayBeMade(err error) bool {
	outcome := outcomeOf(err)
	return outcome == aicontent.OutcomeUnknown || outcome == aicontent.OutcomeDone
}
