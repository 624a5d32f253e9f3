package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A schema is a JSON Schema.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Description string             `json:"description,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        string             `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Additional  *schema            `json:"additionalProperties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Defs        map[string]*schema `json:"$defs,omitempty"`
}

// A source has the packages that define the types.
type source struct {
	files    *token.FileSet
	packages map[string]*packages.Package
	comments map[token.Pos]string // of types and fields, by the position of their names
	defs     map[string]*schema   // of the schema that is being built
	defined  map[string]*types.Named
}

// load loads the packages that define the types of all outputs.
func load(outputs []output) (*source, error) {
	const mode = packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo
	config := &packages.Config{Mode: mode, Dir: "..", Fset: token.NewFileSet()}
	all, err := packages.Load(config, "./pkg/...", "./internal/...", "./cmd/opm")
	if err != nil {
		return nil, err
	}
	s := &source{files: config.Fset, packages: map[string]*packages.Package{}, comments: map[token.Pos]string{}}
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		s.packages[p.PkgPath] = p
		for _, file := range p.Syntax {
			ast.Inspect(file, s.note)
		}
	}
	for _, o := range outputs {
		if p := s.packages[o.pkg]; p == nil || p.Types.Scope().Lookup(o.typ) == nil {
			return nil, fmt.Errorf("%s: no type %s in %s", o.name, o.typ, o.pkg)
		}
	}
	return s, nil
}

// note records the comments of types and fields.
func (s *source) note(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		if spec, ok := n.Specs[0].(*ast.TypeSpec); ok && n.Doc != nil {
			s.comments[spec.Name.Pos()] = plain(n.Doc)
		}
	case *ast.Field:
		for _, name := range n.Names {
			s.comments[name.Pos()] = cmp.Or(plain(n.Doc), plain(n.Comment))
		}
	}
	return true
}

var link = regexp.MustCompile(`\[([\w.]+)\]`)

// plain returns a comment as one line, without links.
func plain(c *ast.CommentGroup) string {
	return link.ReplaceAllString(strings.Join(strings.Fields(c.Text()), " "), "$1")
}

func (s *source) document(o output) (*schema, error) {
	s.defs, s.defined = map[string]*schema{}, map[string]*types.Named{}
	named, ok := s.packages[o.pkg].Types.Scope().Lookup(o.typ).Type().(*types.Named)
	if !ok {
		return nil, fmt.Errorf("%s is not a type of its own", o.typ)
	}
	top, err := s.of(named)
	if err != nil {
		return nil, err
	}
	if o.list {
		top = &schema{Type: "array", Items: top}
	} else {
		name := named.Obj().Name()
		top = s.defs[name]
		delete(s.defs, name)
	}
	top.Schema = "https://json-schema.org/draft/2020-12/schema"
	top.ID = address + o.name + version
	top.Defs = s.defs
	return top, nil
}

// of returns the schema of a type.
func (s *source) of(t types.Type) (*schema, error) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return s.named(t)
	case *types.Pointer:
		return s.of(t.Elem())
	case *types.Slice:
		return list(s.of(t.Elem()))
	case *types.Map:
		elem, err := s.of(t.Elem())
		return &schema{Type: "object", Additional: elem}, err
	case *types.Basic:
		switch info := t.Info(); {
		case info&types.IsString != 0:
			return &schema{Type: "string"}, nil
		case info&types.IsInteger != 0:
			return &schema{Type: "integer"}, nil
		case info&types.IsBoolean != 0:
			return &schema{Type: "boolean"}, nil
		}
	}
	return nil, fmt.Errorf("no schema for %s", t)
}

func list(elem *schema, err error) (*schema, error) {
	return &schema{Type: "array", Items: elem}, err
}

// named returns the schema of a named type: a reference for a struct, an enum for a string, a list for an iterator.
func (s *source) named(t *types.Named) (*schema, error) {
	switch under := t.Underlying().(type) {
	case *types.Signature: // func(yield func(T) bool)
		if yield, ok := under.Params().At(0).Type().Underlying().(*types.Signature); ok {
			return list(s.of(yield.Params().At(0).Type()))
		}
	case *types.Slice:
		if t.Obj().Name() == "Value" && t.Obj().Pkg().Name() == "jsontext" {
			return &schema{}, nil // anything
		}
	case *types.Struct:
		name := t.Obj().Name()
		if other := s.defined[name]; other != nil && other != t {
			name = t.Obj().Pkg().Name() + "." + name
		}
		if _, known := s.defs[name]; !known {
			s.defined[name] = t
			def := &schema{Type: "object", Description: s.comments[t.Obj().Pos()], Properties: map[string]*schema{}}
			s.defs[name] = def
			if err := s.fields(def, under); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			slices.Sort(def.Required)
		}
		return &schema{Ref: "#/$defs/" + name}, nil
	case *types.Basic:
		of, err := s.of(under)
		if err == nil && of.Type == "string" {
			of.Enum = s.values(t)
		}
		return of, err
	}
	return nil, fmt.Errorf("no schema for %s", t)
}

// fields adds the fields of a struct, and of the structs that it embeds.
func (s *source) fields(def *schema, of *types.Struct) error {
	for i := range of.NumFields() {
		field := of.Field(i)
		key, options, _ := strings.Cut(reflect.StructTag(of.Tag(i)).Get("json"), ",")
		if key == "-" {
			continue
		}
		value, err := s.field(def, field, options)
		if err != nil {
			return fmt.Errorf("%s: %w", field.Name(), err)
		}
		if value == nil || key == "" {
			continue
		}
		value.Description = s.comments[field.Pos()]
		def.Properties[key] = value
		if !strings.Contains(options, "omit") {
			def.Required = append(def.Required, key)
		}
	}
	return nil
}

// field returns the schema of a field. It is nil if the field has no key: it is not exported, or its keys go to def.
func (s *source) field(def *schema, field *types.Var, options string) (*schema, error) {
	under := field.Type().Underlying()
	switch m, isMap := under.(*types.Map); {
	case field.Embedded():
		return nil, s.fields(def, under.(*types.Struct))
	case !field.Exported():
		return nil, nil
	case isMap && options == "embed":
		elem, err := s.of(m.Elem())
		def.Additional = elem
		return nil, err
	}
	return s.of(field.Type())
}

// values returns the constants of a type, file by file in their order; nil if it has none.
func (s *source) values(t *types.Named) []string {
	var all []*types.Const
	scope := t.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), t) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *types.Const) int {
		p, q := s.files.Position(a.Pos()), s.files.Position(b.Pos())
		return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Offset, q.Offset))
	})
	var texts []string
	for _, c := range all {
		texts = append(texts, constant.StringVal(c.Val()))
	}
	return texts
}
