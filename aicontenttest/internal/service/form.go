package service

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

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

// readForm reads a body of the media type. It returns a refusal if the body cannot be read.
func (r *reader) readForm(mediaType string) *Result {
	r.Form = url.Values{}
	contentType := r.Header.Get("Content-Type")
	if contentType == "" && r.ContentLength == 0 {
		return nil
	}
	if r.config.NoChunks && r.ContentLength < 0 {
		_, _ = io.Copy(io.Discard, r.Body)
		return nil
	}
	given, params, err := mime.ParseMediaType(contentType)
	if err != nil || given != mediaType {
		r.violate("content-type", "Content-Type", contentType)
		if !r.config.Lenient {
			return refused(http.StatusUnsupportedMediaType, unsupported(contentType, mediaType))
		}
	}
	switch {
	case given == contract.URLEncoded:
		err = r.readURLEncoded()
	case given == contract.Multipart && r.Method == http.MethodPost:
		err = r.readMultipart(params["boundary"])
	}
	// PHP parses no other type: all fields are missing.
	_, drainErr := io.Copy(io.Discard, r.Body)
	switch {
	case drainErr != nil: // the connection broke
		return refused(http.StatusBadRequest, "Bad Request.")
	case errors.Is(err, errTooLarge):
		return refused(http.StatusRequestEntityTooLarge, "Content Too Large.")
	case err != nil:
		rule := "body"
		if given == contract.Multipart {
			rule = "multipart"
		}
		r.violate(rule, "", "")
		return refused(http.StatusBadRequest, "Bad Request.")
	}
	return nil
}

// unsupported returns the message about a wrong content type.
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
	if r.Form, err = url.ParseQuery(string(text)); r.config.Lenient {
		return nil // the malformed pairs are ignored
	}
	return err
}

// readMultipart reads the parts one by one; files are not held in memory.
func (r *reader) readMultipart(boundary string) error {
	if boundary == "" {
		return errors.New("no boundary")
	}
	parts := multipart.NewReader(r.Body, boundary)
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
		known, _ := contract.Find(r.Route.Collection.Store, name)
		switch isAudio := known.Kind == contract.Audio; {
		case isAudio && r.Upload == nil && fileName != "":
			r.Upload, err = receive(part, fileName, part.Header.Get("Content-Type"), r.config.KeepUploads)
		case (isAudio || isFile) && r.config.Lenient, isFile && r.config.Allowed[name]:
			// Read and dropped.
		case isAudio && r.Upload != nil:
			r.reject("repeated", name, fileName, "The :attribute field must be given once.")
		case isAudio:
			r.reject("file-name", name, fileName, "The :attribute field must be a file.")
		case isFile:
			// To PHP, too, a file is no value of a text field.
			r.reject("undocumented-field", name, fileName, "The :attribute field is no file of the API.")
		default:
			var value []byte
			value, err = readLimited(part, left)
			left -= len(value)
			r.Form.Add(name, string(value))
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
