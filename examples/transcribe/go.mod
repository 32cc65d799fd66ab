module github.com/aicontent/aicontent-go/examples/transcribe

go 1.26

require (
	github.com/aicontent/aicontent-go v0.0.0
	github.com/google/renameio/v2 v2.0.2
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/go-querystring v1.2.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/aicontent/aicontent-go => ../..
