package yamljson

import (
	"fmt"
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	lists := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	mappings := func(n int) string { return strings.Repeat("{a: ", n) + "1" + strings.Repeat("}", n) }
	dashes := func(n int) string { return strings.Repeat("- ", n) + "a\n" }
	for _, c := range []struct{ name, doc, want string }{
		{"10,000 lists", lists(10_000), ""},
		{"10,001 lists", lists(10_001), "1:10001: nested deeper"},
		{"1,000,000 lists", lists(1_000_000), "1:10001: nested deeper"},
		{"1,000,000 brackets", strings.Repeat("[", 1_000_000), "1:10001: nested deeper"},
		{"10,000 mappings", mappings(10_000), ""},
		{"400,000 mappings", mappings(400_000), "1:40001: nested deeper"},
		{"10,000 dashes", dashes(10_000), ""},
		{"10,001 dashes", dashes(10_001), "1:20001: nested deeper"},
		{"900,000 dashes", dashes(900_000), "1:20001: nested deeper"},
		{"6,000 lists in 6,000 dashes", strings.Repeat("- ", 6000) + lists(6000), "1:16001: nested deeper"},
		{"an alias", "a: &a " + lists(6000) + "\nb: " + strings.Repeat("[", 5000) + "*a" + strings.Repeat("]", 5000),
			"2:5004: nested deeper"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Append(nil, []byte(c.doc))
			if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAliasLimits(t *testing.T) {
	var lists, mappings, merges, empty, chain strings.Builder
	lists.WriteString("a0: &a0 [x]\n")
	mappings.WriteString("a0: &a0 {k: v}\n")
	merges.WriteString("a0: &a0 {k: v}\n")
	empty.WriteString("a0: &a0 {}\n")
	chain.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&lists, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		fmt.Fprintf(&mappings, "a%d: &a%d {k: *a%d, l: *a%d}\n", i, i, i-1, i-1)
		fmt.Fprintf(&merges, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
		fmt.Fprintf(&empty, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	for i := 1; i <= 20_000; i++ {
		fmt.Fprintf(&chain, "a%d: &a%d {<<: *a%d}\n", i, i, i-1)
	}
	for _, c := range []struct{ name, doc, want string }{
		{"lists", lists.String(), "aliases expand beyond 64 MB"},
		{"mappings", mappings.String(), "aliases expand beyond 64 MB"},
		{"merge keys", merges.String(), "aliases expand beyond 64 MB"},
		{"merge keys of nothing", empty.String(), "aliases expand beyond 64 MB"},
		{"merge keys in a row", chain.String(), "aliases expand beyond 64 MB"},
		{"long text", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 70) + "]\n",
			"aliases expand beyond 64 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Append(nil, []byte(c.doc))
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestExpanded checks that the size of expanded aliases is limited, but not the size of a document.
func TestExpanded(t *testing.T) {
	defer func(n int) { maxExpansion = n }(maxExpansion)
	maxExpansion = 100
	text := strings.Repeat("x", 1000)
	for doc, want := range map[string]string{
		"a: &a [b]\nc: *a\nd: " + text + "\n":                   "",
		"{\"\\L\": [" + strings.Repeat("\"\\L\",", 1000) + "]}": "",
		"a: &a [" + text + "]\nc: [*a, *a]\n":                   "2:4: aliases expand beyond 64 MB",
	} {
		if _, err := Append(nil, []byte(doc)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%.40q: got %v, want %q", doc, err, want)
		}
	}
}

// TestExpandedBefore checks that the aliases of earlier documents count.
func TestExpandedBefore(t *testing.T) {
	defer func(n int) { maxExpansion = n }(maxExpansion)
	maxExpansion = 7000
	doc := []byte("a: &a " + strings.Repeat("x", 1000) + "\nb: [*a, *a, *a]\n")
	expanded := 0
	for i := range 4 {
		_, _, err := Convert(nil, doc, nil, &expanded)
		if (err != nil) != (i == 3) {
			t.Errorf("document %d: %v", i, err)
		}
	}
	if _, _, err := Convert(nil, []byte("a: &a b\nc: [*a, d]\n"), nil, &expanded); err != nil {
		t.Errorf("with short aliases: %v", err)
	}
}

// TestManyValues checks that the slow reader limits the number of values, and that the fast reader does not.
func TestManyValues(t *testing.T) {
	defer func(n int) { maxValues = n }(maxValues)
	maxValues = 1000
	const tooMany = "more than 1,000,000 values in a document with brackets, anchors or tags; write it without them, or as JSON"
	for doc, want := range map[string]string{
		"a:\n" + strings.Repeat("- 1\n", 2000):               "",
		"a: [" + strings.Repeat("1,", 900) + "]\n":           "",
		"a: [" + strings.Repeat("1,", 2000) + "]\n":          "1:2002: " + tooMany,
		"a: {" + strings.Repeat("1: 1,\n", 2000) + "}\n":     "333:6: " + tooMany,
		"a: &a 1\nb:\n" + strings.Repeat("- 1\n", 2000):      "501:4: " + tooMany,
		"a: !!str 1\nb:\n" + strings.Repeat("-\n", 2000):     "1000:2: " + tooMany,
		"- " + strings.Repeat("- ", 2000) + "[1]\n":          "1:2002: " + tooMany,
		"a: [" + strings.Repeat("[[1],[2]],", 2000) + "]\n":  "1:2000: " + tooMany,
		"a: [" + strings.Repeat("'x-y z:y', ", 2000) + "]\n": "1:10992: " + tooMany,
	} {
		if _, err := Append(nil, []byte(doc)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%.40q: got %v, want %q", doc, err, want)
		}
	}
}
