package fakes

import "io/fs"

// FS opens files as the function does.
type FS func(name string) (fs.File, error)

// Open calls the function.
func (f FS) Open(name string) (fs.File, error) { return f(name) }
