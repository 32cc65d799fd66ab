package aicontent

import (
	"cmp"
	"slices"
	"strings"
)

// Resolution is the size of an image in pixels. The zero value is "not set".
type Resolution string

// The documented resolutions.
const (
	Resolution256x256   Resolution = "256x256"
	Resolution512x512   Resolution = "512x512"
	Resolution1024x1024 Resolution = "1024x1024"
)

// Style is the artistic style of an image. The zero value is "not set".
type Style string

// The documented styles.
const (
	Style3DRender     Style = "3d_render"
	StyleAbstract     Style = "abstract"
	StyleAnime        Style = "anime"
	StyleArtDeco      Style = "art_deco"
	StyleCartoon      Style = "cartoon"
	StyleDigitalArt   Style = "digital_art"
	StyleIllustration Style = "illustration"
	StyleOrigami      Style = "origami"
	StylePixelArt     Style = "pixel_art"
	StylePhotography  Style = "photography"
	StylePopArt       Style = "pop_art"
	StyleRetro        Style = "retro"
	StyleSketch       Style = "sketch"
	StyleVaporwave    Style = "vaporwave"
)

// Medium is the material that an image appears to be made of. The zero value is "not set".
type Medium string

// The documented mediums.
const (
	MediumAcrylic    Medium = "acrylic"
	MediumCanvas     Medium = "canvas"
	MediumChalk      Medium = "chalk"
	MediumCharcoal   Medium = "charcoal"
	MediumCrayon     Medium = "crayon"
	MediumGlass      Medium = "glass"
	MediumInk        Medium = "ink"
	MediumPastel     Medium = "pastel"
	MediumPencil     Medium = "pencil"
	MediumSprayPaint Medium = "spray_paint"
	MediumWatercolor Medium = "watercolor"
)

// Filter is applied to the colors of a finished image. The zero value is "not set".
type Filter string

// The documented filters.
const (
	FilterGrayscale Filter = "grayscale"
	FilterSepia     Filter = "sepia"
	FilterInvert    Filter = "invert"
)

// ImageSearchBy is the field that a search looks at. Zero is the service's default: the name.
type ImageSearchBy string

// ImageSearchByName is the only field by which images can be searched.
const ImageSearchByName ImageSearchBy = "name"

// TranscriptionSearchBy is the field that a search looks at. Zero is the service's default: the name.
type TranscriptionSearchBy string

// The documented search fields of transcriptions.
const (
	TranscriptionSearchByName   TranscriptionSearchBy = "name"
	TranscriptionSearchByResult TranscriptionSearchBy = "result"
)

// SortBy is the order of a list. Zero is the service's default: by ID.
type SortBy string

// The documented orders.
const (
	SortByID   SortBy = "id"
	SortByName SortBy = "name"
)

// Sort is the direction of a list. Zero is the service's default: descending.
type Sort string

// The documented directions.
const (
	SortDesc Sort = "desc"
	SortAsc  Sort = "asc"
)

// PerPage is the number of records on a page. Zero is the service's default: 10, or more with some services.
type PerPage int

// The documented page sizes.
const (
	PerPage10  PerPage = 10
	PerPage25  PerPage = 25
	PerPage50  PerPage = 50
	PerPage100 PerPage = 100
)

// CountryCode is an ISO 3166-1 alpha-2 code in upper case, such as "US". The API uses it for the language of an audio
// file. The zero value is "not set".
type CountryCode string

// documented has the values of all types but CountryCode, those of a type in the order of the API's documentation.
var documented = []any{
	Resolution256x256, Resolution512x512, Resolution1024x1024,
	Style3DRender, StyleAbstract, StyleAnime, StyleArtDeco, StyleCartoon, StyleDigitalArt, StyleIllustration,
	StyleOrigami, StylePixelArt, StylePhotography, StylePopArt, StyleRetro, StyleSketch, StyleVaporwave,
	MediumAcrylic, MediumCanvas, MediumChalk, MediumCharcoal, MediumCrayon, MediumGlass,
	MediumInk, MediumPastel, MediumPencil, MediumSprayPaint, MediumWatercolor,
	FilterGrayscale, FilterSepia, FilterInvert,
	ImageSearchByName,
	TranscriptionSearchByName, TranscriptionSearchByResult,
	SortByID, SortByName,
	SortDesc, SortAsc,
	PerPage10, PerPage25, PerPage50, PerPage100,
}

