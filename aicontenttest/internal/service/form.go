package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/contract"
	"github.com/aicontent/aicontent-go/internal/names"
)

// maxFormBytes limits a form without its file.
const maxFormBytes = 16 << 20

// last returns the last value with the name, trimmed, as PHP and Laravel's middleware do.
func last(values url.Values, name string) (value string, present bool) {
	given := values[name]
	if len(given) == 0 {
		return "", false
	}
	return names.Trim(given[len(given)-1]), true
}

var errTooLarge = errors.New("form too large")

// readForm reads a body of the media type. It returns the problems with the file parts, and a refusal
// where the body cannot be read.
func (r *reader) readForm(mediaType string) ([]Problem, *Result) {
	r.Form = url.Values{}
	contentType := r.Header.Get("Content-Type")
	if contentType == "" && r.ContentLength == 0 {
		return nil, nil
	}
	if r.config.NoChunks && r.ContentLength < 0 {
		_, _ = io.Copy(io.Discard, r.Body)
		return nil, nil
	}
	given, params, err := mime.ParseMediaType(contentType)
	if err != nil || given != mediaType {
		r.violate(RuleContentType, "Content-Type", contentType)
		if !r.config.Lenient {
			return nil, refused(http.StatusUnsupportedMediaType, unsupported(contentType, mediaType))
		}
	}
	var problems []Problem
	switch {
	case given == contract.URLEncoded:
		err = r.readURLEncoded()
	case given == contract.Multipart && r.method == http.MethodPost:
		problems, err = r.readMultipart(params["boundary"])
	case strings.HasSuffix(given, "json"):
		err = r.readJSON()
	default:
		// PHP parses nothing else: all fields are missing.
		err = nil
	}
	_, drainErr := io.Copy(io.Discard, r.Body)
	switch {
	case drainErr != nil: // the connection broke
		return nil, refused(http.StatusBadRequest, "Bad Request.")
	case errors.Is(err, errTooLarge):
		return nil, refused(http.StatusRequestEntityTooLarge, "Content Too Large.")
	case err != nil:
		rule := RuleBody
		if given == contract.Multipart {
			rule = RuleMultipart
		}
		r.violate(rule, "", "")
		return nil, refused(http.StatusBadRequest, "Bad Request.")
	}
	return problems, nil
}

// unsupported says which content type was given and which one is expected.
func unsupported(given, expected string) string {
	text := fmt.Sprintf("The body is of the type %q. ", given)
	if given == "" {
		text = "The header Content-Type is missing. "
	}
	if expected == contract.Multipart {
		expected += " with a boundary, as curl -F does"
	}
	return text + "Send the header Content-Type: " + expected + "."
}

func (r *reader) readURLEncoded() error {
	text, err := readLimited(r.Body, maxFormBytes)
	if err != nil {
		return err
	}
	r.Form = ParseURLEncoded(string(text))
	return nil
}

// readJSON reads an object as Laravel does, which only lenient servers come to.
func (r *reader) readJSON() error {
	text, err := readLimited(r.Body, maxFormBytes)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil // all fields are missing
	}
	for name, raw := range members {
		var value string
		switch {
		case string(raw) == "true":
			value = r.word(true)
		case string(raw) == "false":
			value = r.word(false)
		case raw[0] == '"':
			_ = json.Unmarshal(raw, &value)
		case string(raw) != "null":
			value = string(raw)
		}
		r.Form.Set(name, value)
	}
	return nil
}

// readMultipart reads the parts one by one; files are not held in memory.
func (r *reader) readMultipart(boundary string) (problems []Problem, err error) {
	if boundary == "" {
		return nil, errors.New("no boundary")
	}
	parts := multipart.NewReader(r.Body, boundary)
	left := maxFormBytes
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return problems, nil
		}
		if err != nil {
			return nil, err
		}
		disposition, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		name := params["name"]
		if err != nil || disposition != "form-data" || name == "" {
			return nil, errors.New("a part that is no form field")
		}
		fileName, isFile := params["filename"]
		known, _ := contract.Find(r.Route.Collection.Store, name)
		refuse := func(rule, message string) {
			r.violate(rule, name, fileName)
			if !r.config.Lenient {
				problems = append(problems, Problem{name, "The " + label(name) + " field " + message})
			}
		}
		switch {
		case known.Kind == contract.Audio && r.Upload != nil:
			refuse(RuleRepeated, "must be given once.")
		case known.Kind == contract.Audio && fileName == "":
			refuse(RuleFileName, "must be a file.")
		case known.Kind == contract.Audio:
			r.Upload, err = receive(part, fileName, part.Header.Get("Content-Type"), r.config.KeepUploads)
		case isFile && !r.config.Allowed[name]:
			// To PHP, too, a file is no value of a text field.
			refuse(RuleUndocumentedField, "is no file of the API.")
		case isFile:
			// Read and dropped.
		default:
			var value []byte
			value, err = readLimited(part, left)
			left -= len(value)
			r.Form.Add(name, string(value))
		}
		if err != nil {
			return nil, err
		}
	}
}

func readLimited(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(b) > limit {
		err = errTooLarge
	}
	return b, err
}
