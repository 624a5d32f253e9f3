package schemas

import (
	"cmp"
	"strconv"
	"strings"
	"sync"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"github.com/go-json-experiment/json/jsontext"
)

// A ruleTable has the attributes of the CUE files that name rules of package validate:
//
//	#Bundle: {
//		image!: string & !="" @rule(bundle-image)
//
// The rule is about the values of the field. That of a definition is about all values in it, and that of a list with
// the word elements is about its elements, unless they have a definition of their own:
//
//	#PropertyConstraint: {…} @rule(constraint)
//	skips?: [...string & !=""] @rule(empty-skip,elements)
type ruleTable struct {
	rules map[string]string // by definition or field, such as #Bundle or #Bundle/image; * stands for an element
	refs  map[string]string // fields that have a definition as their value, such as #Package/icon
}

const ruleAttribute = "rule"

// ruleNames returns the table of all definitions of the format.
var ruleNames = sync.OnceValue(func() ruleTable {
	t := ruleTable{rules: map[string]string{}, refs: map[string]string{}}
	for _, name := range names {
		file, err := parser.ParseFile(name, read(name+".cue"))
		if err != nil {
			panic(err) // cannot happen: the files are part of this package
		}
		t.add("", file.Decls)
	}
	return t
})

// add adds the fields of an object.
func (t ruleTable) add(object string, fields []ast.Decl) {
	for _, d := range fields {
		switch d := d.(type) {
		case *ast.Comprehension:
			if s, ok := d.Value.(*ast.StructLit); ok {
				t.add(object, s.Elts)
			}
		case *ast.Field:
			name, _, _ := ast.LabelName(d.Label)
			at := strings.TrimPrefix(object+"/"+name, "/")
			for _, a := range d.Attrs {
				key, rule := a.Split()
				if of, ok := strings.CutSuffix(rule, ",elements"); ok && key == ruleAttribute {
					t.rules[at+"/*"] = of
				} else if key == ruleAttribute {
					t.rules[at] = rule
				}
			}
			switch value := d.Value.(type) {
			case *ast.StructLit:
				t.add(at, value.Elts)
			case *ast.Ident:
				t.refs[at] = value.Name
			}
		}
	}
}

// of returns the name of the rule about a value in a definition, or "".
func (t ruleTable) of(def string, value jsontext.Pointer) string {
	at := def
	for token := range value.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 64); err == nil {
			token = "*"
		}
		at = cmp.Or(t.refs[at], at) + "/" + token
	}
	return cmp.Or(t.rules[at], t.rules[def])
}

// withoutRules returns the text of a CUE file without the attributes, which mean something to this package only.
func withoutRules(text string) string {
	var plain strings.Builder
	for {
		before, attribute, ok := strings.Cut(text, " @"+ruleAttribute+"(")
		plain.WriteString(before)
		if !ok {
			return plain.String()
		}
		_, text, _ = strings.Cut(attribute, ")")
	}
}
