package resolve

import (
	"fmt"
	"strings"
	"testing"
)

// chained returns packages of ten versions that each require the next package, and a Subscription to the first.
func chained(packages int) string {
	return packagesOf(packages, func(i, v int) string {
		if i == packages-1 {
			return ""
		}
		return fmt.Sprintf("package=p%d:>=1.%d.0", i+1, v)
	}) + "sub s p0 s\n"
}

// diamonds returns packages that are all subscribed. Each version requires a version of the next two packages that
// other packages may not accept.
func diamonds(packages int) string {
	var text strings.Builder
	text.WriteString(packagesOf(packages, func(i, v int) string {
		return fmt.Sprintf("package=p%d:<=1.%d.0", (i+1+v%2)%packages, v)
	}))
	for i := range packages {
		fmt.Fprintf(&text, "sub s%d p%d s\n", i, i)
	}
	return text.String()
}

// packagesOf returns packages of ten versions with the given requirements.
func packagesOf(packages int, requires func(i, v int) string) string {
	var text, properties strings.Builder
	for i := range packages {
		fmt.Fprintf(&text, "channel p%d s*", i)
		replaces := ""
		for v := range 10 {
			name := fmt.Sprintf("p%d.v1.%d.0", i, v)
			text.WriteString(" " + name + replaces)
			replaces = "<" + name
			if r := requires(i, v); r != "" {
				properties.WriteString("has " + name + " " + r + "\n")
			}
		}
		text.WriteString("\n")
	}
	return text.String() + properties.String()
}

func BenchmarkClassic(b *testing.B) {
	for _, shape := range []struct {
		name     string
		scenario func(packages int) string
	}{{"chain", chained}, {"diamonds", diamonds}} {
		for _, packages := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, packages), func(b *testing.B) {
				ns := parseScenario(b, shape.scenario(packages))
				for b.Loop() {
					answer, err := ns.Resolve(b.Context(), Options{})
					if err != nil || len(answer.Install) != packages {
						b.Fatal(answer.Outcome, len(answer.Install), answer.Message, err)
					}
				}
			})
		}
	}
}
