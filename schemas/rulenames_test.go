package schemas

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestRuleNames(t *testing.T) {
	for _, tt := range []struct{ definition, value, want string }{
		{"#Bundle", "/image", "bundle-image"},
		{"#Bundle", "/properties", "package-property"},
		{"#Bundle", "/properties/0/type", ""}, // elements have a definition of their own
		{"#Property", "/type", "property-type"},
		{"#Property", "/value", ""},
		{"#ChannelEntry", "/skips/12", "empty-skip"},
		{"#ChannelEntry", "/skips", ""},
		{"#Package", "/icon/mediatype", "icon-type"},
		{"#Package", "/icon", ""},
		{"#Deprecation", "/reference", "deprecation-reference"},
		{"#Deprecation", "/reference/name", "deprecation-reference"},
		{"#PropertyPackage", "/value/version", "bundle-version"},
		{"#PropertyPackage", "/value/release", ""},
		{"#PropertyConstraint", "/value/all/constraints/0", "constraint"},
		{"#PropertyMaxOpenShiftVersion", "/value", "max-openshift-version"},
		{"#Meta", "/package", ""},
	} {
		if got := ruleNames().of(tt.definition, jsontext.Pointer(tt.value)); got != tt.want {
			t.Errorf("the rule about %s of %s is %q, want %q", tt.value, tt.definition, got, tt.want)
		}
	}
}

// TestWithoutRules checks that people and CUE do not see the attributes.
func TestWithoutRules(t *testing.T) {
	if text := All(); strings.Contains(text, "@") || !strings.Contains(text, "\timage!: string & !=\"\"\n") {
		t.Errorf("the definitions have attributes:\n%s", text)
	}
}
