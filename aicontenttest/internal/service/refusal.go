package service

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
)

// refusals are the bodies with which services respond 200 although they have done nothing. NAME stands for the name in
// the form, as JSON.
var refusals = []string{
	`{"success":false,"message":"Insufficient credits"}`,
	`{"message":"Too Many Attempts.","status":429}`,
	`{"status":"failed"}`,
	`{"code":402,"message":"Payment Required"}`,
	`{"ok":false}`,
	`{}`,
	`null`,
	`0`,
	`[]`,
	`{"id":"req_1","error":{"message":"quota exceeded"}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"quota exceeded"}}`,
	`{"id":"x","status":"error"}`,
	`{"name":NAME,"success":false}`,
}

// deleteRefusals are those of a delete, which cannot be told from a success unless they say that they are none.
var deleteRefusals = []string{
	`{"message":"The record is in use.","status":422}`,
	`{"success":false}`,
	`{"status":"failed"}`,
	`{"code":403,"message":"Forbidden"}`,
	`{"ok":false}`,
	`{"id":"req_1","error":{"message":"The record is in use."}}`,
}

// turns counts the refusals.
type turns struct{ changes, deletes atomic.Uint32 }

// refuse replaces the action of the request by the next refusal. A missing record is still not found.
func (r *reader) refuse() {
	if r.Method == http.MethodGet {
		return
	}
	r.act = func() Result {
		if r.Route.ID != "" {
			if _, refusal := r.Route.Collection.find(r.Route.ID); refusal != nil {
				return *refusal
			}
		}
		return Result{Status: http.StatusOK, Refusal: r.nextRefusal()}
	}
}

func (r *reader) nextRefusal() string {
	if r.Method == http.MethodDelete {
		return deleteRefusals[int(r.turns.deletes.Add(1)-1)%len(deleteRefusals)]
	}
	body := refusals[int(r.turns.changes.Add(1)-1)%len(refusals)]
	name, _ := last(r.Form, "name")
	quoted, _ := json.Marshal(name) // invalid UTF-8 becomes U+FFFD
	return strings.Replace(body, "NAME", string(quoted), 1)
}
