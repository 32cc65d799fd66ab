package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"

	"github.com/aicontent/aicontent-go/tools/internal/golist"
)

// Package is a package whose files are mutated.
type Package struct {
	path  string // of imports
	dir   string // relative to the module, with slashes: "." for the root
	files []*sourceFile

	fset     *token.FileSet
	info     *types.Info
	importer types.Importer
}

type sourceFile struct {
	path   string // relative to the module, with slashes
	abs    string
	text   []byte
	syntax *ast.File
}

// line returns the line around an offset.
func (f *sourceFile) line(offset int) string {
	start := bytes.LastIndexByte(f.text[:offset], '\n') + 1
	line, _, _ := bytes.Cut(f.text[start:], []byte("\n"))
	return string(line)
}

// load reads the packages that match the patterns, without their tests, and checks their types.
func load(root string, patterns []string) ([]*Package, error) {
	all, err := golist.Run(root, append([]string{"-export", "-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []*Package
	for _, listed := range all {
		if listed.DepOnly {
			continue
		}
		p := &Package{path: listed.ImportPath, fset: token.NewFileSet()}
		p.importer = golist.Importer(p.fset, all)
		for _, name := range listed.GoFiles {
			abs := filepath.Join(listed.Dir, name)
			relative, err := filepath.Rel(root, abs)
			if err != nil {
				return nil, err
			}
			f := &sourceFile{path: filepath.ToSlash(relative), abs: abs}
			if f.text, err = os.ReadFile(abs); err != nil {
				return nil, err
			}
			if f.syntax, err = parser.ParseFile(p.fset, abs, f.text, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			p.dir = filepath.ToSlash(filepath.Dir(relative))
			p.files = append(p.files, f)
		}
		packages = append(packages, p)
	}
	for _, p := range packages {
		p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		if err := p.check(nil, nil, p.info); err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
	}
	return packages, nil
}

// check type-checks the package with one of its files replaced.
func (p *Package) check(replaced *sourceFile, by *ast.File, info *types.Info) error {
	files := make([]*ast.File, len(p.files))
	for i, f := range p.files {
		if files[i] = f.syntax; f == replaced {
			files[i] = by
		}
	}
	config := types.Config{Importer: p.importer}
	_, err := config.Check(p.path, p.fset, files, info)
	return err
}

// compiles reports whether the package compiles with the mutant.
func (j *job) compiles() bool {
	syntax, err := parser.ParseFile(j.pkg.fset, j.file.abs, j.solo(), parser.SkipObjectResolution)
	return err == nil && j.pkg.check(j.file, syntax, nil) == nil
}

func (p *Package) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }
