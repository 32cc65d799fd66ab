package aicontent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func sprintf(format string, v any) string { return fmt.Sprintf(format, v) }

// spellings are the forms in which a key may stand in a text.
func spellings(key string) []string {
	quoted, _ := json.Marshal(key)
	return []string{
		key, strings.ToLower(key), strings.ToUpper(key), strings.ReplaceAll(key, "/", `\/`), url.QueryEscape(key), url.PathEscape(key),
		string(quoted[1 : len(quoted)-1]), fmt.Sprintf("%x", key), fmt.Sprint([]byte(key)),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(key),
	}
}

// assertNoKey prints v in every way there is, and walks through everything that can be reached from it, unexported
// fields included.
func assertNoKey(t *testing.T, v any, key string) {
	t.Helper()
	var texts []string
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(format, v))
	}
	if text, err := json.Marshal(v); err == nil {
		texts = append(texts, string(text))
	}
	w := walker{seen: map[visit]bool{}}
	w.walk(reflect.ValueOf(v), "")
	forms := spellings(key)
	for _, text := range append(texts, w.texts...) {
		for _, form := range forms {
			if strings.Contains(text, form) {
				assert.Failf(t, "the key is in there", "%T: %.300q", v, text)
				return
			}
		}
	}
}

type visit struct {
	at   unsafe.Pointer
	kind reflect.Type
}

// walker collects every text in a value.
type walker struct {
	texts []string
	seen  map[visit]bool
}

func (w *walker) walk(v reflect.Value, path string) {
	if !v.IsValid() || len(w.seen) > 200_000 {
		return
	}
	if v.CanAddr() && !v.CanInterface() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	if v.CanInterface() && v.Kind() != reflect.Interface {
		if err, ok := v.Interface().(error); ok && !(v.Kind() == reflect.Pointer && v.IsNil()) {
			for e := err; e != nil; e = errors.Unwrap(e) {
				w.texts = append(w.texts, safely(e.Error))
			}
		}
	}
	switch v.Kind() {
	case reflect.String:
		w.texts = append(w.texts, v.String())
	case reflect.Pointer:
		if v.IsNil() || w.seen[visit{v.UnsafePointer(), v.Type()}] {
			return
		}
		w.seen[visit{v.UnsafePointer(), v.Type()}] = true
		w.walk(v.Elem(), path)
	case reflect.Interface:
		w.walk(v.Elem(), path)
	case reflect.Struct:
		if !v.CanAddr() {
			// A copy can be addressed, and so its unexported fields be read.
			c := reflect.New(v.Type()).Elem()
			c.Set(v)
			v = c
		}
		for i := range v.NumField() {
			w.walk(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b := make([]byte, v.Len())
			reflect.Copy(reflect.ValueOf(b), v)
			w.texts = append(w.texts, string(b))
			return
		}
		for i := range min(v.Len(), 10_000) {
			w.walk(v.Index(i), path)
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			w.walk(i.Key(), path)
			w.walk(i.Value(), path)
		}
	}
}

// safely calls a method of a value that was found half-made.
func safely(text func() string) (s string) {
	defer func() { _ = recover() }()
	return text()
}

// A walk that finds nothing must be one that would have found something.
func TestTheWalkerFindsKeys(t *testing.T) {
	type inner struct{ secret any }
	for name, v := range map[string]any{
		"string":           aKey,
		"bytes":            []byte("x" + aKey),
		"unexported":       struct{ a *inner }{&inner{aKey}},
		"in an interface":  &inner{inner{map[string][]string{"x": {aKey}}}},
		"map key":          map[string]int{aKey: 1},
		"wrapped error":    fmt.Errorf("a: %w", errors.New(aKey)),
		"error in a field": &TransportError{Err: &url.Error{Op: "Get", URL: "https://h/?k=" + aKey, Err: errors.New("x")}},
		"array":            [1]*inner{{[]any{aKey}}},
		"lower case":       strings.ToUpper(aKey),
	} {
		probe := &testing.T{}
		assertNoKey(probe, v, aKey)
		assert.True(t, probe.Failed(), name)
	}
}
