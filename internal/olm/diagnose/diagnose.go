// Package diagnose explains why a cluster does not do what its Subscriptions and ClusterExtensions ask for.
//
//	result, err := diagnose.Run(ctx, state, diagnose.Options{})
//	for _, f := range result.Findings {
//		fmt.Println(f.Severity, f.Object, f.Message)
//	}
//
// A Finding is one cause. The objects that only suffer from it are in its field Affected, and have no Finding of their
// own, so causes are searched before their effects: first what all namespaces depend on, such as OLM itself and
// catalogs, then OperatorGroups, InstallPlans and operators, and Subscriptions last.
//
// The conditions, pods and events of the cluster count. Questions that they leave open are answered by the packages
// that imitate OLM, such as simulate, if the contents of the catalogs are given.
package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Options are the contents of catalogs, and facts that the objects of a cluster do not contain.
type Options struct {
	Cluster     install.Options // the catalogs
	Resolve     resolve.Options
	KubeVersion string // of Kubernetes, such as 1.33.2; "" to take it from the state
	OCPVersion  string // of OpenShift, such as 4.20; "" to take it from the state
}

// A Result has the causes of all problems of a cluster.
type Result struct {
	Findings []*Finding `json:"findings"` // the worst first
	Healthy  []Count    `json:"healthy"`  // by kind, in a fixed order; kinds without objects are left out
	Assumed  []string   `json:"assumed"`  // sentences about facts that the state does not have

	Contents []install.Origin `json:"contents,omitempty"` // of the options
}

// A Finding is one cause, with the objects that it affects.
type Finding struct {
	Rule     string           `json:"rule"` // the name of the cause; see Rules
	Severity problem.Severity `json:"severity"`
	Object   simulate.Ref     `json:"object"` // the object with the cause
	Place    declcfg.Pos      `json:"place,omitzero"`
	Message  string           `json:"message"`

	// Since is the time from which an object of the cluster shows the problem, as RFC 3339; "" if no object says it.
	Since string `json:"since,omitempty"`

	Evidence []Evidence     `json:"evidence,omitempty"` // what other objects say about the cause
	Affected []simulate.Ref `json:"affected,omitempty"` // the objects that suffer from it, in the order they were found
	Help     []Help         `json:"help,omitempty"`

	// Why explains why OLM Classic cannot resolve the namespace, if the contents of catalogs are given: lines, each
	// indented by two spaces below its effect.
	Why []string `json:"why,omitempty"`
}

// An Evidence is what an object says about a cause.
type Evidence struct {
	Object  simulate.Ref `json:"object"`
	Place   declcfg.Pos  `json:"place,omitzero"`
	Message string       `json:"message"`         // such as "container registry-server: CrashLoopBackOff: …"
	Since   string       `json:"since,omitempty"` // as in Finding
}

// A Help is an action that would help.
type Help struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // a command line to paste; "" if there is none
}

// A Count is the number of objects of a kind that no error or warning is about.
type Count struct {
	Kind    string `json:"kind"`
	Healthy int    `json:"healthy"`
	Total   int    `json:"total"`
}

// Stuck reports whether a Finding is more than a remark.
func (r *Result) Stuck() bool {
	return slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.Severity.AtLeast(problem.Warning) })
}

// Run diagnoses a cluster. It does not change the state. The error is ctx.Err(), or about a name or version in the
// options.
func Run(ctx context.Context, state *cluster.State, opts Options) (*Result, error) {
	d := &diagnosis{
		State: state, blamed: map[simulate.Ref]*Finding{}, affected: map[effect]bool{}, down: map[string]*Finding{},
		Result: &Result{
			Findings: []*Finding{}, Assumed: []string{}, Contents: install.Origins(opts.Cluster.Contents),
		},
	}
	d.read()
	if err := d.predict(ctx, opts); err != nil {
		return nil, err
	}
	for _, check := range []func(){
		d.olm, d.catalogSources, d.operatorGroups, d.installPlans, d.operators, d.apiServices,
		d.unpacking, d.subscriptions, d.namespaces, d.clusterCatalogs, d.clusterExtensions, d.platform, d.predicted,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		check()
	}
	d.count()
	d.sort()
	return d.Result, nil
}

