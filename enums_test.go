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

func TestResolutionsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	checkListed(t, listed[aicontent.Resolution]{
		aicontent.Resolutions(),
		[]aicontent.Resolution{aicontent.Resolution256x256, aicontent.Resolution512x512, aicontent.Resolution1024x1024},
		aicontent.Resolution.Valid, aicontent.Resolution.Label,
		[]documented{{"256x256", "256×256"}, {"512x512", "512×512"}, {"1024x1024", "1024×1024"}},
	})
	assert.False(t, aicontent.Resolution("256X256").Valid())
	assert.False(t, aicontent.Resolution("1536x1024").Valid())
}

func TestStylesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
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
}

func TestMediumsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
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
}

func TestFiltersAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
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

// countries are the officially assigned codes of ISO 3166-1, written down by the countries' names.
var countries = map[string]string{
	"Afghanistan": "AF", "Åland Islands": "AX", "Albania": "AL", "Algeria": "DZ", "American Samoa": "AS",
	"Andorra": "AD", "Angola": "AO", "Anguilla": "AI", "Antarctica": "AQ", "Antigua and Barbuda": "AG",
	"Argentina": "AR", "Armenia": "AM", "Aruba": "AW", "Australia": "AU", "Austria": "AT", "Azerbaijan": "AZ",
	"Bahamas": "BS", "Bahrain": "BH", "Bangladesh": "BD", "Barbados": "BB", "Belarus": "BY", "Belgium": "BE",
	"Belize": "BZ", "Benin": "BJ", "Bermuda": "BM", "Bhutan": "BT", "Bolivia": "BO",
	"Bonaire, Sint Eustatius and Saba": "BQ", "Bosnia and Herzegovina": "BA", "Botswana": "BW", "Bouvet Island": "BV",
	"Brazil": "BR", "British Indian Ocean Territory": "IO", "Brunei": "BN", "Bulgaria": "BG", "Burkina Faso": "BF",
	"Burundi": "BI", "Cabo Verde": "CV", "Cambodia": "KH", "Cameroon": "CM", "Canada": "CA", "Cayman Islands": "KY",
	"Central African Republic": "CF", "Chad": "TD", "Chile": "CL", "China": "CN", "Christmas Island": "CX",
	"Cocos Islands": "CC", "Colombia": "CO", "Comoros": "KM", "Congo": "CG", "Congo, Democratic Republic": "CD",
	"Cook Islands": "CK", "Costa Rica": "CR", "Côte d'Ivoire": "CI", "Croatia": "HR", "Cuba": "CU", "Curaçao": "CW",
	"Cyprus": "CY", "Czechia": "CZ", "Denmark": "DK", "Djibouti": "DJ", "Dominica": "DM", "Dominican Republic": "DO",
	"Ecuador": "EC", "Egypt": "EG", "El Salvador": "SV", "Equatorial Guinea": "GQ", "Eritrea": "ER", "Estonia": "EE",
	"Eswatini": "SZ", "Ethiopia": "ET", "Falkland Islands": "FK", "Faroe Islands": "FO", "Fiji": "FJ",
	"Finland": "FI", "France": "FR", "French Guiana": "GF", "French Polynesia": "PF",
	"French Southern Territories": "TF", "Gabon": "GA", "Gambia": "GM", "Georgia": "GE", "Germany": "DE",
	"Ghana": "GH", "Gibraltar": "GI", "Greece": "GR", "Greenland": "GL", "Grenada": "GD", "Guadeloupe": "GP",
	"Guam": "GU", "Guatemala": "GT", "Guernsey": "GG", "Guinea": "GN", "Guinea-Bissau": "GW", "Guyana": "GY",
	"Haiti": "HT", "Heard and McDonald Islands": "HM", "Holy See": "VA", "Honduras": "HN", "Hong Kong": "HK",
	"Hungary": "HU", "Iceland": "IS", "India": "IN", "Indonesia": "ID", "Iran": "IR", "Iraq": "IQ", "Ireland": "IE",
	"Isle of Man": "IM", "Israel": "IL", "Italy": "IT", "Jamaica": "JM", "Japan": "JP", "Jersey": "JE",
	"Jordan": "JO", "Kazakhstan": "KZ", "Kenya": "KE", "Kiribati": "KI", "Korea, North": "KP", "Korea, South": "KR",
	"Kuwait": "KW", "Kyrgyzstan": "KG", "Laos": "LA", "Latvia": "LV", "Lebanon": "LB", "Lesotho": "LS",
	"Liberia": "LR", "Libya": "LY", "Liechtenstein": "LI", "Lithuania": "LT", "Luxembourg": "LU", "Macao": "MO",
	"Madagascar": "MG", "Malawi": "MW", "Malaysia": "MY", "Maldives": "MV", "Mali": "ML", "Malta": "MT",
	"Marshall Islands": "MH", "Martinique": "MQ", "Mauritania": "MR", "Mauritius": "MU", "Mayotte": "YT",
	"Mexico": "MX", "Micronesia": "FM", "Moldova": "MD", "Monaco": "MC", "Mongolia": "MN", "Montenegro": "ME",
	"Montserrat": "MS", "Morocco": "MA", "Mozambique": "MZ", "Myanmar": "MM", "Namibia": "NA", "Nauru": "NR",
	"Nepal": "NP", "Netherlands": "NL", "New Caledonia": "NC", "New Zealand": "NZ", "Nicaragua": "NI", "Niger": "NE",
	"Nigeria": "NG", "Niue": "NU", "Norfolk Island": "NF", "North Macedonia": "MK", "Northern Mariana Islands": "MP",
	"Norway": "NO", "Oman": "OM", "Pakistan": "PK", "Palau": "PW", "Palestine": "PS", "Panama": "PA",
	"Papua New Guinea": "PG", "Paraguay": "PY", "Peru": "PE", "Philippines": "PH", "Pitcairn": "PN", "Poland": "PL",
	"Portugal": "PT", "Puerto Rico": "PR", "Qatar": "QA", "Réunion": "RE", "Romania": "RO", "Russia": "RU",
	"Rwanda": "RW", "Saint Barthélemy": "BL", "Saint Helena": "SH", "Saint Kitts and Nevis": "KN",
	"Saint Lucia": "LC", "Saint Martin": "MF", "Saint Pierre and Miquelon": "PM", "Saint Vincent": "VC",
	"Samoa": "WS", "San Marino": "SM", "Sao Tome and Principe": "ST", "Saudi Arabia": "SA", "Senegal": "SN",
	"Serbia": "RS", "Seychelles": "SC", "Sierra Leone": "SL", "Singapore": "SG", "Sint Maarten": "SX",
	"Slovakia": "SK", "Slovenia": "SI", "Solomon Islands": "SB", "Somalia": "SO", "South Africa": "ZA",
	"South Georgia": "GS", "South Sudan": "SS", "Spain": "ES", "Sri Lanka": "LK", "Sudan": "SD", "Suriname": "SR",
	"Svalbard and Jan Mayen": "SJ", "Sweden": "SE", "Switzerland": "CH", "Syria": "SY", "Taiwan": "TW",
	"Tajikistan": "TJ", "Tanzania": "TZ", "Thailand": "TH", "Timor-Leste": "TL", "Togo": "TG", "Tokelau": "TK",
	"Tonga": "TO", "Trinidad and Tobago": "TT", "Tunisia": "TN", "Türkiye": "TR", "Turkmenistan": "TM",
	"Turks and Caicos Islands": "TC", "Tuvalu": "TV", "Uganda": "UG", "Ukraine": "UA", "United Arab Emirates": "AE",
	"United Kingdom": "GB", "United States": "US", "United States Minor Outlying Islands": "UM", "Uruguay": "UY",
	"Uzbekistan": "UZ", "Vanuatu": "VU", "Venezuela": "VE", "Viet Nam": "VN", "Virgin Islands, British": "VG",
	"Virgin Islands, U.S.": "VI", "Wallis and Futuna": "WF", "Western Sahara": "EH", "Yemen": "YE", "Zambia": "ZM",
	"Zimbabwe": "ZW",
}

func TestOnlyAssignedCountryCodesAreValid(t *testing.T) {
	t.Parallel()
	require.Len(t, countries, 249, "ISO 3166-1 assigns 249 codes")
	assigned := map[string]bool{}
	for name, code := range countries {
		assigned[code] = true
		assert.True(t, aicontent.CountryCode(code).Valid(), "%s (%s) could not be sent", name, code)
	}
	require.Len(t, assigned, 249, "a code stands twice in this table")
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
