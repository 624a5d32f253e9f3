package main

import (
	"reflect"
	"testing"
)

// TestArguments checks what usage lines say about arguments.
func TestArguments(t *testing.T) {
	for usage, want := range map[string]arguments{
		"":                                   {},
		"--record FILE...":                   {},
		"CATALOG":                            {names: []string{"CATALOG"}, least: 1},
		"CATALOG [FROM TO]":                  {names: []string{"CATALOG", "FROM", "TO"}, least: 1},
		"CATALOG... TEXT":                    {names: []string{"CATALOG", "TEXT"}, least: 2, many: true},
		"CATALOG [PACKAGE...]":               {names: []string{"CATALOG", "PACKAGE"}, least: 1, many: true},
		"[NAME=]CATALOG...":                  {names: []string{"CATALOG"}, least: 1, many: true},
		"FILE|DIRECTORY...":                  {names: []string{"FILE"}, least: 1, many: true},
		"CATALOG package|channel NAME --m M": {names: []string{"CATALOG", "package|channel", "NAME"}, least: 3},
	} {
		if got := argumentsOf(usage); !reflect.DeepEqual(got, want) {
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
		if err := wantArgs(tt.usage)(nil, tt.args); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.usage, tt.args, got, tt.want)
		}
	}
}
