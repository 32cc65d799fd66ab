module github.com/aicontent/aicontent-go

go 1.26

require (
	github.com/google/go-querystring v1.2.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
