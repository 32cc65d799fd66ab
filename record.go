package aicontent

import (
	"errors"
	"strconv"

	"github.com/aicontent/aicontent-go/internal/engine"
	"github.com/aicontent/aicontent-go/internal/response"
)

// ID is a record's identifier, assigned by the service. It decodes from a JSON string or, digit for digit, from a JSON
// number of any size. A call refuses an ID that is not one segment of a path: . and .., and any with a slash, a
// backslash, white space or a control character.
type ID string

// UnmarshalJSON reads a JSON string or number. A JSON null is a no-op; any other value is an error.
func (id *ID) UnmarshalJSON(data []byte) error {
	v, _ := response.Parse(string(data))
	switch {
	case v.Kind() == 'n':
	case v.Kind() == '"', v.Text() != "":
		*id = ID(v.Text())
	default:
		return errors.New("aicontent: an ID must be a JSON string or number")
	}
	return nil
}

// record is implemented by pointers to the record types, whose json tags name the members that they are read from.
type record interface {
	// parts returns pointers to the identity of the record, and to the record as sent.
	parts() (id *ID, name, raw *string)
}

// readRecord finds the record in a response: bare, under data, or under the collection's singular name.
func readRecord[T any](a answer) (*T, error) {
	r, op := new(T), a.req.op
	v, err := response.Parse(a.reply.Body)
	if err != nil {
		return nil, err
	}
	sent, err := response.Record(v, op.in.singular, r)
	if err != nil {
		return nil, err
	}
	id, name, raw := any(r).(record).parts()
	*raw = string(sent)
	if *name == "" && (isNoID(*id) || *id == "" && op.kind == engine.Create) {
		return nil, response.ErrNoRecord
	}
	return r, nil
}

// isNoID reports whether an ID is a number that services send instead of one, as in {"id":0,"message":"no credit"}.
func isNoID(id ID) bool {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n <= 0
}

// readDeleted accepts any response to a delete but an HTML page and an error: the API does not specify one.
func readDeleted(a answer) (struct{}, error) {
	if kindOf(a.reply.Body, a.reply.Header) == engine.Page {
		return struct{}{}, response.ErrHTML
	}
	if v, _ := response.Parse(a.reply.Body); v.IsRefusal(a.req.op.in.singular) {
		return struct{}{}, response.ErrSaysError
	}
	return struct{}{}, nil
}

// unmarshalRecord reads a bare record. A JSON null is a no-op.
func unmarshalRecord[T any](r *T, data []byte) error {
	switch v, _ := response.Parse(string(data)); v.Kind() {
	case 'n':
	case '{':
		*r = *new(T)
		response.Fill(v, r)
		_, _, raw := any(r).(record).parts()
		*raw = string(v)
	default:
		return errors.New("aicontent: a record must be a JSON object")
	}
	return nil
}