// labels are the documented meanings that are more than the value's own words.
var labels = map[string]string{
	"256x256": "256×256", "512x512": "512×512", "1024x1024": "1024×1024",
	"3d_render": "3D render", "grayscale": "Black and white",
	"id": "Date created", "desc": "Descending", "asc": "Ascending",
}

// countryCodes are the officially assigned alpha-2 codes of ISO 3166-1.
const countryCodes = `
	AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA
	CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA
	GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
	KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS
	MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS
	RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW
	TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
`

// Resolutions returns the resolutions in the order of the API's documentation.
func Resolutions() []Resolution { return values[Resolution]() }

// Styles returns the styles in the order of the API's documentation.
func Styles() []Style { return values[Style]() }

// Mediums returns the mediums in the order of the API's documentation.
func Mediums() []Medium { return values[Medium]() }

// Filters returns the filters in the order of the API's documentation.
func Filters() []Filter { return values[Filter]() }

// Valid reports whether the value is documented. The zero value is not valid.
func (r Resolution) Valid() bool { return isDocumented(r) }

// Label returns the documented meaning, or an undocumented value as it is.
func (r Resolution) Label() string { return label(r) }

// Valid reports whether the value is documented. The zero value is not valid.
func (s Style) Valid() bool { return isDocumented(s) }

// Label returns the documented meaning, or an undocumented value as it is.
func (s Style) Label() string { return label(s) }

// Valid reports whether the value is documented. The zero value is not valid.
func (m Medium) Valid() bool { return isDocumented(m) }

// Label returns the documented meaning, or an undocumented value as it is.
func (m Medium) Label() string { return label(m) }

// Valid reports whether the value is documented. The zero value is not valid.
func (f Filter) Valid() bool { return isDocumented(f) }

// Label returns the documented meaning, or an undocumented value as it is.
func (f Filter) Label() string { return label(f) }

// Valid reports whether the value is documented. The zero value is not valid.
func (s ImageSearchBy) Valid() bool { return isDocumented(s) }

// Valid reports whether the value is documented. The zero value is not valid.
func (s TranscriptionSearchBy) Valid() bool { return isDocumented(s) }

// Valid reports whether the value is documented. The zero value is not valid.
func (s SortBy) Valid() bool { return isDocumented(s) }

// Label returns the documented meaning, or an undocumented value as it is.
func (s SortBy) Label() string { return label(s) }

// Valid reports whether the value is documented. The zero value is not valid.
func (s Sort) Valid() bool { return isDocumented(s) }

// Label returns the documented meaning, or an undocumented value as it is.
func (s Sort) Label() string { return label(s) }

// Valid reports whether the value is documented. The zero value is not valid.
func (p PerPage) Valid() bool { return isDocumented(p) }

// Valid reports whether c is one of the 249 assigned codes, in upper case.
func (c CountryCode) Valid() bool {
	return slices.Contains(strings.Fields(countryCodes), string(c))
}

func isDocumented(value any) bool { return slices.Contains(documented, value) }

// values returns the documented values of a type.
func values[T any]() (list []T) {
	for _, value := range documented {
		if v, ok := value.(T); ok {
			list = append(list, v)
		}
	}
	return list
}

func label[T ~string](value T) string {
	text := string(value)
	if !isDocumented(value) {
		return text
	}
	return cmp.Or(labels[text], strings.ToUpper(text[:1])+strings.ReplaceAll(text[1:], "_", " "))
}
