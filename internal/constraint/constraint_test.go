package constraint

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{"failureMessage": "m", "cel": {"rule": "true"}}`:           "",
		`{"all": {"constraints": [{"gvk": {"kind": "K"}}]}}`:         "",
		`{"package": {"name": "p"}}`:                                 `json: unknown field "name"`,
		`{"none": {}}`:                                               `json: unknown field "none"`,
		`{"package": {"packageName": 1}}`:                            `json: cannot unmarshal number into Go struct field `,
		`{"failureMessage": "` + strings.Repeat("x", MaxSize) + `"}`: "olm.constraint value is greater than max constraint size 131072 b",
	} {
		_, err := Parse([]byte(text))
		if got := message(err); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("Parse(%.60s) = %q, want %q", text, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestHolds(t *testing.T) {
	properties := []map[string]any{
		{"type": "olm.package", "value": map[string]any{"version": "v1.2"}},
		{"type": "certified", "value": true},
	}
	for rule, want := range map[string]bool{
		"true": true,
		"properties.exists(p, p.type == 'certified' && p.value == true)":                                true,
		"properties.exists(p, p.type == 'certified' && p.value == false)":                               false,
		"properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.1.9') > 0)": true,
		"semver_compare('1', '1.0.0') == 0":                                                             true,
		"semver_compare('', '1.0.0') == 0":                                                              false, // an error
		"properties[7].type == ''":                                                                      false, // an error
	} {
		p, err := NewCompiler().Program(rule)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		got, err := p.Holds(t.Context(), properties)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", rule, got, err, want)
		}
	}
}

func TestProgramErrors(t *testing.T) {
	for rule, want := range map[string]string{
		"1":    "cel expressions must have type Bool",
		"x":    "ERROR: <input>:1:1: undeclared reference to 'x'",
		"true": "",
	} {
		if _, err := NewCompiler().Program(rule); !strings.HasPrefix(message(err), want) || (err == nil) != (want == "") {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}

// TestHoldsLimits checks that a rule that takes too long is aborted, by its cost or by the context.
func TestHoldsLimits(t *testing.T) {
	loops := "true"
	for range 6 {
		loops = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, " + loops + ")"
	}
	doubling := "'x'"
	for range 14 {
		doubling = "[" + doubling + "].map(s, s + s + s + s)[0]"
	}
	for _, rule := range []string{loops, doubling + " != ''"} {
		p, err := NewCompiler().Program(rule)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Holds(t.Context(), nil); !errors.Is(err, ErrCost) {
			t.Errorf("%.40s: %v, want ErrCost", rule, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Holds(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%.40s: %v, want that of the context", rule, err)
		}
	}
}
