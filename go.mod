module github.com/aicontent/aicontent-go

go 1.25
