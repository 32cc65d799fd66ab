// Package conformance checks a service against the documented API, through the SDK.
package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	aicontent "github.com/aicontent/aicontent-go"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
)

// TB is the part of a test that the suite uses.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Suite is one run of the scenarios.
type Suite []*part

// A part of the suite tests one collection. Its records are a model of the service: a scenario changes them as it
// changes the service, and computes from them how the service must respond.
type part struct {
	api
	run       string // begins the names of the run's records, and of no others
	client    *aicontent.Client
	newClient func(...aicontent.Option) *aicontent.Client
	forms     []*record      // of the records to create, in the order of their names
	records   []*record      // in the order of creation
	created   []aicontent.ID // even those deleted since
}

// A Scenario is a promise of the API.
type Scenario struct {
	Name string
	Run  func(TB)
}

// New returns a suite that gets its clients from newClient. The names of its records begin with run.
func New(run string, newClient func(...aicontent.Option) *aicontent.Client) Suite {
	client := newClient()
	return Suite{
		{api: images, run: run, client: client, newClient: newClient, forms: imageForms(run)},
		{api: transcriptions, run: run, client: client, newClient: newClient, forms: transcriptionForms(run)},
	}
}

// Scenarios returns the scenarios in their order: later ones use records of earlier ones.
func (s Suite) Scenarios() (list []Scenario) {
	for _, p := range s {
		add := func(name string, run func(TB)) {
			list = append(list, Scenario{p.resource.Name + "/" + name, func(t TB) {
				if name != "store" && name != "errors" && len(p.records) == 0 {
					t.Fatalf("not run: %s/store has created no record", p.resource.Name)
				}
				run(t)
			}})
		}
		add("store", p.testStore)
		add("show", p.testShow)
		for _, name := range []string{"resolution", "style", "medium", "filter"} {
			if _, found := contract.Find(p.resource.List, name); found {
				add("list by "+name, func(t TB) { p.testSetting(t, name) })
			}
		}
		add("list by name", p.testSearch)
		add("list in order", p.testOrder)
		add("pages", p.testPages)
		add("update by PATCH", func(t TB) { p.testUpdate(t, http.MethodPatch) })
		add("update by PUT", func(t TB) { p.testUpdate(t, http.MethodPut) })
		add("delete", p.testDelete)
		add("errors", p.testErrors)
	}
	return list
}

// RemoveAll deletes the records of the run.
func (s Suite) RemoveAll(t TB) {
	for _, p := range s {
		for _, id := range p.created {
			if err := p.remove(p.client, id); err != nil && !errors.Is(err, aicontent.ErrNotFound) {
				t.Errorf("a record of %q was not deleted: %v", p.run, err)
			}
		}
	}
}

func (p *part) testStore(t TB) {
	for _, r := range p.forms {
		got, err := p.store(p.client, r)
		if err != nil {
			t.Fatalf("store %q: %v", r.fields["name"], err)
		}
		p.created = append(p.created, got.id)
		r.id, r.raw = got.id, got.raw
		p.records = append(p.records, r)
		compare(t, "store", r, got)
	}
}

func (p *part) testShow(t TB) {
	for _, r := range p.records {
		p.checkShow(t, r)
	}
}

func (p *part) checkShow(t TB, want *record) {
	t.Helper()
	got, err := p.show(p.client, want.id)
	if err != nil {
		t.Fatalf("show %s: %v", want.id, err)
	}
	compare(t, "show", want, got)
}

// compare compares a record with the model. Deployments may leave out a member, but must not send another value.
func compare(t TB, call string, want, got *record) {
	t.Helper()
	if got.id == "" || got.id != want.id {
		t.Errorf("%s: want the record %q, got %q", call, want.id, got.id)
	}
	for name, value := range got.fields {
		wanted, known := want.fields[name]
		if name == "result" && !known { // the service's own
			continue
		}
		if hasMember(got.raw, name) && value != wanted {
			t.Errorf("%s %s: %s: want %q, got %q", call, want.id, name, wanted, value)
		}
	}
	if got.favorite != want.favorite {
		t.Errorf("%s %s: favorite: want %v, got %v", call, want.id, want.favorite, got.favorite)
	}
}

func hasMember(raw json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // the SDK takes only objects for records
	_, found := members[name]
	return found
}

// selected returns the records that a query must select, in its order. The names are in the order of creation.
func (p *part) selected(q query) (ids []aicontent.ID) {
	for _, r := range p.records {
		selects := strings.Contains(r.fields[cmp.Or(q.searchBy, "name")], q.search) &&
			(q.favorite == nil || *q.favorite == r.favorite)
		for name, value := range q.settings {
			selects = selects && r.fields[name] == value
		}
		if selects {
			ids = append(ids, r.id)
		}
	}
	if q.sort != aicontent.SortAsc {
		slices.Reverse(ids)
	}
	return ids
}

// checkList compares a list with the model.
func (p *part) checkList(t TB, what string, q query) {
	t.Helper()
	if q.search == "" {
		q.search = p.run
	}
	got, _, err := p.list(p.client, q)
	if err != nil {
		t.Fatalf("list %s: %v", what, err)
	}
	checkIDs(t, "list "+what, p.selected(q), got)
}

