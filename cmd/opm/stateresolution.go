package main

import (
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
	Namespaces []*cluster.Namespace  `json:"namespaces,omitempty"` // that have Subscriptions, by name
	Extensions []extensionResolution `json:"clusterExtensions,omitempty"`
	Assumed    []string              `json:"assumed,omitempty"` // what neither the command line nor the cluster says
}

// An extensionResolution is the answer of OLM v1 about a ClusterExtension.
type extensionResolution struct {
	Name string `json:"name"`
	v1Resolution
	Conditions []resolve.Condition `json:"conditions"` // once the choice is rolled out
}

// resolved reports whether OLM resolves everything, now or before.
func (r *stateResolution) resolved() bool {
	refused := func(o resolve.Outcome) bool { return o != resolve.Resolved && o != cluster.Waiting }
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
		writeNamespace(&text, n)
	}
	for _, e := range r.Extensions {
		writeSteps(&text, "ClusterExtension "+e.Name, []resolveStep{e.resolveStep}, false)
		for _, c := range e.Conditions {
			deprecated := strings.HasSuffix(c.Type, "Deprecated")
			if deprecated && c.Status == metav1.ConditionTrue || !deprecated && e.Outcome != resolve.Resolved {
				writeCondition(&text, "  ", c, e.Message)
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeNamespace writes what OLM Classic does in a namespace, and the Subscriptions about which there is something to
// tell.
func writeNamespace(w io.Writer, n *cluster.Namespace) {
	writeSteps(w, "namespace "+n.Name, []resolveStep{{n.Outcome, n.Install, n.Message}}, false)
	writeFacts(w, n.Core)
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

// writeFacts writes the facts that make a resolution fail, each with its place.
func writeFacts(w io.Writer, facts []resolve.Fact) {
	for _, f := range facts {
		place := ""
		if len(f.Places) > 0 && f.Places[0].File != "" {
			place = f.Places[0].String() + ": "
		}
		fmt.Fprintf(w, "  %s%s\n", place, legible.Message(f.Message))
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
