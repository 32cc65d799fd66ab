package fakes

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

// Key is an API key that is long enough to be masked.
const Key = "sk-live-0123456789abcdef"

// Spellings returns a key in the encodings in which a text may hold it.
func Spellings(key string) []string {
	quoted, _ := json.Marshal(key)
	return []string{
		key,
		strings.ToLower(key),
		strings.ToUpper(key),
		strings.ReplaceAll(key, "/", `\/`),
		url.QueryEscape(key),
		url.PathEscape(key),
		string(quoted[1 : len(quoted)-1]),
		fmt.Sprintf("%x", key),
		fmt.Sprint([]byte(key)),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(key),
	}
}

// AssertNoKey prints v with every verb and visits every value reachable from it, even through unexported fields. The
// test fails if one of them holds the key, in any encoding.
func AssertNoKey(t testing.TB, v any, key string) {
	t.Helper()
	var texts []string
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(format, v))
	}
	if text, err := json.Marshal(v); err == nil {
		texts = append(texts, string(text))
	}
	w := walker{seen: map[visit]bool{}}
	w.walk(reflect.ValueOf(v))
	forms := Spellings(key)
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

func (w *walker) walk(v reflect.Value) {
	if !v.IsValid() || len(w.seen) > 200_000 {
		return
	}
	if v.CanAddr() && !v.CanInterface() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	w.errorTexts(v)
	switch v.Kind() {
	case reflect.String:
		w.texts = append(w.texts, v.String())
	case reflect.Pointer:
		if v.IsNil() || w.seen[visit{v.UnsafePointer(), v.Type()}] {
			return
		}
		w.seen[visit{v.UnsafePointer(), v.Type()}] = true
		w.walk(v.Elem())
	case reflect.Interface:
		w.walk(v.Elem())
	case reflect.Struct:
		if !v.CanAddr() {
			// Reading unexported fields takes an address.
			c := reflect.New(v.Type()).Elem()
			c.Set(v)
			v = c
		}
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		w.elements(v)
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			w.walk(i.Key())
			w.walk(i.Value())
		}
	}
}

func (w *walker) errorTexts(v reflect.Value) {
	if !v.CanInterface() || v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.IsNil() {
		return
	}
	err, _ := v.Interface().(error)
	for ; err != nil; err = errors.Unwrap(err) {
		w.texts = append(w.texts, safely(err.Error))
	}
}

func (w *walker) elements(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		w.texts = append(w.texts, string(b))
		return
	}
	for i := range min(v.Len(), 10_000) {
		w.walk(v.Index(i))
	}
}

// safely calls a method that may panic, because reflection finds errors with missing fields.
func safely(text func() string) (s string) {
	defer func() { _ = recover() }()
	return text()
}
