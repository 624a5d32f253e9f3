package cmdline

import (
	"reflect"
	"testing"
)

// TestArguments checks what usage lines say about arguments.
func TestArguments(t *testing.T) {
	for usage, want := range map[string]Arguments{
		"":                                   {},
		"--record FILE...":                   {},
		"CATALOG":                            {Names: []string{"CATALOG"}, Least: 1},
		"CATALOG [FROM TO]":                  {Names: []string{"CATALOG", "FROM", "TO"}, Least: 1},
		"CATALOG... TEXT":                    {Names: []string{"CATALOG", "TEXT"}, Least: 2, Many: true},
		"CATALOG [PACKAGE...]":               {Names: []string{"CATALOG", "PACKAGE"}, Least: 1, Many: true},
		"[NAME=]CATALOG...":                  {Names: []string{"CATALOG"}, Least: 1, Many: true},
		"FILE|DIRECTORY...":                  {Names: []string{"FILE"}, Least: 1, Many: true},
		"CATALOG package|channel NAME --m M": {Names: []string{"CATALOG", "package|channel", "NAME"}, Least: 3},
	} {
		if got := ArgumentsOf(usage); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", usage, got, want)
		}
	}
}

// TestWantArgs checks the errors about arguments.
func TestWantArgs(t *testing.T) {
	for _, tt := range []struct {
		usage string
		args  []string
		want  string
	}{
		{"", nil, ""},
		{"", []string{"a"}, `unexpected argument "a"`},
		{"CATALOG [PACKAGE]", nil, "argument CATALOG is missing"},
		{"CATALOG [PACKAGE]", []string{"a", "b"}, ""},
		{"CATALOG [PACKAGE]", []string{"a", "b", "c"}, `unexpected argument "c"`},
		{"CATALOG... TEXT", []string{"a"}, "argument TEXT is missing"},
		{"CATALOG... TEXT", []string{"a", "b", "c", "d"}, ""},
	} {
		got := ""
		if err := WantArgs(tt.usage)(nil, tt.args); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.usage, tt.args, got, tt.want)
		}
	}
}
