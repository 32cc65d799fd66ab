// Package golist asks the go command about packages.
package golist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
)

// Package is what go list says about a package.
type Package struct {
	ImportPath string
	Dir        string
	Export     string // file of export data, with the flag -export
	GoFiles    []string
	Imports    []string
	DepOnly    bool // is no package that was asked for, with the flag -deps
	Standard   bool
}

// Run returns the packages that go list prints in dir with the arguments.
func Run(dir string, args ...string) ([]Package, error) {
	args = append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,Imports,DepOnly,Standard"}, args...)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	var packages []Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// Importer imports the packages from their export data. They must have been listed with -export and -deps.
func Importer(fset *token.FileSet, packages []Package) types.Importer {
	files := map[string]string{}
	for _, p := range packages {
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}
