package aicontent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go"
)

// documented is a value of the API's documentation with its meaning, both copied here by hand.
type documented struct{ value, label string }

// listed is one enum type with everything that the document says of it.
type listed[T any] struct {
	listing   []T
	constants []T
	valid     func(T) bool
	label     func(T) string
	want      []documented
}

func checkListed[T ~string](t *testing.T, e listed[T]) {
	t.Helper()
	require.Len(t, e.constants, len(e.want))
	require.Len(t, e.listing, len(e.want), "a menu made of the listing would lack a value")
	for i, want := range e.want {
		assert.Equal(t, want.value, string(e.constants[i]), "the constant sends another value")
		assert.Equal(t, want.value, string(e.listing[i]), "the listing is in another order than the document")
		assert.True(t, e.valid(T(want.value)), want.value)
		assert.Equal(t, want.label, e.label(T(want.value)))
		assert.False(t, e.valid(T(strings.ToUpper(want.value)+" ")),
			"a value with a space would be ignored by the service")
	}
	assert.False(t, e.valid(""), "not set is not a documented value")
	assert.False(t, e.valid("nonsense"))
	assert.Equal(t, "nonsense", e.label("nonsense"), "a newer deployment's value has no label but itself")
}

func TestValuesOfImagesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	checkListed(t, listed[aicontent.Resolution]{
		aicontent.Resolutions(),
		[]aicontent.Resolution{aicontent.Resolution256x256, aicontent.Resolution512x512, aicontent.Resolution1024x1024},
		aicontent.Resolution.Valid, aicontent.Resolution.Label,
		[]documented{{"256x256", "256×256"}, {"512x512", "512×512"}, {"1024x1024", "1024×1024"}},
	})
	assert.False(t, aicontent.Resolution("256X256").Valid())
	assert.False(t, aicontent.Resolution("1536x1024").Valid())
	checkListed(t, listed[aicontent.Style]{
		aicontent.Styles(),
		[]aicontent.Style{
			aicontent.Style3DRender, aicontent.StyleAbstract, aicontent.StyleAnime, aicontent.StyleArtDeco,
			aicontent.StyleCartoon, aicontent.StyleDigitalArt, aicontent.StyleIllustration, aicontent.StyleOrigami,
			aicontent.StylePixelArt, aicontent.StylePhotography, aicontent.StylePopArt, aicontent.StyleRetro,
			aicontent.StyleSketch, aicontent.StyleVaporwave,
		},
		aicontent.Style.Valid, aicontent.Style.Label,
		[]documented{
			{"3d_render", "3D render"}, {"abstract", "Abstract"}, {"anime", "Anime"}, {"art_deco", "Art deco"},
			{"cartoon", "Cartoon"}, {"digital_art", "Digital art"}, {"illustration", "Illustration"},
			{"origami", "Origami"}, {"pixel_art", "Pixel art"}, {"photography", "Photography"},
			{"pop_art", "Pop art"}, {"retro", "Retro"}, {"sketch", "Sketch"}, {"vaporwave", "Vaporwave"},
		},
	})
	checkListed(t, listed[aicontent.Medium]{
		aicontent.Mediums(),
		[]aicontent.Medium{
			aicontent.MediumAcrylic, aicontent.MediumCanvas, aicontent.MediumChalk, aicontent.MediumCharcoal,
			aicontent.MediumCrayon, aicontent.MediumGlass, aicontent.MediumInk, aicontent.MediumPastel,
			aicontent.MediumPencil, aicontent.MediumSprayPaint, aicontent.MediumWatercolor,
		},
		aicontent.Medium.Valid, aicontent.Medium.Label,
		[]documented{
			{"acrylic", "Acrylic"}, {"canvas", "Canvas"}, {"chalk", "Chalk"}, {"charcoal", "Charcoal"},
			{"crayon", "Crayon"}, {"glass", "Glass"}, {"ink", "Ink"}, {"pastel", "Pastel"},
			{"pencil", "Pencil"}, {"spray_paint", "Spray paint"}, {"watercolor", "Watercolor"},
		},
	})
	checkListed(t, listed[aicontent.Filter]{
		aicontent.Filters(),
		[]aicontent.Filter{aicontent.FilterGrayscale, aicontent.FilterSepia, aicontent.FilterInvert},
		aicontent.Filter.Valid, aicontent.Filter.Label,
		[]documented{{"grayscale", "Black and white"}, {"sepia", "Sepia"}, {"invert", "Invert"}},
	})
}

