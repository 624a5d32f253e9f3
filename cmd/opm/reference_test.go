package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/help"
)

//go:generate go test -run=^TestReference$ . -update

// TestReference checks that the generated pages match the commands and the tables of rules. It is a test
// because only tests can use a package main, and so that their libraries are not in opm.
func TestReference(t *testing.T) {
	pages := map[string]string{}
	for name, text := range rulePages() {
		pages["reference/rules/"+name] = text
	}
	for _, c := range commands(rootCmd(nil, "")) {
		if strings.HasPrefix(c.CommandPath(), "opm alpha") || c.Annotations[cmdline.RenamedTo] != "" { // the same commands again
			continue
		}
		c.InitDefaultHelpFlag()
		c.Long = markdown(c.Long)
		pages["reference/commands/"+pageOf(c)] = commandPage(c)
		pages["man/"+dashed(c)+".1"] = manPage(t, c)
		rules := "reference/rules/" + strings.TrimPrefix(pageOf(c), "opm-")
		if f := c.Flags().Lookup("disable"); f != nil && !f.Hidden && pages[rules] == "" {
			t.Errorf("the rules of %s have no page", c.CommandPath())
		}
	}
	for _, topic := range helpPages().Topics {
		pages["reference/topics/"+topicPage(topic)] = "# " + topic.Short + "\n\n" + markdown(topic.Text())
	}
	for _, dir := range []string{"reference/commands", "reference/rules", "reference/topics", "man"} {
		samePages(t, "../../docs", dir, pages)
	}
}

// samePages compares the files of a directory with those pages that belong there. With -update it replaces them.
func samePages(t *testing.T, docs, dir string, pages map[string]string) {
	t.Helper()
	want := map[string]string{}
	for name, text := range pages {
		if filepath.Dir(name) == dir {
			want[filepath.Join(docs, name)] = text
		}
	}
	dir = filepath.Join(docs, dir)
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := contents(t, dir)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s is not current: run make generate", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is about nothing: run make generate", name)
	}
}

// commandPage returns the page of a command: what its help says, with links.
func commandPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n## Usage\n\n", c.CommandPath(), cmp.Or(c.Long, c.Short+"."))
	writeBlock(&b, strings.TrimPrefix(c.UsageString(), "Usage:\n  "))
	var related []*cobra.Command
	if c.HasParent() {
		related = append(related, c.Parent())
	}
	related = append(related, c.Commands()...)
	b.WriteString("\n## See also\n\n")
	if help.HasRegistryFlags(c) {
		b.WriteString("- [opm help registries](../topics/registries.md): the flags for registries\n")
	}
	for _, r := range related {
		if r.IsAvailableCommand() && r.Name() != "completion" {
			fmt.Fprintf(&b, "- [%s](%s): %s\n", r.CommandPath(), pageOf(r), r.Short)
		}
	}
	return b.String()
}

// topicPage returns the name of the page of a topic.
func topicPage(t help.Topic) string { return strings.ReplaceAll(t.Name, ".", "-") + ".md" }

func pageOf(c *cobra.Command) string { return dashed(c) + ".md" }

func dashed(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage returns the page of a command for man. It has no date, so that it only changes with the command.
func manPage(t *testing.T, c *cobra.Command) string {
	t.Helper()
	c.DisableAutoGenTag = true
	if c.HasAvailableSubCommands() {
		c.Use = c.Name() + " COMMAND"
		c.DisableFlagsInUseLine = true
	}
	values := map[string]string{} // names of the values of flags
	c.Flags().VisitAll(func(f *pflag.Flag) { values[f.Name], _ = pflag.UnquoteUsage(f) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { values[f.Name], _ = pflag.UnquoteUsage(f) })
	defer escapeUsages(c.NonInheritedFlags())()
	defer escapeUsages(c.InheritedFlags())()
	var b bytes.Buffer
	err := doc.GenMan(c, &doc.GenManHeader{Source: "opm", Manual: "opm", Date: &time.Time{}}, &b)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Replace(b.String(), `"Jan 0001"`, `""`, 1)
	page = strings.Replace(page, ".SH OPTIONS INHERITED FROM PARENT COMMANDS\n", ".SH OPTIONS OF ALL COMMANDS\n", 1)
	return manFlag.ReplaceAllStringFunc(page, func(line string) string {
		name := manFlag.FindStringSubmatch(line)[1]
		value := values[name]
		if value == "" {
			return `\fB--` + name + `\fP`
		}
		return `\fB--` + name + `\fP \fI` + strings.ReplaceAll(value, "-", `\-`) + `\fP`
	})
}

// manFlag matches the name of a flag and its default in a page for man.
var manFlag = regexp.MustCompile(`(?m)\\fB--([a-z0-9-]+)\\fP\[?=.*$`)

// manUsage returns the usage of a flag in its page for man, with the default that is not in the usage.
func manUsage(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return escape.Replace(f.Usage)
	}
	return escape.Replace(fmt.Sprintf("%s (default %s)", f.Usage, f.DefValue))
}

// escapeUsages makes the usages of flags Markdown, which pages for man are made from, until restore is called.
func escapeUsages(flags *pflag.FlagSet) (restore func()) {
	old := map[*pflag.Flag]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		old[f] = f.Usage
		if f.Value.Type() == "stringSlice" {
			f.DefValue = f.Value.String()
		}
		f.Usage = manUsage(f)
	})
	return func() {
		for f, usage := range old {
			f.Usage = usage
		}
	}
}

// markdown returns help as Markdown: its indented lines are blocks of code there.
func markdown(help string) string {
	var b strings.Builder
	inBlock := false
	for line := range strings.Lines(help) {
		indented := strings.HasPrefix(line, "  ")
		if indented != inBlock && line != "\n" {
			b.WriteString("\n")
			inBlock = indented
		}
		if indented {
			line = "  " + line
		} else {
			line = escape.Replace(line)
		}
		b.WriteString(line)
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")
}

var escape = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`)

// writeBlock writes a block of code.
func writeBlock(b *strings.Builder, text string) {
	for line := range strings.Lines(strings.ToValidUTF8(text, "\ufffd")) {
		if line != "\n" {
			line = "    " + line
		}
		b.WriteString(line)
	}
}
