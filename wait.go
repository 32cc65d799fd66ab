package aicontent

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Wait returns the image when it has a URL. Some services respond to Store before they have drawn the image. Wait calls
// Show at once, then after pauses of 1, 2, 4, 8, 16 and 30 seconds, then every 30 seconds. It bypasses caches. After a
// [Retryable] error of Show it continues, not before [RetryAt]. It returns any other error, such as [ErrNotFound], at
// once.
//
// Only ctx limits Wait, so give it a deadline: an image may never get a URL. When ctx ends, Wait returns a [*CallError]
// without Method, Path and Attempts. It matches the error of ctx, and the error of the last Show if that one failed. It
// is retryable. Its outcome is Executed, and its text says that the record exists, if any Show succeeded.
//
// With an error, Wait returns the image of the last Show that succeeded, or nil if none did.
func (s *ImagesService) Wait(ctx context.Context, id ID, opts ...CallOption) (*Image, error) {
	return wait(ctx, s.client, images, id, opts, func(i *Image) bool { return i.URL != "" })
}

// Wait returns the transcription when it has a result: a member of Raw that is neither null nor an empty text. Only a
// text is also in the field Result. The transcription of a silent recording may never get a result, so give ctx a
// deadline. Otherwise Wait behaves like [ImagesService.Wait].
func (s *TranscriptionsService) Wait(ctx context.Context, id ID, opts ...CallOption) (*Transcription, error) {
	return wait(ctx, s.client, transcriptions, id, opts, func(t *Transcription) bool {
		var sent struct{ Result any }
		_ = json.Unmarshal(t.Raw(), &sent) // it was parsed before
		return sent.Result != nil && sent.Result != ""
	})
}

// wait shows a record until it is complete. With an error it returns the last record shown, or nil.
func wait[T any](
	ctx context.Context, c *Client, in *collection, id ID, opts []CallOption, complete func(*T) bool,
) (*T, error) {
	opts = append(slices.Clip(opts), WithHeader("Cache-Control", "no-cache"))
	var last *T
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		shown, err := call(ctx, c, arguments{op: in.show, id: id}, opts, readRecord[T])
		switch {
		case err == nil && complete(shown):
			return shown, nil
		case err == nil:
			last = shown
		case !Retryable(err):
			return last, err
		}
		select {
		case <-ctx.Done():
			return last, c.newWaitError(ctx, in, last != nil, err)
		case <-time.After(max(pause, time.Until(RetryAt(err)))):
		}
	}
}
