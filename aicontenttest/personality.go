package aicontenttest

import "fmt"

// A Personality is one way in which deployments of the service differ. It is an [Option], and
// several can be given as long as they speak of different things.
type Personality string

// The personalities, each seen on a deployment but for LinkHeader. The package doc has the table.
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
)

// Personalities lists them all, the default first.
func Personalities() []Personality {
	return []Personality{
		DataEnvelope, BareRecords, FullRecords, MissingMembers,
		PlainPaginator, SimplePaginator, CursorPaginator, LinkHeader,
		ForeignNextLinks, PlainHTTPNextLinks, FilterlessNextLinks,
		StringIDs, UUIDs, NumericBooleans, QuotedNumbers,
		MessageOnly422, LoginRedirect, StoreAnswers200, DeleteAnswers204, NewerValues,
	}
}

// counting says how a paginator knows where the next page is.
type counting int

const (
	counted counting = iota // by number, with the total
	simple                  // by number, without
	byCursor
)

// shape is what the personalities add up to.
type shape struct {
	json     jsonWriter
	counting counting

	bare, full, sparse  bool // records
	flat, linkHeader    bool // lists
	foreign, plainHTTP  bool // next links
	filterless          bool
	stringIDs, uuids    bool
	messageOnly         bool
	loginRedirect       bool
	store200, delete204 bool
	newer               bool
}

func (p Personality) apply(c *config) {
	s := &c.shape
	switch p {
	case DataEnvelope:
		s.bare, s.flat = false, false
	case BareRecords:
		s.bare = true
	case FullRecords:
		s.full = true
	case MissingMembers:
		s.sparse = true
	case PlainPaginator:
		s.flat = true
	case SimplePaginator:
		s.counting = simple
	case CursorPaginator:
		s.counting = byCursor
	case LinkHeader:
		s.linkHeader = true
	case ForeignNextLinks:
		s.foreign = true
	case PlainHTTPNextLinks:
		s.plainHTTP = true
	case FilterlessNextLinks:
		s.filterless = true
	case StringIDs:
		s.stringIDs = true
	case UUIDs:
		s.uuids = true
	case NumericBooleans:
		s.json.numericBooleans = true
	case QuotedNumbers:
		s.json.quotedNumbers = true
	case MessageOnly422:
		s.messageOnly = true
	case LoginRedirect:
		s.loginRedirect = true
	case StoreAnswers200:
		s.store200 = true
	case DeleteAnswers204:
		s.delete204 = true
	case NewerValues:
		s.newer = true
	default:
		c.err = fmt.Errorf("no personality is called %q", string(p))
	}
}
