package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aicontent/aicontent-go/bench/clients"
	"github.com/aicontent/aicontent-go/bench/service"
)

func BenchmarkStub(b *testing.B) {
	for _, op := range []string{"show", "list"} {
		for _, sdk := range clients.All() {
			b.Run(op+"/"+sdk.Name, func(b *testing.B) {
				c, err := sdk.New(clients.Settings{URL: "http://127.0.0.1:1", Transport: newStub(sdk.Wire)})
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					if op == "show" {
						require.NoError(b, c.Show(b.Context()))
						continue
					}
					n, err := c.List(b.Context())
					if err != nil || n != service.PageSize {
						b.Fatal(n, err)
					}
				}
			})
		}
	}
}
