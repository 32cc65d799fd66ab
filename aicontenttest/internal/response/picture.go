package response

import (
	"bytes"
	"net/http"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/picture"
	"github.com/aicontent/aicontent-go/aicontenttest/internal/service"
)

// draw responds with the picture of an image.
func draw(image *service.Record) Response {
	var png bytes.Buffer
	// A buffer takes everything.
	_ = picture.Draw(&png, picture.Params{
		Description: image.Text["description"], Resolution: image.Text["resolution"],
		Style: image.Text["style"], Medium: image.Text["medium"], Filter: image.Text["filter"],
	})
	return Response{Status: http.StatusOK, Header: http.Header{"Content-Type": {"image/png"}}, Body: png.Bytes()}
}
