package aicontenttest

import (
	"bytes"
	"context"
	"net/http"

	aicontent "github.com/aicontent/aicontent-go"
)

func (c *conformance) transcriptionScenarios() []scenario {
	return []scenario{
		{"transcriptions/store takes each kind of file", c.transcriptionsStore},
		{"transcriptions/list sorts and filters", c.transcriptionsList},
		{"transcriptions/update by PATCH", func(t TB) { c.transcriptionsUpdate(t, http.MethodPatch) }},
		{"transcriptions/update by PUT", func(t TB) { c.transcriptionsUpdate(t, http.MethodPut) }},
		{"transcriptions/list searches results", c.transcriptionsSearch},
		{"transcriptions/delete", c.transcriptionsDelete},
	}
}

// silence is half a second of it as WAV: 8000 samples a second of one byte.
func silence() []byte {
	const header = "RIFF\xc4\x0f\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\xa0\x0f\x00\x00"
	return append([]byte(header), bytes.Repeat([]byte{0x80}, 4000)...)
}

func (c *conformance) transcriptionsStore(t TB) {
	for _, params := range []aicontent.TranscriptionStoreParams{
		{Name: c.name("recording 0"), File: aicontent.FileFromBytes("silence.wav", silence())},
		{Name: c.name("recording 1"), File: aicontent.FileFromBytes(`a "quiet" moment, ü.wav`, silence()), Language: "GB"},
		{
			// The size of a plain reader is not known, so the upload is sent in chunks.
			Name: c.name("recording 2"), File: aicontent.FileFromReader("silence.wav", bytes.NewBuffer(silence())),
			Description: "half a second & no more", Language: "DE",
		},
	} {
		got := c.storeTranscription(t, params)
		c.transcriptions = append(c.transcriptions, got.ID)
		shown, err := c.client.Transcriptions.Show(context.Background(), got.ID)
		if err != nil {
			t.Fatalf("show: %v", err)
		}
		for _, record := range []*aicontent.Transcription{got, shown} {
			if record.ID == "" || record.ID != got.ID {
				t.Errorf("%s: the id is %q", params.Name, record.ID)
			}
			sent(t, record.Raw(), "name", params.Name, record.Name)
			sent(t, record.Raw(), "description", params.Description, record.Description)
			sent(t, record.Raw(), "language", params.Language, record.Language)
			if record.Favorite {
				t.Errorf("%s: a new transcription is a favorite", params.Name)
			}
		}
	}
}

func (c *conformance) transcriptionsList(t TB) {
	for _, by := range []aicontent.SortBy{"", aicontent.SortByID, aicontent.SortByName} {
		got := c.listedTranscriptions(t, aicontent.TranscriptionListParams{SortBy: by, Sort: aicontent.SortAsc})
		same(t, "ascending by "+string(by), c.transcriptions, got)
		got = c.listedTranscriptions(t, aicontent.TranscriptionListParams{SortBy: by, Sort: aicontent.SortDesc})
		same(t, "descending by "+string(by), reversed(c.transcriptions), got)
	}
	got := c.listedTranscriptions(t, aicontent.TranscriptionListParams{
		Search: c.name("recording 1"), SearchBy: aicontent.TranscriptionSearchByName,
	})
	same(t, "a name", c.transcriptions[1:2], got)

	_, err := c.client.Transcriptions.Update(context.Background(), c.transcriptions[0],
		aicontent.TranscriptionUpdateParams{Favorite: aicontent.Ptr(true)})
	if err != nil {
		t.Fatalf("favorite: %v", err)
	}
	same(t, "favorites", c.transcriptions[:1],
		c.listedTranscriptions(t, aicontent.TranscriptionListParams{Favorite: aicontent.Ptr(true)}))
	same(t, "others", reversed(c.transcriptions[1:]),
		c.listedTranscriptions(t, aicontent.TranscriptionListParams{Favorite: aicontent.Ptr(false)}))
}

func (c *conformance) transcriptionsUpdate(t TB, method string) {
	client := c.newClient(aicontent.WithUpdateMethod(method))
	id, name := c.transcriptions[1], c.name("recording 1")
	result := c.name("said: 1 + 1 = 2 & so on, ü")
	for _, step := range []struct {
		what         string
		params       aicontent.TranscriptionUpdateParams
		name, result string
		favorite     bool
	}{
		{"result", aicontent.TranscriptionUpdateParams{Result: &result}, name, result, false},
		{"name", aicontent.TranscriptionUpdateParams{Name: aicontent.Ptr(name + " changed")}, name + " changed", result, false},
		{"favorite", aicontent.TranscriptionUpdateParams{Favorite: aicontent.Ptr(true)}, name + " changed", result, true},
		{"all", aicontent.TranscriptionUpdateParams{Name: &name, Result: &result, Favorite: aicontent.Ptr(false)}, name, result, false},
	} {
		changed, err := client.Transcriptions.Update(context.Background(), id, step.params)
		if err != nil {
			t.Fatalf("update %s: %v", step.what, err)
		}
		shown, err := client.Transcriptions.Show(context.Background(), id)
		if err != nil {
			t.Fatalf("show after update %s: %v", step.what, err)
		}
		for _, record := range []*aicontent.Transcription{changed, shown} {
			sent(t, record.Raw(), "name", step.name, record.Name)
			sent(t, record.Raw(), "result", step.result, record.Result)
			if record.Favorite != step.favorite {
				t.Errorf("%s: favorite is %v", step.what, record.Favorite)
			}
		}
	}
}

// transcriptionsSearch looks for the result that the updates have left.
func (c *conformance) transcriptionsSearch(t TB) {
	params := aicontent.TranscriptionListParams{Search: c.name("said"), SearchBy: aicontent.TranscriptionSearchByResult}
	same(t, "a result", c.transcriptions[1:2], c.listedTranscriptions(t, params))
	params.SearchBy = aicontent.TranscriptionSearchByName
	same(t, "the result as a name", nil, c.listedTranscriptions(t, params))
}

func (c *conformance) transcriptionsDelete(t TB) {
	id := c.transcriptions[0]
	if err := c.client.Transcriptions.Delete(context.Background(), id); err != nil {
		t.Fatalf("delete: %v", err)
	}
	_, err := c.client.Transcriptions.Show(context.Background(), id)
	fails(t, "show what was deleted", err, aicontent.ErrNotFound)
	same(t, "what is left", reversed(c.transcriptions[1:]), c.listedTranscriptions(t, aicontent.TranscriptionListParams{}))
}
