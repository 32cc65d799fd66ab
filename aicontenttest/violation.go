package aicontenttest

import "fmt"

// A Violation is a part of a request that breaks a rule of the API:
//
//	path                    an unknown path
//	method                  a wrong method for the path
//	authorization           a missing bearer token
//	accept                  a list or show without application/json
//	body                    an unexpected or unreadable body
//	content-type            a wrong type for the operation
//	multipart               a malformed form
//	file-name               a file part without a name
//	query                   a malformed query
//	undocumented-parameter  in the query
//	undocumented-field      in the form
//	repeated                a parameter or field sent twice
//	value                   an undocumented value
//	boolean                 a boolean other than 1 or 0; see [BooleanWords]
//	encoding                invalid UTF-8
type Violation struct {
	Rule    string `json:"rule"`
	Request int    `json:"request"` // its Number
	Line    string `json:"line"`    // method, path and query of the request
	Field   string `json:"field"`   // the parameter, field or header; empty for none
	Value   string `json:"value"`   // as sent, shortened; empty for Authorization
}

// String returns one line with the rule, the request, and the field with its value.
func (v Violation) String() string {
	s := fmt.Sprintf("%s: request %d: %s", v.Rule, v.Request, v.Line)
	if v.Field != "" {
		s += fmt.Sprintf(": %s=%q", v.Field, v.Value)
	}
	return s
}
