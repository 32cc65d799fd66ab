package conformance

import (
	"bytes"
	"context"
	"net/http"

	aicontent "github.com/aicontent/aicontent-go"
)

func (s *Suite) transcriptionScenarios() []Scenario {
	return after([]Scenario{
		{"transcriptions/store accepts each kind of file", s.transcriptionsStore},
		{"transcriptions/list sorts and filters", s.transcriptionsList},
		{"transcriptions/update by PATCH", func(t TB) { s.transcriptionsUpdate(t, http.MethodPatch) }},
		{"transcriptions/update by PUT", func(t TB) { s.transcriptionsUpdate(t, http.MethodPut) }},
		{"transcriptions/list searches results", s.transcriptionsSearch},
		{"transcriptions/delete", s.transcriptionsDelete},
	}, func() bool { return len(s.transcriptions) == 3 })
}

// silence is half a second of silence as WAV: 8000 samples per second of one byte.
func silence() []byte {
	const header = "RIFF\xc4\x0f\x00\x00WAVE" +
		"fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00" +
		"data\xa0\x0f\x00\x00"
	return append([]byte(header), bytes.Repeat([]byte{0x80}, 4000)...)
}

func (s *Suite) transcriptionsStore(t TB) {
	for _, params := range []aicontent.TranscriptionStoreParams{
		{Name: s.name("recording 0"), File: aicontent.FileFromBytes("silence.wav", silence())},
		{
			Name: s.name("recording 1"), Language: "GB",
			File: aicontent.FileFromBytes(`a "quiet" moment, ü.wav`, silence()),
		},
		{
			// A reader that cannot be read again.
			Name: s.name("recording 2"), File: aicontent.FileFromReader("silence.wav", bytes.NewBuffer(silence())),
			Description: "half a second & no more", Language: "DE",
		},
	} {
		got := s.storeTranscription(t, params)
		s.transcriptions = append(s.transcriptions, got.ID)
		shown, err := s.client.Transcriptions.Show(context.Background(), got.ID)
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

func (s *Suite) transcriptionsList(t TB) {
	for _, by := range []aicontent.SortBy{"", aicontent.SortByID, aicontent.SortByName} {
		got := s.listedTranscriptions(t, aicontent.TranscriptionListParams{SortBy: by, Sort: aicontent.SortAsc})
		same(t, "ascending by "+string(by), s.transcriptions, got)
		got = s.listedTranscriptions(t, aicontent.TranscriptionListParams{SortBy: by, Sort: aicontent.SortDesc})
		same(t, "descending by "+string(by), reversed(s.transcriptions), got)
	}
	got := s.listedTranscriptions(t, aicontent.TranscriptionListParams{
		Search: s.name("recording 1"), SearchBy: aicontent.TranscriptionSearchByName,
	})
	same(t, "a name", s.transcriptions[1:2], got)

	_, err := s.client.Transcriptions.Update(context.Background(), s.transcriptions[0],
		aicontent.TranscriptionUpdateParams{Favorite: new(true)})
	if err != nil {
		t.Fatalf("favorite: %v", err)
	}
	same(t, "favorites", s.transcriptions[:1],
		s.listedTranscriptions(t, aicontent.TranscriptionListParams{Favorite: new(true)}))
	same(t, "others", reversed(s.transcriptions[1:]),
		s.listedTranscriptions(t, aicontent.TranscriptionListParams{Favorite: new(false)}))
}

func (s *Suite) transcriptionsUpdate(t TB, method string) {
	client := s.newClient(aicontent.WithUpdateMethod(method))
	id, name := s.transcriptions[1], s.name("recording 1")
	result := s.name("said: 1 + 1 = 2 & so on, ü")
	for _, step := range []struct {
		what         string
		params       aicontent.TranscriptionUpdateParams
		name, result string
		favorite     bool
	}{
		{"result", aicontent.TranscriptionUpdateParams{Result: &result}, name, result, false},
		{"name", aicontent.TranscriptionUpdateParams{Name: new(name + " changed")}, name + " changed", result, false},
		{"favorite", aicontent.TranscriptionUpdateParams{Favorite: new(true)}, name + " changed", result, true},
		{
			"all", aicontent.TranscriptionUpdateParams{Name: &name, Result: &result, Favorite: new(false)},
			name, result, false,
		},
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

// transcriptionsSearch searches for the result that transcriptionsUpdate has set.
func (s *Suite) transcriptionsSearch(t TB) {
	params := aicontent.TranscriptionListParams{Search: s.name("said"), SearchBy: aicontent.TranscriptionSearchByResult}
	same(t, "a result", s.transcriptions[1:2], s.listedTranscriptions(t, params))
	params.SearchBy = aicontent.TranscriptionSearchByName
	same(t, "the result as a name", nil, s.listedTranscriptions(t, params))
}

func (s *Suite) transcriptionsDelete(t TB) {
	id := s.transcriptions[0]
	if err := s.client.Transcriptions.Delete(context.Background(), id); err != nil {
		t.Fatalf("delete: %v", err)
	}
	_, err := s.client.Transcriptions.Show(context.Background(), id)
	fails(t, "show what was deleted", err, aicontent.ErrNotFound)
	left := s.listedTranscriptions(t, aicontent.TranscriptionListParams{})
	same(t, "what is left", reversed(s.transcriptions[1:]), left)
}
