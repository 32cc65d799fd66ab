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
	seeded := s.AddImage(Image{Name: "seeded"})
	send(t, s, post("/api/v1/images", storeForm))
	send(t, s, remove("/api/v1/images/"+seeded.ID))
	send(t, s, get("/api/v1/images/a%2Fb?"))
	s.Fault(LoseResponse())
	_, err := trySend(s, patch("/api/v1/images/2", "favorite=1"))
	require.Error(t, err)

	book := s.Requests()
	require.Len(t, book, 4)
	for i := range book {
		assert.Equal(t, "Bearer ***", book[i].Header.Get("Authorization"))
		book[i].Header, book[i].Connection = nil, 0
	}
	const images = "/tenant/api/v1/images"
	assert.Equal(t, Request{
		Number: 1, Operation: aicontent.ImagesStore, Method: "POST", Path: images, EscapedPath: images,
		Query: url.Values{}, Form: url.Values{"name": {"n"}, "description": {"d"}, "resolution": {"256x256"}},
		Received: int64(len(storeForm)), Acted: true, RecordID: "2", Status: 201, Responded: true,
	}, book[0])
	assert.Equal(t, Request{
		Number: 2, Operation: aicontent.ImagesDelete, Method: "DELETE", Path: images + "/1", EscapedPath: images + "/1",
		Query: url.Values{}, Acted: true, RecordID: "1", Status: 200, Responded: true,
	}, book[1])
	assert.Equal(t, Request{
		Number: 3, Operation: aicontent.ImagesShow, Method: "GET", Path: images + "/a/b",
		EscapedPath: images + "/a%2Fb", Query: url.Values{}, Status: 404, Responded: true,
	}, book[2])
	assert.Equal(t, Request{
		Number: 4, Operation: aicontent.ImagesUpdate, Method: "PATCH", Path: images + "/2", EscapedPath: images + "/2",
		Query: url.Values{}, Form: url.Values{"favorite": {"1"}}, Received: 10, Fault: "lose-response",
		Acted: true, RecordID: "2",
	}, book[3])
	assert.Equal(t, []Record{
		{Collection: "images", ID: "1", Name: "seeded", Deleted: true, DeletedBy: 2},
		{Collection: "images", ID: "2", Name: "n", Request: 1},
	}, s.Records())
}

func TestCreatedReturnsTheRecordsThatRequestsCreated(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(Image{Name: "seeded"})
	send(t, s, post("/api/v1/images", storeForm))
	send(t, s, upload(namePart, filePart))
	send(t, s, remove("/api/v1/images/2"))
	assert.Equal(t, []Record{
		{Collection: "images", ID: "2", Name: "n", Request: 1, Deleted: true, DeletedBy: 3},
		{Collection: "transcriptions", ID: "1", Name: "Meeting", Request: 2},
	}, s.Created())
}

func TestRecordThatIsReplacedHasOneEntry(t *testing.T) {
	s := NewServer(t, BasePath("/tenant"))
	s.AddImage(Image{ID: "7", Name: "before"})
	s.AddImage(Image{ID: "7", Name: "after"})
	assert.Equal(t, []Record{{Collection: "images", ID: "7", Name: "before"}}, s.Records())
	send(t, s, remove("/api/v1/images/7"))
	s.AddImage(Image{ID: "7", Name: "again"})
	assert.Equal(t, []Record{
		{Collection: "images", ID: "7", Name: "before", Deleted: true, DeletedBy: 1},
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
