package aicontenttest

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// maxFormBytes is how much of a form is taken apart from its file, which has no limit.
const maxFormBytes = 16 << 20

// A form is the body of a store or an update.
type form struct {
	values   url.Values
	upload   *Upload
	problems []problem // with the parts of a multipart form
}

func (f form) get(name string) (value string, present bool) { return last(f.values, name) }

// last returns the last value of the name, trimmed, as PHP and Laravel's middleware have it.
func last(values url.Values, name string) (value string, present bool) {
	given := values[name]
	if len(given) == 0 {
		return "", false
	}
	return strings.TrimSpace(given[len(given)-1]), true
}

var errTooLarge = errors.New("form too large")

// readForm reads the body as the resource wants it for this method. A non-nil answer refuses it.
func (c *call) readForm(mediaType string) (form, *Answer) {
	f := form{values: url.Values{}}
	contentType := c.r.Header.Get("Content-Type")
	if contentType == "" && c.r.ContentLength == 0 {
		return f, nil
	}
	given, params, err := mime.ParseMediaType(contentType)
	if err != nil || given != mediaType {
		c.violate(RuleContentType, "Content-Type", contentType)
		if !c.server.lenient {
			return f, c.message(http.StatusUnsupportedMediaType, "Unsupported Media Type.")
		}
	}
	switch {
	case given == urlencoded:
		err = c.readURLEncoded(&f)
	case given == multiparts && c.r.Method == http.MethodPost:
		err = c.readMultipart(&f, params["boundary"])
	default:
		// PHP parses nothing else, so the fields are simply missing.
		err = nil
	}
	_, drainErr := io.Copy(io.Discard, c.body)
	switch {
	case c.body.broken():
		return f, nil
	case errors.Is(err, errTooLarge):
		return f, c.message(http.StatusRequestEntityTooLarge, "Content Too Large.")
	case err != nil || drainErr != nil:
		rule := RuleBody
		if given == multiparts {
			rule = RuleMultipart
		}
		c.violate(rule, "", "")
		return f, c.message(http.StatusBadRequest, "Bad Request.")
	}
	return f, nil
}

func (c *call) readURLEncoded(f *form) error {
	text, err := readLimited(c.body, maxFormBytes)
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(string(text))
	f.values = values
	if c.server.lenient {
		return nil
	}
	return err
}

// readMultipart streams: of a file nothing is held but what [Server] is told to keep.
func (c *call) readMultipart(f *form, boundary string) error {
	if boundary == "" {
		return errors.New("no boundary")
	}
	parts := multipart.NewReader(c.body, boundary)
	left := maxFormBytes
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		disposition, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		name := params["name"]
		if err != nil || disposition != "form-data" || name == "" {
			return errors.New("a part that is no form field")
		}
		fileName, isFile := params["filename"]
		known, _ := find(c.route.collection.store, name)
		refuse := func(rule, message string) {
			c.violate(rule, name, fileName)
			if !c.server.lenient {
				f.problems = append(f.problems, problem{name, "The " + label(name) + " field " + message})
			}
		}
		switch {
		case known.kind == audio && f.upload != nil:
			refuse(RuleRepeated, "must be given once.")
		case known.kind == audio && fileName == "":
			refuse(RuleFileName, "must be a file.")
		case known.kind == audio:
			f.upload, err = c.server.receive(part, fileName, part.Header.Get("Content-Type"))
		case isFile && !c.server.allowed[name]:
			// A file is no value of a text field, to PHP either.
			refuse(RuleUndocumentedField, "is no file of the interface.")
		case isFile:
			// One that the test allows is read and dropped.
		default:
			var value []byte
			value, err = readLimited(part, left)
			left -= len(value)
			f.values.Add(name, string(value))
		}
		if err != nil {
			return err
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
