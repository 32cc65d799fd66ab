module github.com/aicontent/aicontent-go/examples/gallery

go 1.26.0

replace github.com/aicontent/aicontent-go => ../..

require (
	github.com/aicontent/aicontent-go v0.0.0-00010101000000-000000000000
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/dustin/go-humanize v1.0.1
	github.com/stretchr/testify v1.12.1
	golang.org/x/sync v0.24.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/google/go-querystring v1.2.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
