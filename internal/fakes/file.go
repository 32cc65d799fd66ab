package fakes

import "io/fs"

// FS is a file system in a function.
type FS func(name string) (fs.File, error)

// Open calls the function.
func (f FS) Open(name string) (fs.File, error) { return f(name) }
