package aicontent

// Operation is the name of an operation: the collection, then the verb. Error texts begin with it.
type Operation string

// The operations of the API, and the download of a picture.
const (
	ImagesList     Operation = "images.list"
	ImagesShow     Operation = "images.show"
	ImagesStore    Operation = "images.store"
	ImagesUpdate   Operation = "images.update"
	ImagesDelete   Operation = "images.delete"
	ImagesDownload Operation = "images.download"

	TranscriptionsList   Operation = "transcriptions.list"
	TranscriptionsShow   Operation = "transcriptions.show"
	TranscriptionsStore  Operation = "transcriptions.store"
	TranscriptionsUpdate Operation = "transcriptions.update"
	TranscriptionsDelete Operation = "transcriptions.delete"
)

// operation is what all calls of one operation have in common.
type operation struct {
	name   Operation
	in     *collection // nil for a download
	method string      // empty for an update: the client has the choice
	record bool        // the path ends in a record's ID
	done   string      // what it does to a record, for texts of errors; empty if it changes nothing
	// required are the fields of a form that must not be empty, except a file.
	required []string
}

// collection is a collection of records, with its operations.
type collection struct {
	name, singular string // in paths and in responses

	list, show, store, update, remove *operation
}

var (
	images = newCollection("images", "image",
		ImagesList, ImagesShow, ImagesStore, ImagesUpdate, ImagesDelete,
		"name", "description", "resolution")
	transcriptions = newCollection("transcriptions", "transcription",
		TranscriptionsList, TranscriptionsShow, TranscriptionsStore, TranscriptionsUpdate, TranscriptionsDelete,
		"name")
	imagesDownload = &operation{name: ImagesDownload, method: "GET"}
)

func newCollection(name, singular string, list, show, store, update, remove Operation, required ...string) *collection {
	c := &collection{name: name, singular: singular}
	c.list = &operation{list, c, "GET", false, "", nil}
	c.show = &operation{show, c, "GET", true, "", nil}
	c.store = &operation{store, c, "POST", false, "created", required}
	c.update = &operation{update, c, "", true, "updated", nil}
	c.remove = &operation{remove, c, "DELETE", true, "deleted", nil}
	return c
}

// creates reports whether a request that is sent twice makes two records.
func (op *operation) creates() bool { return op.method == "POST" }
