package resolution

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/resolve"
)

// A stateResolution is the output of resolve for a whole cluster.
type stateResolution struct {
	Namespaces []namespaceResolution `json:"namespaces,omitempty"` // that have Subscriptions, by name
	Extensions []extensionResolution `json:"clusterExtensions,omitempty"`
	Contents   []install.Origin      `json:"contents,omitempty"` // nil if only those of --catalog are read
	Assumed    []string              `json:"assumed,omitempty"`  // facts that neither the flags nor the cluster state
}

// A namespaceResolution is the answer of OLM Classic about a namespace.
type namespaceResolution struct {
	install.NamespaceResult
	Explanation *resolve.Explanation `json:"explanation,omitempty"` // nil if there is nothing to say
}

// An extensionResolution is the answer of OLM v1 about a ClusterExtension.
type extensionResolution struct {
	Name string `json:"name"`
	v1Resolution
	Conditions []resolve.Condition `json:"conditions"` // after the rollout of the choice
}

// OfCluster returns what OLM installs and updates in a cluster. contents are those of its catalogs, if they were read.
func OfCluster(
	ctx context.Context, request *install.Request, contents []*install.Content, ask Options,
) (Answer, error) {
	r := &stateResolution{Contents: install.Origins(contents)}
	if ask.Classic {
		namespaces, err := request.Classic(ctx, resolve.Options{Timeout: ask.Timeout, Explain: true})
		if err != nil {
			return nil, err
		}
		r.addNamespaces(namespaces)
	}
	if ask.V1 {
		for e, a := range request.V1() {
			r.Extensions = append(r.Extensions, extensionResolution{
				Name: e.Name, Conditions: a.Conditions,
				v1Resolution: v1Resolution{resolveStep: v1Step(e, a), Catalogs: a.Catalogs, first: a},
			})
		}
	}
	r.Assumed = request.Assumed
	return r, nil
}

// addNamespaces adds the answers, each with the reasons why newer bundles are not installed.
func (r *stateResolution) addNamespaces(all []*install.NamespaceResult) {
	for _, n := range all {
		e := n.ClassicResult.Explanation
		switch {
		case e == nil:
		case n.Outcome == resolve.Failed && n.Core == nil: // the message has the whole reason
			e = nil
		default:
			if e = e.Behind(); e.IsEmpty() {
				e = nil
			}
		}
		r.Namespaces = append(r.Namespaces, namespaceResolution{*n, e})
	}
}

// Resolved reports whether OLM resolves all namespaces and ClusterExtensions, keeps the installed bundles, or waits.
func (r *stateResolution) Resolved() bool {
	refused := func(o resolve.Outcome) bool {
		return o != resolve.Resolved && o != resolve.Kept && o != install.Waiting
	}
	return !slices.ContainsFunc(r.Namespaces, func(n namespaceResolution) bool { return refused(n.Outcome) }) &&
		!slices.ContainsFunc(r.Extensions, func(e extensionResolution) bool { return refused(e.Outcome) })
}

// Result implements Answer.
func (r *stateResolution) Result(limit int, hint string) *output.Result {
	return output.InText(r, func(w io.Writer) error { return r.writeText(w, limit, hint) })
}

func (r *stateResolution) writeText(w io.Writer, limit int, hint string) error {
	var text strings.Builder
	for _, c := range r.Contents {
		fmt.Fprintf(&text, "contents of %s: %s\n", legible.Name(c.Object()), legible.Text(legible.Message(c.Text())))
	}
	writeAssumed(&text, r.Assumed)
	for _, n := range r.Namespaces {
		writeNamespace(&text, &n.NamespaceResult, n.Explanation, limit, hint)
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
			writeIndented(&text, limit, hint, e.first.WriteText)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeNamespace writes the actions of OLM Classic in a namespace, and each Subscription that changes or has
// conditions.
func writeNamespace(w io.Writer, n *install.NamespaceResult, why *resolve.Explanation, limit int, hint string) {
	writeSteps(w, "namespace "+n.Name, []resolveStep{{n.Outcome, n.Install, n.Message}}, false)
	if why != nil {
		writeIndented(w, limit, hint, why.WriteText)
	}
	if n.OrderSensitive {
		fmt.Fprintln(w, "  OLM may also answer differently: the result depends on a random order")
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

// writeIndented writes an explanation with its lines indented below the previous line.
func writeIndented(w io.Writer, limit int, hint string, writeText func(io.Writer, int, string) error) {
	var text strings.Builder
	_ = writeText(&text, limit, hint) // which takes any text
	for line := range strings.Lines(text.String()) {
		fmt.Fprint(w, "  "+line)
	}
}

// writeCondition writes a condition. It omits the message if it equals known.
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
