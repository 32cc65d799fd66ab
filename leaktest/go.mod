module github.com/aicontent/aicontent-go/leaktest

go 1.26

require (
	github.com/aicontent/aicontent-go v0.0.0
	go.uber.org/goleak v1.3.0
)

require github.com/google/go-querystring v1.2.0 // indirect

replace github.com/aicontent/aicontent-go => ../
