package aicontenttest

import (
	"fmt"

	"github.com/aicontent/aicontent-go/aicontenttest/internal/answer"
)

// A Personality is one way in which deployments of the service differ. It is an [Option]. Several can be
// combined if they concern different things.
type Personality string

// The personalities. The package doc has a table of them.
const (
	DataEnvelope        Personality = "data-envelope"
	BareRecords         Personality = "bare-records"
	FullRecords         Personality = "full-records"
	MissingMembers      Personality = "missing-members"
	PlainPaginator      Personality = "plain-paginator"
	SimplePaginator     Personality = "simple-paginator"
	CursorPaginator     Personality = "cursor-paginator"
	LinkHeader          Personality = "link-header"
	ForeignNextLinks    Personality = "foreign-next-links"
	PlainHTTPNextLinks  Personality = "plain-http-next-links"
	FilterlessNextLinks Personality = "filterless-next-links"
	StringIDs           Personality = "string-ids"
	UUIDs               Personality = "uuids"
	NumericBooleans     Personality = "numeric-booleans"
	QuotedNumbers       Personality = "quoted-numbers"
	MessageOnly422      Personality = "message-only-422"
	LoginRedirect       Personality = "login-redirect"
	StoreAnswers200     Personality = "store-answers-200"
	DeleteAnswers204    Personality = "delete-answers-204"
	NewerValues         Personality = "newer-values"
	UnwrappedRecords    Personality = "unwrapped-records"
	NullURLs            Personality = "null-urls"
	FieldsAsMessage     Personality = "fields-as-message"
	AudioTypes          Personality = "audio-types"
	LengthLimits        Personality = "length-limits"
	NoChunkedUploads    Personality = "no-chunked-uploads"
)

// Personalities returns all personalities, the default first.
func Personalities() []Personality {
	return []Personality{
		DataEnvelope, BareRecords, UnwrappedRecords, FullRecords, MissingMembers, NullURLs,
		PlainPaginator, SimplePaginator, CursorPaginator, LinkHeader,
		ForeignNextLinks, PlainHTTPNextLinks, FilterlessNextLinks,
		StringIDs, UUIDs, NumericBooleans, QuotedNumbers,
		MessageOnly422, FieldsAsMessage, LoginRedirect, StoreAnswers200, DeleteAnswers204,
		AudioTypes, LengthLimits, NoChunkedUploads, NewerValues,
	}
}

func (p Personality) apply(c *config) {
	s := &c.style
	switch p {
	case DataEnvelope:
		s.BareRecords, s.BareLists, s.Flat = false, false, false
	case BareRecords:
		s.BareRecords, s.BareLists = true, true
	case UnwrappedRecords:
		s.BareRecords = true
	case FullRecords:
		s.Full = true
	case MissingMembers:
		s.Sparse = true
	case NullURLs:
		s.NullURLs = true
	case PlainPaginator:
		s.Flat = true
	case SimplePaginator:
		s.Paging = answer.Simple
	case CursorPaginator:
		s.Paging, c.service.Cursors = answer.ByCursor, true
	case LinkHeader:
		s.LinkHeader = true
	case ForeignNextLinks:
		s.Foreign = true
	case PlainHTTPNextLinks:
		s.PlainHTTP = true
	case FilterlessNextLinks:
		s.Filterless = true
	case StringIDs:
		s.StringIDs = true
	case UUIDs:
		c.service.UUIDs = true
	case NumericBooleans:
		s.NumericBooleans = true
	case QuotedNumbers:
		s.QuotedNumbers = true
	case MessageOnly422:
		s.MessageOnly = true
	case FieldsAsMessage:
		s.FieldsAsMessage = true
	case LoginRedirect:
		s.LoginRedirect = true
	case StoreAnswers200:
		s.Store200 = true
	case DeleteAnswers204:
		s.Delete204 = true
	case AudioTypes:
		c.service.AudioTypes = true
	case LengthLimits:
		c.service.LengthLimits = true
	case NoChunkedUploads:
		c.service.NoChunks = true
	case NewerValues:
		s.Newer, c.service.NewerValues = true, true
	default:
		c.err = fmt.Errorf("no personality is called %q", string(p))
	}
}
