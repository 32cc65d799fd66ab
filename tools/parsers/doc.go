// Package parsers tests that the form parsers of other languages read the forms of the SDK, and that none of them takes
// a form that was cut off for a whole one: an upload that broke off before its closing delimiter may be sent again.
package parsers
