package simulate

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// checkResolution compares the results of opm resolve for a cluster with the changes that the controllers of catalogs
// and Subscriptions make until the first resolution, if all bundles can be unpacked. It returns the number of results.
func checkResolution(t *testing.T, title string, state *cluster.State, opts Options) int {
	t.Helper()
	request, err := install.NewRequest(state, opts.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := request.Classic(t.Context(), resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	start := func(_ context.Context, r *run) error {
		for _, a := range predicted {
			r.skipUnpacking(a)
		}
		return nil
	}
	record := func(_ context.Context, r *run) error {
		for _, a := range predicted {
			if got[a.Name] == "" && r.resolved[a.Name] > 0 {
				got[a.Name] = r.resolution(a.Name)
			}
		}
		return nil
	}
	simulated(t, state, Options{Cluster: opts.Cluster, KubeVersion: opts.KubeVersion},
		[]controller{start, catalogSources, subscriptions, resolution, record})
	for _, a := range predicted {
		if want := prediction(a); got[a.Name] != want {
			t.Errorf("%s: namespace %s: opm simulate: %s\nopm resolve: %s", title, a.Name, got[a.Name], want)
		}
	}
	return len(predicted)
}

// skipUnpacking makes the bundles of an answer unpacked.
func (r *run) skipUnpacking(answer *install.NamespaceResult) {
	var images []string
	for _, c := range answer.Install {
		if b, err := r.bundle(c.CatalogNamespace, c.Catalog, c.Bundle); err == nil && b.Image != "" {
			images = append(images, b.Image)
		}
	}
	r.unpacking[strings.Join(images, " ")] = 0
}

// prediction describes a result of opm resolve.
func prediction(a *install.NamespaceResult) string {
	var subscriptions, created, installed []string
	for _, s := range a.Subscriptions {
		if s.Change == cluster.Created {
			created = append(created, s.Name)
			continue
		}
		subscriptions = append(subscriptions, fmt.Sprintf("%s: %s, installed %q, current %q, %s",
			s.Name, s.State, s.InstalledCSV, s.CurrentCSV, conditionTexts(slices.Concat(s.Conditions, a.Conditions))))
	}
	if a.InstallPlan == "" {
		return fmt.Sprintf("%q", subscriptions)
	}
	for _, c := range a.Install {
		installed = append(installed, c.Bundle)
	}
	slices.Sort(installed)
	return fmt.Sprintf("%q, InstallPlan %s creates %s and installs %s", subscriptions, a.InstallPlan, created, installed)
}

// resolution describes the Subscriptions and the new InstallPlan of a namespace as prediction does.
func (r *run) resolution(namespace string) string {
	var subscriptions, created, installed []string
	plan := new(v1alpha1.InstallPlan) // the new one
	for o := range r.State.InstallPlans.In(namespace) {
		if _, isOld := r.input.InstallPlans.Get(namespace, o.Value.Name); !isOld {
			plan = o.Value
		}
	}
	for o := range r.State.Subscriptions.In(namespace) {
		status := &o.Value.Status
		known := append(slices.Clone(statusConditions), v1alpha1.SubscriptionResolutionFailed)
		if plan.Name != "" && plan.Name == install.PlanName(status) { // the conditions are about the previous one
			known = slices.DeleteFunc(known, func(of v1alpha1.SubscriptionConditionType) bool {
				return slices.Contains(install.PlanConditions, of)
			})
		}
		var conditions []resolve.Condition
		for _, c := range status.Conditions {
			if c.Status == corev1.ConditionTrue && slices.Contains(known, c.Type) {
				conditions = append(conditions, resolve.Condition{Type: string(c.Type), Reason: c.Reason, Message: c.Message})
			}
		}
		subscriptions = append(subscriptions, fmt.Sprintf("%s: %s, installed %q, current %q, %s",
			o.Value.Name, status.State, status.InstalledCSV, status.CurrentCSV, conditionTexts(conditions)))
	}
	if plan.Name == "" {
		return fmt.Sprintf("%q", subscriptions)
	}
	for _, step := range plan.Status.Plan {
		if step.Resource.Kind == v1alpha1.SubscriptionKind {
			created = append(created, step.Resource.Name)
		}
	}
	installed = append(installed, plan.Spec.ClusterServiceVersionNames...)
	slices.Sort(created)
	slices.Sort(installed)
	return fmt.Sprintf("%q, InstallPlan %s creates %s and installs %s",
		subscriptions, plan.Spec.Approval, created, installed)
}

func conditionTexts(conditions []resolve.Condition) string {
	var texts []string
	for _, c := range conditions {
		texts = append(texts, fmt.Sprintf("%s, %s: %s", c.Type, c.Reason, c.Message))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// TestResolve compares opm resolve and opm simulate for the clusters of the scripts of both. TestPlays compares them for
// recorded clusters.
func TestResolve(t *testing.T) {
	n := 0
	for _, pattern := range []string{"simulate*.txtar", "resolve-state*.txtar"} {
		scripts, err := filepath.Glob("../../../cmd/opm/testdata/script/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range scripts {
			archive, err := txtar.ParseFile(script)
			if err != nil {
				t.Fatal(err)
			}
			files, err := txtar.FS(archive)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(archive.Comment)) {
				if strings.Contains(line, "unreadable.yaml") { // opm resolve does not read the manifests of bundles
					continue
				}
				args := strings.Fields(strings.TrimPrefix(line, "! "))
				if len(args) > 2 && args[0] == "opm" && (args[1] == "simulate" || args[1] == "resolve") {
					n += checkLine(t, filepath.Base(script)+": "+line, files, args[2:])
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("%d namespaces were compared, want at least 200", n)
	}
}

// checkLine compares both for a command line of a script, and returns the number of namespaces. It returns 0 for a line
// about files that other lines write, and for a state with errors.
func checkLine(t *testing.T, line string, files fs.FS, args []string) int {
	t.Helper()
	var opts Options
	flags := pflag.NewFlagSet("opm", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	paths, catalogs := flags.StringArray("state", nil, ""), flags.StringArray("catalog", nil, "")
	group, who := flags.String("check-operatorgroup", "", ""), flags.Bool("who-can-what", false, "")
	flags.StringToIntVar(&opts.Cluster.Priorities, "catalog-priority", nil, "")
	flags.StringArrayVar(&opts.Cluster.Down, "catalog-down", nil, "")
	flags.StringVar(&opts.Cluster.Global, "global-namespace", "", "")
	flags.StringVar(&opts.KubeVersion, "kube-version", "", "")
	for _, name := range []string{"timeline", "approve", "diff"} {
		flags.Bool(name, false, "")
	}
	if err := flags.Parse(args); err != nil || *group != "" || *who {
		return 0
	}
	var sources []declcfg.Source
	for _, path := range append(*paths, flags.Args()...) {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return 0
		}
		sources = append(sources, render.Text(path, text))
	}
	state, err := cluster.Load(t.Context(), nil, sources...)
	if err != nil || state == nil {
		return 0
	}
	for _, arg := range *catalogs {
		namespace, name, folder := resolve.SplitCatalogName(arg)
		c := &resolve.Catalog{Index: &declcfg.Index{}}
		if folder != "" {
			sub, err := fs.Sub(files, folder)
			if err == nil {
				c, err = resolve.ReadCatalog(t.Context(), declcfg.Source{Name: folder, FS: sub})
			}
			if err != nil {
				return 0
			}
		}
		c.Namespace, c.Name = namespace, name
		opts.Cluster.Catalogs = append(opts.Cluster.Catalogs, c)
	}
	if _, err := install.NewRequest(state, opts.Cluster); err != nil {
		return 0
	}
	return checkResolution(t, line, state, opts)
}
