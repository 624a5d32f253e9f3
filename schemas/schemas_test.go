package schemas

import (
	"os"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/format"
)

func TestSource(t *testing.T) {
	tests := []struct{ name, want string }{
		{"meta", "#Meta: {"},
		{"package", "#Package: {"},
		{"olm.package", "#Package: {"},
		{"channel", "#ChannelEntry: {"},
		{"olm.channel", "#ChannelEntry: {"},
		{"olm.bundle", "#RelatedImage: {"},
		{"olm.deprecations", "#Deprecations: {"},
		{"olm.gvk", "#PropertyGVK: {"},
		{"property", "#Constraint: "},
	}
	for _, test := range tests {
		text, ok := Source(test.name)
		if !ok || !strings.Contains(text, "\n"+test.want) {
			t.Errorf("%s: no %q", test.name, test.want)
		}
	}
	for _, name := range []string{"", "olm", "bundle.cue", "../go.mod"} {
		if _, ok := Source(name); ok {
			t.Errorf("%q has a source", name)
		}
	}
}

func TestAll(t *testing.T) {
	all := All()
	if n := strings.Count(all, packageClause); n != 1 {
		t.Errorf("%d package clauses", n)
	}
	if err := cuecontext.New().CompileString(all).Validate(); err != nil {
		t.Error(err)
	}
	for _, name := range Names() {
		text, _ := Source(name)
		if !strings.Contains(all, text[strings.Index(text, packageClause)+len(packageClause):]) {
			t.Errorf("%s is not in it", name)
		}
	}
}

func TestFilesAreFormatted(t *testing.T) {
	for _, name := range slices.Concat(names, editorNames) {
		text, err := os.ReadFile(name + ".cue")
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(text)
		if err != nil {
			t.Fatal(err)
		}
		if string(formatted) != string(text) {
			t.Errorf("%s.cue is not formatted; want\n%s", name, formatted)
		}
	}
}
