package aicontenttest

import "fmt"

// The rules of [Violation].
const (
	RulePath                  = "path"                   // an unknown path
	RuleMethod                = "method"                 // a wrong method for the path
	RuleAuthorization         = "authorization"          // a missing bearer token
	RuleAccept                = "accept"                 // a list or show without application/json
	RuleBody                  = "body"                   // an unexpected or unreadable body
	RuleContentType           = "content-type"           // a wrong type for the operation
	RuleMultipart             = "multipart"              // malformed
	RuleFileName              = "file-name"              // a file part without a name
	RuleQuery                 = "query"                  // malformed
	RuleUndocumentedParameter = "undocumented-parameter" // in the query
	RuleUndocumentedField     = "undocumented-field"     // in the form
	RuleRepeated              = "repeated"               // a parameter or field sent twice
	RuleValue                 = "value"                  // an undocumented value
	RuleBoolean               = "boolean"                // a boolean other than 1 or 0; see [BooleanWords]
	RuleEncoding              = "encoding"               // invalid UTF-8
)

// A Violation is a part of a request that breaks a rule of the API.
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
