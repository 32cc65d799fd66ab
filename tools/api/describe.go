package main

import (
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// describe writes the exported declarations of a package as Go source, in the order of their names.
func describe(p *types.Package) (string, error) {
	d := describer{pkg: p, imports: map[string]bool{}}
	for _, name := range p.Scope().Names() {
		if obj := p.Scope().Lookup(name); obj.Exported() {
			d.object(obj)
		}
	}
	var head strings.Builder
	fmt.Fprintf(&head, "package %s\n\nimport (\n", p.Name())
	for _, path := range slices.Sorted(maps.Keys(d.imports)) {
		fmt.Fprintf(&head, "\t%q\n", path)
	}
	head.WriteString(")\n\n")
	text, err := format.Source([]byte(head.String() + d.out.String()))
	return string(text), err
}

type describer struct {
	pkg     *types.Package
	imports map[string]bool
	out     strings.Builder
}

// resultName is what the compiler calls a result that has no name.
var resultName = regexp.MustCompile(`#rv\d+ `)

// typeText is a type as this package's source writes it.
func (d *describer) typeText(t types.Type) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == d.pkg {
			return ""
		}
		d.imports[p.Path()] = true
		return p.Name()
	})
	return resultName.ReplaceAllString(text, "")
}

func (d *describer) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		typed := ""
		if b, ok := obj.Type().(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
			typed = d.typeText(obj.Type())
		}
		fmt.Fprintf(&d.out, "const %s %s = %s\n", obj.Name(), typed, obj.Val().ExactString())
	case *types.Var:
		fmt.Fprintf(&d.out, "var %s %s\n", obj.Name(), d.typeText(obj.Type()))
	case *types.Func:
		d.function("", obj)
	case *types.TypeName:
		if obj.IsAlias() {
			fmt.Fprintf(&d.out, "type %s = %s\n", obj.Name(), d.typeText(types.Unalias(obj.Type())))
			return
		}
		named := obj.Type().(*types.Named)
		fmt.Fprintf(&d.out, "\ntype %s %s\n", d.typeText(named), d.underlying(named.Underlying()))
		methods := slices.SortedFunc(named.Methods(), func(a, b *types.Func) int { return strings.Compare(a.Name(), b.Name()) })
		for _, m := range methods {
			if m.Exported() {
				d.function("("+d.typeText(m.Signature().Recv().Type())+") ", m)
			}
		}
		d.out.WriteString("\n")
	}
}

func (d *describer) function(receiver string, f *types.Func) {
	body := ""
	if f.Signature().TypeParams() != nil || f.Signature().RecvTypeParams() != nil {
		body = ` { panic("") }` // the type checker wants one of generic functions
	}
	fmt.Fprintf(&d.out, "func %s%s%s%s\n", receiver, f.Name(), strings.TrimPrefix(d.typeText(f.Signature()), "func"), body)
}

// underlying is a type's text without what other packages cannot see. One unexported field stands for all, and
// an unexported method has no parameters.
func (d *describer) underlying(t types.Type) string {
	var b strings.Builder
	switch t := t.(type) {
	case *types.Struct:
		b.WriteString("struct {\n")
		hidden := ""
		for i := range t.NumFields() {
			f := t.Field(i)
			switch {
			case !f.Exported() && types.Comparable(t):
				hidden = "_ struct{}\n"
			case !f.Exported():
				hidden = "_ func() // not comparable\n"
			case f.Embedded():
				fmt.Fprintf(&b, "%s\n", d.typeText(f.Type()))
			default:
				fmt.Fprintf(&b, "%s %s\n", f.Name(), d.typeText(f.Type()))
			}
		}
		b.WriteString(hidden + "}")
	case *types.Interface:
		if !t.IsMethodSet() {
			return d.typeText(t)
		}
		b.WriteString("interface {\n")
		for m := range t.Methods() {
			if m.Exported() {
				fmt.Fprintf(&b, "%s%s\n", m.Name(), strings.TrimPrefix(d.typeText(m.Signature()), "func"))
			} else {
				fmt.Fprintf(&b, "%s()\n", m.Name())
			}
		}
		b.WriteString("}")
	default:
		return d.typeText(t)
	}
	return b.String()
}
