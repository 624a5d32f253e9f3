package main

import (
	"fmt"
	"strings"

	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/olm/across"
	"github.com/opm-toolchain/opm/internal/olm/diagnose"
	"github.com/opm-toolchain/opm/internal/olm/updatecheck"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// rulePages returns a page for each table of rules.
func rulePages() map[string]string {
	return map[string]string{
		"validate.md":        rulePage("opm validate", validateRules(), objects),
		"bundle-validate.md": rulePage("opm bundle validate", bundle.Rules(), lines),
		"resolve.md":         rulePage("opm resolve --all", resolve.Rules(), objects),
		"check-images.md":    rulePage("opm check-images", imagecheck.Rules(), ""),
		"check-updates.md":   rulePage("opm check-updates", updatecheck.Rules(), definitions),
		"plan.md":            rulePage("opm plan", across.Rules(), catalogFiles),
		"diagnose.md":        rulePage("opm diagnose", diagnose.Rules(), ""),
	}
}

// How examples change the one at the end of a page.
const (
	objects = `The examples above are changes to this catalog: each of their objects replaces the one with the same schema, package
and name.`
	lines = `The examples above are changes to this bundle. Below the name of a file are some of its lines: the first and the last of
them are here, and those in between replace what is between them here. A file that is not here is added; one without
lines is missing.`
	definitions = `The examples above are changes to these files: an update of a catalog, the definition or other
object before and after it, and the custom resource that a cluster has. Each line replaces the one with the same key. Lines that begin with apiVersion
replace the whole file, and a file without lines is missing.`
	catalogFiles = `The examples above are changes to these catalogs: each file replaces the one with the same name.`
)

// rulePage lists the rules of a command, and explains each. The examples are changes as described.
func rulePage(command string, rules *problem.Rules, changes string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Rules of %s\n\n", command)
	b.WriteString("`opm rules NAME` prints what this page says of a rule.\n")
	for _, group := range rules.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| rule | severity | requirement |\n| --- | --- | --- |\n", group.Title)
		for _, r := range group.Rules {
			name := r.Name
			if r.Reason != "" {
				name = fmt.Sprintf("[%s](#%[1]s)", name)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, r.Severity, escape.Replace(r.Summary))
		}
		for _, r := range group.Rules {
			if r.Reason != "" {
				explain(&b, r)
			}
		}
	}
	if rules.Example != "" {
		fmt.Fprintf(&b, "\n## The example\n\n%s\n\n", changes)
		writeBlock(&b, rules.Example)
	}
	return b.String()
}

func explain(b *strings.Builder, r *problem.Rule) {
	summary := strings.ToUpper(r.Summary[:1]) + r.Summary[1:] + ". "
	fmt.Fprintf(b, "\n### %s\n\n%s\n", r.Name, escape.Replace(summary+r.Reason))
	if r.Fix != "" {
		fmt.Fprintf(b, "\nTo do: %s.\n", escape.Replace(r.Fix))
	}
	e, bad := r.Example(), "Bad"
	if e.Abridged != "" {
		bad += " (" + e.Abridged + ")"
	}
	for _, example := range []struct{ title, text string }{
		{"Given with `--schema`", e.Schema}, {"With `opm.yaml`", e.Config}, {bad, e.Bad}, {"Good", e.Good},
	} {
		if example.text != "" {
			fmt.Fprintf(b, "\n%s:\n\n", example.title)
			writeBlock(b, example.text)
		}
	}
}