func checkIDs(t TB, what string, want, got []aicontent.ID) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}

func (p *part) testSetting(t TB, name string) {
	// Newer deployments have dropped some settings.
	if !hasMember(p.records[0].raw, name) {
		t.Logf("not checked: records have no %s", name)
		return
	}
	field, _ := contract.Find(p.resource.List, name)
	for _, value := range field.Values {
		p.checkList(t, value, query{settings: map[string]string{name: value}})
	}
}

func (p *part) testSearch(t TB) {
	name := p.records[0].fields["name"]
	p.checkList(t, "by a name", query{search: name})
	p.checkList(t, "by a name, as search_by", query{search: name, searchBy: "name"})
	p.checkList(t, "by an unknown name", query{search: p.run + " nothing"})
}

func (p *part) testOrder(t TB) {
	for _, by := range []aicontent.SortBy{"", aicontent.SortByID, aicontent.SortByName} {
		p.checkList(t, "ascending by "+string(by), query{sortBy: by, sort: aicontent.SortAsc})
		p.checkList(t, "descending by "+string(by), query{sortBy: by, sort: aicontent.SortDesc})
	}
	p.checkList(t, "in the default order", query{})
}

// testPages compares the records of all pages with the model. If the deployment does not link its pages, it compares
// the first page.
func (p *part) testPages(t TB) {
	for _, size := range []aicontent.PerPage{10, 25, 50, 100} {
		got, first, err := p.list(p.client, query{search: p.run, perPage: size})
		want := p.selected(query{})
		if errors.Is(err, aicontent.ErrPagination) {
			t.Logf("the deployment does not say whether more pages follow: %v", err)
			want = want[:min(int(size), len(want))]
		} else if err != nil {
			t.Fatalf("pages of %d: %v", size, err)
		}
		checkIDs(t, fmt.Sprintf("pages of %d", size), want, got)
		if n := min(int(size), len(p.records)); first != n {
			t.Errorf("the first page of %d has %d records, not %d", size, first, n)
		}
	}
}

func (p *part) testUpdate(t TB, method string) {
	client, r := p.newClient(aicontent.WithUpdateMethod(method)), p.records[0]
	name, result := r.fields["name"], (*string)(nil)
	if _, found := contract.Find(p.resource.Update, "result"); found {
		result = new(p.run + " said: 1 + 1 = 2 & so on, ü")
	}
	for _, form := range []change{
		{name: new(name + " changed"), result: result},
		{favorite: new(true)},
		{name: &name, result: result, favorite: new(false)},
	} {
		got, err := p.update(client, r.id, form)
		if err != nil {
			t.Fatalf("update %s: %v", r.id, err)
		}
		form.apply(r)
		compare(t, "update", r, got)
		p.checkShow(t, r)
		p.checkList(t, "of favorites", query{favorite: new(true)})
		p.checkList(t, "of others", query{favorite: new(false)})
		if result != nil {
			p.checkList(t, "by a result", query{search: p.run + " said", searchBy: "result"})
		}
	}
}

func (p *part) testDelete(t TB) {
	id := p.records[0].id
	if err := p.remove(p.client, id); err != nil {
		t.Fatalf("delete: %v", err)
	}
	p.records = p.records[1:]
	_, err := p.show(p.client, id)
	checkError(t, "show a deleted record", err, aicontent.ErrNotFound)
	checkError(t, "delete a deleted record", p.remove(p.client, id), aicontent.ErrNotFound)
	p.checkList(t, "after a deletion", query{})
}

func (p *part) testErrors(t TB) {
	const unknown = "999999999999"
	// Unescaped, most of these IDs would lead to another path.
	for _, id := range []aicontent.ID{unknown, "a?b", "a%b", "a#b", "ü", "a;b", "a+b"} {
		_, err := p.show(p.client, id)
		checkError(t, "show "+string(id), err, aicontent.ErrNotFound)
	}
	_, err := p.update(p.client, unknown, change{name: new("n")})
	checkError(t, "update an unknown record", err, aicontent.ErrNotFound)
	checkError(t, "delete an unknown record", p.remove(p.client, unknown), aicontent.ErrNotFound)

	key := func(context.Context) (string, error) { return "not-the-key", nil }
	_, _, err = p.list(p.newClient(aicontent.WithAPIKeySource(key)), query{})
	checkError(t, "list with a wrong key", err, aicontent.ErrUnauthorized)

	// The SDK refuses a missing name.
	nameless := *p.forms[0]
	nameless.fields = maps.Clone(nameless.fields)
	delete(nameless.fields, "name")
	got, err := p.store(p.client, &nameless, aicontent.WithFormField("name", " "), aicontent.WithoutValidation())
	if err == nil {
		p.created = append(p.created, got.id)
	}
	checkError(t, "store without a name", err, aicontent.ErrInvalid)
	refusal, ok := errors.AsType[*aicontent.APIError](err)
	if !ok || refusal.StatusCode != http.StatusUnprocessableEntity ||
		refusal.Message == "" && len(refusal.Fields) == 0 {
		t.Errorf("store without a name: want a 422 with a message or fields, got %v", err)
	}
}

func checkError(t TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: want an error that matches %q, got %v", what, want, err)
	}
}