// value is a value of a parameter of lists.
type value interface {
	comparable
	Valid() bool
}

func checkValues[T value](t *testing.T, values map[T]T, refused ...T) {
	t.Helper()
	for want, constant := range values {
		assert.Equal(t, want, constant)
		assert.True(t, constant.Valid(), "%v", constant)
	}
	var unset T
	for _, bad := range append(refused, unset) {
		assert.False(t, bad.Valid(), "%v", bad)
	}
}

func TestListParametersTakeOnlyDocumentedValues(t *testing.T) {
	t.Parallel()
	// Only transcriptions are searched by result.
	checkValues(t, map[aicontent.ImageSearchBy]aicontent.ImageSearchBy{"name": aicontent.ImageSearchByName}, "result")
	checkValues(t, map[aicontent.TranscriptionSearchBy]aicontent.TranscriptionSearchBy{
		"name": aicontent.TranscriptionSearchByName, "result": aicontent.TranscriptionSearchByResult,
	}, "description")
	checkValues(t, map[aicontent.SortBy]aicontent.SortBy{
		"id": aicontent.SortByID, "name": aicontent.SortByName,
	}, "created_at")
	checkValues(t, map[aicontent.Sort]aicontent.Sort{"desc": aicontent.SortDesc, "asc": aicontent.SortAsc}, "DESC")
	// The service would replace another size by its default in silence.
	checkValues(t, map[aicontent.PerPage]aicontent.PerPage{
		10: aicontent.PerPage10, 25: aicontent.PerPage25, 50: aicontent.PerPage50, 100: aicontent.PerPage100,
	}, -10, 0, 1, 7, 20, 99, 101, 1000)
	assert.Equal(t, "Date created", aicontent.SortByID.Label(), "the document says that id is the date of creation")
	assert.Equal(t, "Name", aicontent.SortByName.Label())
	assert.Equal(t, "Descending", aicontent.SortDesc.Label())
	assert.Equal(t, "Ascending", aicontent.SortAsc.Label())
}

// A caller who sorts or cuts a listing must not change what is valid for everybody else.
func TestListingsAreCopies(t *testing.T) {
	t.Parallel()
	list := aicontent.Styles()
	list[0] = "overwritten"
	assert.Equal(t, aicontent.Style3DRender, aicontent.Styles()[0])
	assert.True(t, aicontent.Style3DRender.Valid())
	assert.False(t, aicontent.Style("overwritten").Valid())
}

// countries are the officially assigned codes of ISO 3166-1 alpha-2, copied by hand.
const countries = "" +
	"AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO " +
	"FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE " +
	"JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO " +
	"MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW " +
	"PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM " +
	"TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"

func TestOnlyAssignedCountryCodesAreValid(t *testing.T) {
	t.Parallel()
	assigned := map[string]bool{}
	for code := range strings.FieldsSeq(countries) {
		assigned[code] = true
	}
	require.Len(t, assigned, 249, "ISO 3166-1 assigns 249 codes")
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, a := range letters {
		for _, b := range letters {
			code := string(a) + string(b)
			assert.Equal(t, assigned[code], aicontent.CountryCode(code).Valid(), code)
			assert.False(t, aicontent.CountryCode(strings.ToLower(code)).Valid(), "the standard has upper case only")
		}
	}
	for _, code := range []aicontent.CountryCode{
		"", " ", "U", "USA", "Us", "US ", " U", "D ", "E A", "AD AE", "D\n", "US\n", "ÄÖ", "en-US", "pt_br", "english",
	} {
		assert.False(t, code.Valid(), "%q", code)
	}
}
