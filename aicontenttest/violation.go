package aicontenttest

import "fmt"

// The rules of [Violation].
const (
	RulePath                  = "path"                   // not a path of the API
	RuleMethod                = "method"                 // not a method of the path
	RuleAuthorization         = "authorization"          // missing, or no bearer token
	RuleAccept                = "accept"                 // a list or show without application/json
	RuleBody                  = "body"                   // a body where there must be none, or one that cannot be read
	RuleContentType           = "content-type"           // not that of the operation
	RuleMultipart             = "multipart"              // malformed
	RuleFileName              = "file-name"              // a file part without a name
	RuleQuery                 = "query"                  // malformed
	RuleUndocumentedParameter = "undocumented-parameter" // in the query
	RuleUndocumentedField     = "undocumented-field"     // in the form
	RuleRepeated              = "repeated"               // a parameter or field sent twice
	RuleValue                 = "value"                  // not a documented value
	RuleBoolean               = "boolean"                // not written as 1 or 0; see [BooleanWords]
	RuleEncoding              = "encoding"               // text that is not UTF-8
)

// A Violation is something in a request that the API does not allow.
type Violation struct {
	Rule    string `json:"rule"`
	Request int    `json:"request"` // its Number
	Line    string `json:"line"`    // method, path and query of the request
	Field   string `json:"field"`   // the parameter, field or header; empty if there is none
	Value   string `json:"value"`   // as sent, shortened; empty for Authorization
}

// String is one line: the rule, the request, and the field with its value.
func (v Violation) String() string {
	s := fmt.Sprintf("%s: request %d: %s", v.Rule, v.Request, v.Line)
	if v.Field != "" {
		s += fmt.Sprintf(": %s=%q", v.Field, v.Value)
	}
	return s
}
