module github.com/aicontent/aicontent-go/examples/transcribe

go 1.26.0

require (
	github.com/aicontent/aicontent-go v0.0.0
	github.com/creack/pty v1.1.24
	github.com/stretchr/testify v1.12.1
	github.com/vbauerster/cupwriter v0.0.5
	github.com/vbauerster/mpb/v8 v8.16.2
	golang.org/x/sync v0.13.0
)

require (
	github.com/VividCortex/ewma v1.2.0 // indirect
	github.com/acarl005/stripansi v0.0.0-20180116102854-5a71ef0e047d // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/mattn/go-runewidth v0.0.30 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/aicontent/aicontent-go => ../..