// A diagnosis is a diagnosis in progress.
type diagnosis struct {
	*cluster.State
	*Result
	index

	request    *install.Request                    // to OLM about the state
	simulated  *simulate.Result                    // from the state on
	outcomes   map[simulate.Ref]*simulate.Outcome  // of simulated, for namespaces whose catalogs are given
	answers    map[string]*install.NamespaceResult // the explained next answers of OLM, for these namespaces
	extensions map[string]*resolve.V1Result        // the next answers of OLM v1; nil if the contents are not given

	down        map[string]*Finding  // the controllers of OLM that do not run, by the kind that they reconcile
	rivalGroups *operatorgroup.Index // of all OperatorGroups; nil before it is needed

	blamed   map[simulate.Ref]*Finding // the Finding of each object that is not healthy
	affected map[effect]bool           // the objects in Finding.Affected
}

// An effect is an object that suffers from a cause.
type effect struct {
	cause  *Finding
	object simulate.Ref
}

// add adds a Finding about an object.
func add[P cluster.Kubernetes](d *diagnosis, r *problem.Rule, o cluster.Object[P], message string) *Finding {
	return d.addRef(r, simulate.RefTo(o.Value), o.Pos, message)
}

func (d *diagnosis) addRef(r *problem.Rule, ref simulate.Ref, pos declcfg.Pos, message string) *Finding {
	f := &Finding{Rule: r.Name, Severity: r.Severity, Object: ref, Place: pos, Message: strings.TrimSpace(message)}
	d.Findings = append(d.Findings, f)
	if d.blamed[ref] == nil {
		d.blamed[ref] = f
	}
	return f
}

// blame records that an object suffers from a cause.
func (d *diagnosis) blame(f *Finding, ref simulate.Ref) {
	if ref == f.Object || d.affected[effect{f, ref}] {
		return
	}
	d.affected[effect{f, ref}] = true
	f.Affected = append(f.Affected, ref)
	if d.blamed[ref] == nil {
		d.blamed[ref] = f
	}
}

// since sets the time from which a problem exists, unless it is unknown.
func (f *Finding) since(t *metav1.Time) *Finding {
	f.Since = cmp.Or(f.Since, timeText(t))
	return f
}

// help adds an action that would help, with the words of a command.
func (f *Finding) help(text string, command ...string) *Finding {
	f.Help = append(f.Help, Help{text, shell.Join(command...)})
	return f
}

// show adds what an object says about the cause.
func (f *Finding) show(all ...Evidence) { f.Evidence = append(f.Evidence, all...) }

// timeText returns a time as RFC 3339, "" for the zero time and for nil.
func timeText(t *metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// unreadable records an object that cannot be read.
func (d *diagnosis) unreadable(o cluster.Kubernetes, err error) {
	d.Assumed = append(d.Assumed, fmt.Sprintf("%s is left out: %v", simulate.RefTo(o), err))
}

// sort sorts the Findings: by severity, by rule, the ones with the most affected objects first, and by object.
func (d *diagnosis) sort() {
	rank := map[string]int{}
	for i, r := range causes {
		rank[r.Name] = i
	}
	slices.SortStableFunc(d.Findings, func(a, b *Finding) int {
		bySeverity := 0
		if a.Severity != b.Severity {
			bySeverity = 1
			if a.Severity.AtLeast(b.Severity) {
				bySeverity = -1
			}
		}
		return cmp.Or(bySeverity, cmp.Compare(rank[a.Rule], rank[b.Rule]), cmp.Compare(len(b.Affected), len(a.Affected)),
			compareRefs(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
}

func compareRefs(a, b simulate.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// count counts the healthy objects.
func (d *diagnosis) count() {
	unhealthy := map[string]int{}
	for ref, f := range d.blamed {
		if f.Severity.AtLeast(problem.Warning) {
			unhealthy[ref.Kind]++
		}
	}
	operators := 0
	for o := range d.ClusterServiceVersions.All() {
		if !o.Value.IsCopied() {
			operators++
		}
	}
	d.Healthy = []Count{}
	for _, c := range []Count{
		{Kind: kindSubscription, Total: d.Subscriptions.Len()},
		{Kind: kindCSV, Total: operators},
		{Kind: kindCatalogSource, Total: d.CatalogSources.Len()},
		{Kind: kindExtension, Total: d.ClusterExtensions.Len()},
		{Kind: kindCatalog, Total: d.ClusterCatalogs.Len()},
	} {
		if c.Total > 0 {
			c.Healthy = max(c.Total-unhealthy[c.Kind], 0)
			d.Healthy = append(d.Healthy, c)
		}
	}
}
