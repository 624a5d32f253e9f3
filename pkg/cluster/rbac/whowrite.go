package rbac

import (
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
)

// A style is how text is written.
type style struct {
	operator, section, item string // formats
	name, text              func(string) string
}

var (
	plain = style{"%s\n", "  %s:\n", "    %s\n", legible.Name, legible.Text}
	marks = style{"## %s\n\n", "- %s:\n", "  - %s\n", markdown.Code, markdown.Escape}
)

// WriteText writes operators for a terminal.
func WriteText(w io.Writer, operators []*Operator) error { return plain.write(w, operators) }

// WriteMarkdown writes operators as Markdown.
func WriteMarkdown(w io.Writer, operators []*Operator) error { return marks.write(w, operators) }

func (s style) write(w io.Writer, operators []*Operator) error {
	var b strings.Builder
	for i, o := range operators {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, s.operator, s.title(o))
		for _, section := range s.sections(o) {
			fmt.Fprintf(&b, s.section, section.title)
			for _, item := range section.items {
				fmt.Fprintf(&b, s.item, item)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s style) title(o *Operator) string {
	switch {
	case o.Catalog != "":
		return s.name(o.Name) + " of package " + s.name(o.Package) + " in catalog " + s.name(o.Catalog)
	case o.Namespace != "":
		return s.name(o.Name) + " in namespace " + s.name(o.Namespace)
	}
	return s.name(o.Name)
}

// A section is a list below a title.
type section struct {
	title string
	items []string
}

func (s style) sections(o *Operator) []section {
	var all []section
	if o.NotEvaluable != "" {
		all = append(all, section{"permissions are not evaluable offline", []string{s.text(o.NotEvaluable)}})
	}
	for _, g := range o.Grants {
		granted := section{title: "service account " + s.name(g.ServiceAccount) + ", " + s.scope(o, g.Scope)}
		for _, r := range g.Rules {
			granted.items = append(granted.items, s.verbs(r.Verbs)+": "+s.objects(r))
		}
		all = append(all, granted)
	}
	if len(o.APIs) == 0 {
		return all
	}
	var to []string
	for _, open := range o.APIs[0].Opened { // the same for all
		to = append(to, open.Role+" ("+s.verbs(open.Verbs)+")")
	}
	opened := section{title: "opened to " + strings.Join(to, ", ")}
	for _, a := range o.APIs {
		opened.items = append(opened.items, s.name(a.Kind+"."+a.Version+"."+a.Group))
	}
	return append(all, opened)
}

func (s style) scope(o *Operator, scope Scope) string {
	switch {
	case scope == Cluster:
		return "in the whole cluster"
	case o.Namespace != "":
		others := slices.DeleteFunc(slices.Clone(o.Watches), func(n string) bool { return n == o.Namespace })
		return "in " + s.list(append([]string{o.Namespace}, others...))
	case o.AllNamespaces:
		return "in the namespaces that it watches, which may be all"
	}
	return "in the namespaces that it watches"
}

func (s style) verbs(verbs []string) string {
	if slices.Contains(verbs, rbacv1.VerbAll) {
		return "everything"
	}
	return s.list(verbs)
}

// objects writes what a rule is about: pods, deployments.apps named x, /metrics.
func (s style) objects(r rbacv1.PolicyRule) string {
	if len(r.NonResourceURLs) > 0 {
		return s.list(r.NonResourceURLs)
	}
	var resources []string
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			if group != "" {
				resource += "." + group
			}
			resources = append(resources, resource)
		}
	}
	text := s.list(resources)
	if len(r.ResourceNames) > 0 {
		text += " named " + s.list(r.ResourceNames)
	}
	return text
}

func (s style) list(names []string) string {
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = s.name(n)
	}
	return strings.Join(shown, ", ")
}
