package conformance

import (
	"context"
	"errors"
	"net/http"

	aicontent "github.com/aicontent/aicontent-go"
)

func (s *Suite) errorScenarios() []Scenario {
	return []Scenario{
		{"errors/an unknown id", s.unknownID},
		{"errors/ids that need escaping", s.escapedIDs},
		{"errors/a wrong key", s.wrongKey},
		{"errors/an invalid form", s.refusedForm},
	}
}

func (s *Suite) unknownID(t TB) {
	ctx := context.Background()
	const id = "999999999999"
	_, err := s.client.Images.Show(ctx, id)
	fails(t, "show an image", err, aicontent.ErrNotFound)
	_, err = s.client.Images.Update(ctx, id, aicontent.ImageUpdateParams{Name: new("n")})
	fails(t, "update an image", err, aicontent.ErrNotFound)
	fails(t, "delete an image", s.client.Images.Delete(ctx, id), aicontent.ErrNotFound)
	_, err = s.client.Transcriptions.Show(ctx, id)
	fails(t, "show a transcription", err, aicontent.ErrNotFound)
	_, err = s.client.Transcriptions.Update(ctx, id, aicontent.TranscriptionUpdateParams{Name: new("n")})
	fails(t, "update a transcription", err, aicontent.ErrNotFound)
	fails(t, "delete a transcription", s.client.Transcriptions.Delete(ctx, id), aicontent.ErrNotFound)
}

// escapedIDs uses ids that, unescaped, would lead to another path.
func (s *Suite) escapedIDs(t TB) {
	for _, id := range []aicontent.ID{"a?b", "a%b", "a#b", "ü", "a;b", "a+b"} {
		_, err := s.client.Images.Show(context.Background(), id)
		fails(t, "show "+string(id), err, aicontent.ErrNotFound)
		_, err = s.client.Transcriptions.Show(context.Background(), id)
		fails(t, "show "+string(id), err, aicontent.ErrNotFound)
	}
}

func (s *Suite) wrongKey(t TB) {
	stranger := s.newClient(aicontent.WithAPIKeySource(func(context.Context) (string, error) {
		return "not-the-key", nil
	}))
	_, err := stranger.Images.List(context.Background(), aicontent.ImageListParams{})
	fails(t, "list images", err, aicontent.ErrUnauthorized)
	_, err = stranger.Transcriptions.Show(context.Background(), "1")
	fails(t, "show a transcription", err, aicontent.ErrUnauthorized)
}

// refusedForm sends a name of white space, which the SDK would refuse by itself.
func (s *Suite) refusedForm(t TB) {
	params := aicontent.ImageStoreParams{Description: "d", Resolution: aicontent.Resolution256x256}
	image, err := s.client.Images.Store(context.Background(), params,
		aicontent.WithFormField("name", " "), aicontent.WithoutValidation())
	if err == nil {
		s.created(func(ctx context.Context) error { return s.client.Images.Delete(ctx, image.ID) })
	}
	fails(t, "store an image without a name", err, aicontent.ErrInvalid)
	var refused *aicontent.APIError
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusUnprocessableEntity ||
		refused.Message == "" && len(refused.Fields) == 0 {
		t.Errorf("store an image without a name: want a 422 with a message or fields, got %v", err)
	}
}
