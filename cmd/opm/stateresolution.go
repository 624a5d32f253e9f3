package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// A stateResolution is what resolve prints for a whole cluster.
type stateResolution struct {
	Namespaces []namespaceResolution `json:"namespaces,omitempty"` // that have Subscriptions, by name
	Extensions []extensionResolution `json:"clusterExtensions,omitempty"`
	Assumed    []string              `json:"assumed,omitempty"` // what neither the command line nor the cluster says
}

// A namespaceResolution is the answer of OLM Classic about a namespace.
type namespaceResolution struct {
	cluster.Namespace
	Explanation *resolve.Explanation `json:"explanation,omitempty"` // nil if there is nothing to say
}

// An extensionResolution is the answer of OLM v1 about a ClusterExtension.
type extensionResolution struct {
	Name string `json:"name"`
	v1Resolution
	Conditions []resolve.Condition `json:"conditions"` // once the choice is rolled out
}

// addNamespaces adds answers, and explains what is not installed.
func (r *stateResolution) addNamespaces(ctx context.Context, all []*cluster.Namespace, opts resolve.Options) error {
	for _, n := range all {
		e, err := n.Explain(ctx, opts)
		if err != nil {
			return err
		}
		switch {
		case e == nil:
		case n.Outcome == resolve.Failed && n.Core == nil: // the message says it all
			e = nil
		default:
			if e = e.Behind(); e.IsEmpty() {
				e = nil
			}
		}
		r.Namespaces = append(r.Namespaces, namespaceResolution{*n, e})
	}
	return nil
}

// resolved reports whether OLM resolves everything, now or before, or is content with the installed bundles.
func (r *stateResolution) resolved() bool {
	refused := func(o resolve.Outcome) bool {
		return o != resolve.Resolved && o != resolve.Kept && o != cluster.Waiting
	}
	for _, n := range r.Namespaces {
		if refused(n.Outcome) {
			return false
		}
	}
	for _, e := range r.Extensions {
		if refused(e.Outcome) {
			return false
		}
	}
	return true
}

func (r *stateResolution) write(w io.Writer, format string) error {
	if format != "text" {
		return writeValue(w, r, format)
	}
	var text strings.Builder
	writeAssumed(&text, r.Assumed)
	for _, n := range r.Namespaces {
		writeNamespace(&text, &n.Namespace, n.Explanation)
	}
	for _, e := range r.Extensions {
		writeSteps(&text, "ClusterExtension "+e.Name, []resolveStep{e.resolveStep}, false)
		for _, c := range e.Conditions {
			deprecated := strings.HasSuffix(c.Type, "Deprecated")
			if deprecated && c.Status == metav1.ConditionTrue || !deprecated && e.Outcome != resolve.Resolved {
				writeCondition(&text, "  ", c, e.Message)
			}
		}
		if e.first.Behind() {
			writeIndented(&text, e.first.WriteText)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeNamespace writes what OLM Classic does in a namespace, and the Subscriptions about which there is something to
// tell.
func writeNamespace(w io.Writer, n *cluster.Namespace, why *resolve.Explanation) {
	writeSteps(w, "namespace "+n.Name, []resolveStep{{n.Outcome, n.Install, n.Message}}, false)
	if why != nil {
		writeIndented(w, why.WriteText)
	}
	if n.OrderSensitive {
		fmt.Fprintln(w, "  OLM may also answer otherwise: the answer depends on a random order")
	}
	for _, c := range n.Conditions {
		writeCondition(w, "  all Subscriptions: ", c, n.Message)
	}
	for _, s := range n.Subscriptions {
		name := "  Subscription " + s.Name + ": "
		switch s.Change {
		case cluster.Created:
			fmt.Fprintf(w, "%screated, startingCSV %s\n", name, legible.Name(s.StartingCSV))
		case cluster.Updated:
			fmt.Fprintf(w, "%supdated, currentCSV %s\n", name, legible.Name(s.CurrentCSV))
		}
		for _, c := range s.Conditions {
			writeCondition(w, name, c, "")
		}
	}
	switch {
	case n.InstallPlan != "":
		fmt.Fprintf(w, "  InstallPlan: approval %s\n", n.InstallPlan)
	case len(n.Install) > 0:
		fmt.Fprintln(w, "  nothing is installed: OLM creates no InstallPlan unless a Subscription changes")
	}
}

// writeIndented writes a text whose lines belong to the one before.
func writeIndented(w io.Writer, write func(io.Writer) error) {
	var text strings.Builder
	_ = write(&text) // which takes any text
	for line := range strings.Lines(text.String()) {
		fmt.Fprint(w, "  "+line)
	}
}

// writeCondition writes a condition, without its message if that is known.
func writeCondition(w io.Writer, prefix string, c resolve.Condition, known string) {
	fmt.Fprintf(w, "%s%s=%s", prefix, c.Type, c.Status)
	if c.Reason != "" {
		fmt.Fprintf(w, ", reason %s", c.Reason)
	}
	if c.Message != "" && c.Message != known {
		fmt.Fprintf(w, ": %s", legible.Message(strings.ReplaceAll(c.Message, "\n", "; ")))
	}
	fmt.Fprintln(w)
}
