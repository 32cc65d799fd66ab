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
	creating        // is billed each time
)

// advise says what a failed call may have changed, and whether to press the button again. The remedy is what to do if
// nothing was changed.
func advise(err error, a action, remedy string) string {
	outcome := outcomeOf(err)
	switch {
	case errors.Is(err, errSentBefore):
		return "The first press may already have created it, which is billed. Check first. " +
			"To create another, press the button again."
	case errors.Is(err, errOldForm):
		return "The gallery was restarted after this form was opened, and does not know. If you sent it, that may " +
			"have created a record, which is billed. Check first. To create one now, press the button."
	case a == reading && errors.Is(err, aicontent.ErrInvalid) && !errors.Is(err, aicontent.ErrNotFound):
		return "Choose other filters."
	case a == reading && remedy == pressAgain:
		return "Reload the page in a moment."
	case a == reading:
		return remedy
	case a == creating && outcome == aicontent.OutcomeUnknown:
		return "It may have been created anyway, and billed. Check before you press the button again."
	case a == creating && outcome == aicontent.OutcomeDone:
		return "It was created and billed, so do not press the button again."
	case a == creating:
		return "Nothing was created and nothing was billed. " + remedy
	case outcome == aicontent.OutcomeUnknown:
		return "The change may have been saved anyway. It is safe to press the button again."
	case outcome == aicontent.OutcomeDone:
		return "The change was saved."
	}
	return "Nothing was changed. " + remedy
}

// outcomeOf is aicontent.OutcomeOf, extended to the gallery's errors: with those, no complete form reached the service.
func outcomeOf(err error) aicontent.Outcome {
	var tooLarge *http.MaxBytesError
	if errors.Is(err, errNotBegun) || errors.Is(err, errMalformedForm) || errors.As(err, &tooLarge) {
		return aicontent.OutcomeNotSent
	}
	return aicontent.OutcomeOf(err)
}

// mayExist reports whether a failed create request may have created a record.
func mayExist(err error) bool {
	outcome := outcomeOf(err)
	return outcome == aicontent.OutcomeUnknown || outcome == aicontent.OutcomeDone
}
