// Package fakes provides the transports, servers, proxy and certificates that several packages share in their tests,
// and [AssertNoKey]. Only tests import it. Of this module it imports only package names, which imports no other
// package, so that the tests of every package can import it.
package fakes

import (
	"context"
	"iter"
)

// Service is the part of a client's service that [Calls] needs.
type Service[Record, Page any, ID ~string, List, Store, Update, Option any] interface {
	List(context.Context, List, ...Option) (*Page, error)
	All(context.Context, List, ...Option) iter.Seq2[*Record, error]
	Show(context.Context, ID, ...Option) (*Record, error)
	Store(context.Context, Store, ...Option) (*Record, error)
	Update(context.Context, ID, Update, ...Option) (*Record, error)
	Delete(context.Context, ID, ...Option) error
}

// Calls returns the five operations and the iterator of a service by name, such as "images.store". They use the record
// with the ID 7.
func Calls[Record, Page any, ID ~string, List, Store, Update, Option any](
	name string, s Service[Record, Page, ID, List, Store, Update, Option], store Store, update Update,
) map[string]func(context.Context, ...Option) error {
	var all List
	return map[string]func(context.Context, ...Option) error{
		name + ".list": func(ctx context.Context, o ...Option) error {
			_, err := s.List(ctx, all, o...)
			return err
		},
		name + ".all": func(ctx context.Context, o ...Option) (err error) {
			for _, err = range s.All(ctx, all, o...) {
			}
			return err
		},
		name + ".show": func(ctx context.Context, o ...Option) error {
			_, err := s.Show(ctx, "7", o...)
			return err
		},
		name + ".store": func(ctx context.Context, o ...Option) error {
			_, err := s.Store(ctx, store, o...)
			return err
		},
		name + ".update": func(ctx context.Context, o ...Option) error {
			_, err := s.Update(ctx, "7", update, o...)
			return err
		},
		name + ".delete": func(ctx context.Context, o ...Option) error { return s.Delete(ctx, "7", o...) },
	}
}
