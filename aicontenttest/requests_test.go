package aicontenttest

import (
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	aicontent "github.com/aicontent/aicontent-go"
)

func TestRequestsAndRecordsAreComplete(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	seeded := s.AddImage(aicontent.Image{Name: "seeded"})
	send(t, s, post("/api/v1/images", storeForm))
	send(t, s, remove("/api/v1/images/"+string(seeded.ID)))
	send(t, s, get("/api/v1/images/a%2Fb?"))
	s.Fault(LoseResponse())
	_, err := trySend(s, patch("/api/v1/images/2", "favorite=1"))
	require.Error(t, err)

	book := s.Requests()
	require.Len(t, book, 4)
	for i := range book {
		assert.Equal(t, "Bearer ***", book[i].Header.Get("Authorization"))
		book[i].Header = nil
	}
	const images = "/tenant/api/v1/images"
	assert.Equal(t, Request{
		Number: 1, Operation: aicontent.ImagesStore, Method: "POST", Path: images,
		Query: url.Values{}, Form: url.Values{"name": {"n"}, "description": {"d"}, "resolution": {"256x256"}},
		Received: int64(len(storeForm)), Acted: true, RecordID: "2", Status: 201,
	}, book[0])
	assert.Equal(t, Request{
		Number: 2, Operation: aicontent.ImagesDelete, Method: "DELETE", Path: images + "/1",
		Query: url.Values{}, Acted: true, RecordID: "1", Status: 200,
	}, book[1])
	assert.Equal(t, Request{
		Number: 3, Operation: aicontent.ImagesShow, Method: "GET", Path: images + "/a%2Fb",
		Query: url.Values{}, Status: 404,
	}, book[2])
	assert.Equal(t, Request{
		Number: 4, Operation: aicontent.ImagesUpdate, Method: "PATCH", Path: images + "/2",
		Query: url.Values{}, Form: url.Values{"favorite": {"1"}}, Received: 10, Fault: "lose-response",
		Acted: true, RecordID: "2",
	}, book[3])
	assert.Equal(t, []Record{
		{Collection: "images", ID: "1", Name: "seeded", DeletedBy: 2},
		{Collection: "images", ID: "2", Name: "n", Request: 1},
	}, s.Records())
}

func TestCreatedReturnsTheRecordsThatRequestsCreated(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(aicontent.Image{Name: "seeded"})
	send(t, s, post("/api/v1/images", storeForm))
	send(t, s, upload(namePart, filePart))
	send(t, s, remove("/api/v1/images/2"))
	assert.Equal(t, []Record{
		{Collection: "images", ID: "2", Name: "n", Request: 1, DeletedBy: 3},
		{Collection: "transcriptions", ID: "1", Name: "Meeting", Request: 2, File: s.Requests()[1].File},
	}, s.Created())
}

func TestRecordThatIsReplacedHasOneEntry(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(aicontent.Image{ID: "7", Name: "before"})
	s.AddImage(aicontent.Image{ID: "7", Name: "after"})
	assert.Equal(t, []Record{{Collection: "images", ID: "7", Name: "before"}}, s.Records())
	send(t, s, remove("/api/v1/images/7"))
	s.AddImage(aicontent.Image{ID: "7", Name: "again"})
	assert.Equal(t, []Record{
		{Collection: "images", ID: "7", Name: "before", DeletedBy: 1},
		{Collection: "images", ID: "7", Name: "again"},
	}, s.Records())
}

func TestResetBookForgetsTheBookAndKeepsTheRecords(t *testing.T) {
	s := started(t)
	send(t, s, post("/api/v1/images", storeForm))
	send(t, s, get("/api/v1/images?colour=red"))
	s.ResetBook()
	assert.Empty(t, s.Requests())
	assert.Empty(t, s.Records())
	assert.Empty(t, s.Violations())
	assert.Len(t, s.Images(), 1, "the records themselves stay")
	send(t, s, remove("/api/v1/images/1"))
	assert.Equal(t, 3, s.Requests()[0].Number)
	assert.Empty(t, s.Records(), "what was forgotten does not come back")
}

func TestRequestsReturnsCopies(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	send(t, s, upload(namePart, filePart))
	copied := s.Requests()[0]
	copied.Form.Set("name", "changed")
	copied.Header.Set("Accept", "changed")
	copied.File.Name = "changed"
	again := s.Requests()[0]
	assert.Equal(t, "Meeting", again.Form.Get("name"))
	assert.Equal(t, "application/json", again.Header.Get("Accept"))
	assert.Equal(t, "talk.wav", again.File.Name)
}

func TestOnRequestIsCalledWhenARequestHasEnded(t *testing.T) {
	var mu sync.Mutex
	var told []Request
	s := started(t, OnRequest(func(r Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r)
	}))
	send(t, s, post("/api/v1/images", storeForm))
	s.Fault(CloseBeforeRead())
	_, _ = trySend(s, get("/api/v1/images"))
	s.Close()
	assert.Equal(t, s.Requests(), told)
}
