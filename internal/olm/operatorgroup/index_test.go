package operatorgroup_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/olm/operatorgroup"
)

// newGroup returns a group "NAMESPACE/NAME" that targets namespaces, with commas, and provides APIs.
func newGroup(name, targets, apis string) *operatorsv1.OperatorGroup {
	g := &operatorsv1.OperatorGroup{}
	g.Namespace, g.Name, _ = strings.Cut(name, "/")
	if targets == "*" {
		g.Status.Namespaces = []string{""}
	} else if targets != "" {
		g.Status.Namespaces = strings.Split(targets, ",")
	}
	if apis != "" {
		g.Annotations = map[string]string{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: apis}
	}
	return g
}

func apisOf(text string) operatorgroup.APIs {
	return operatorgroup.Annotated(newGroup("n/g", "", text))
}

func TestAnnotated(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"B.v1.x.io,A.v1.x.io", "A.v1.x.io,B.v1.x.io"},
		{" A.v1.x.io , B.v1.x.io ", "A.v1.x.io,B.v1.x.io"},
		{"A.v1.x.io,,A.v1.x.io,", "A.v1.x.io"},
		{"A,A.x,A.v1.", "A.v1."},
		{"PackageManifest.v1alpha1.packages.apps.redhat.com", "PackageManifest.v1alpha1.packages.apps.redhat.com"},
	} {
		if got := operatorgroup.Annotation(apisOf(tt.text)); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// FuzzAnnotated checks that a written annotation is read again as the same APIs.
func FuzzAnnotated(f *testing.F) {
	f.Add("A.v1.x.io, B.v1.x.io,A,,A.x,A.v1.")
	f.Fuzz(func(t *testing.T, text string) {
		apis := apisOf(text)
		if again := apisOf(operatorgroup.Annotation(apis)); !again.Equal(apis) {
			t.Errorf("got %v, want %v", again, apis)
		}
	})
}

func TestProvided(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"nothing", "{}", ""},
		{"definitions and services",
			`{customresourcedefinitions: {owned: [{name: as.x.io, kind: A, version: v1}, {name: as.x.io, kind: A, version: v2}],
			required: [{name: cs.x.io, kind: C, version: v1}]},
			apiservicedefinitions: {owned: [{group: y.io, kind: B, version: v1, name: bs}], required: [{group: y.io, kind: D, version: v1}]}}`,
			"A.v1.x.io,A.v2.x.io,B.v1.y.io"},
		{"a name without a group", "{customresourcedefinitions: {owned: [{name: as, kind: A}]}}", "error: error parsing crd name: as"},
		{"a required name without a group", "{customresourcedefinitions: {required: [{name: as, kind: A}]}}", "error: error parsing crd name: as"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apis, err := operatorgroup.Provided(read[v1alpha1.ClusterServiceVersion](t, "spec: "+tt.spec))
			got := operatorgroup.Annotation(apis)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	const owns = "spec: {customresourcedefinitions: {owned: [{name: as.x.io, kind: A, version: v1}]}}\n"
	for _, tt := range []struct {
		name, apis string
		static     bool
		csvs       []string
		want       string
	}{
		{"what no operator provides", "A.v1.x.io,B.v1.x.io", false, []string{owns}, "A.v1.x.io"},
		{"no operators", "A.v1.x.io", false, nil, ""},
		{"a copied operator", "A.v1.x.io", false, []string{owns + "metadata: {labels: {olm.copiedFrom: m}}"}, ""},
		{"a static group", "B.v1.x.io", true, nil, "not pruned"},
		{"an operator without a phase adds something", "B.v1.x.io", false, []string{owns}, "not pruned"},
		{"a pending operator adds something", "B.v1.x.io", false, []string{owns + "status: {phase: Pending}"}, "not pruned"},
		{"a failed operator would add something", "B.v1.x.io", false, []string{owns + "status: {phase: Failed}"}, ""},
		{"an operator that is being deleted", "B.v1.x.io", false, []string{owns + "metadata: {deletionTimestamp: \"2026-01-01T00:00:00Z\"}"}, ""},
		{"an operator with an error", "B.v1.x.io", false, []string{"spec: {customresourcedefinitions: {owned: [{name: as}]}}"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGroup("n/g", "n", tt.apis)
			g.Spec.StaticProvidedAPIs = tt.static
			var csvs []*v1alpha1.ClusterServiceVersion
			for _, text := range tt.csvs {
				csvs = append(csvs, read[v1alpha1.ClusterServiceVersion](t, text))
			}
			apis, ok := operatorgroup.Prune(g, csvs)
			got := operatorgroup.Annotation(apis)
			if !ok {
				got = "not pruned"
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDecide has a row for each operator of group n/g: its APIs, the group, and another group.
func TestDecide(t *testing.T) {
	const conflict = "InterOperatorGroupOwnerConflict: intersecting operatorgroups provide the same apis"
	const static = "CannotModifyStaticOperatorGroupProvidedAPIs: static provided api operatorgroup cannot be modified by these apis"
	const a, b = "A.v1.x.io", "B.v1.x.io"
	for _, tt := range []struct {
		name, provides string
		group          *operatorsv1.OperatorGroup
		static         bool
		other          *operatorsv1.OperatorGroup
		want           string
	}{
		{"subset, not intersecting", a, newGroup("n/g", "n", a+","+b), false, newGroup("m/o", "m", a), "NoAPIConflict, [A.v1.x.io,B.v1.x.io]"},
		{"the same, static", a, newGroup("n/g", "n", a+","+b), true, newGroup("m/o", "m", a), "NoAPIConflict, [A.v1.x.io,B.v1.x.io]"},
		{"neither", a, newGroup("n/g", "n", b), false, newGroup("m/o", "m", a), "AddAPIs, [A.v1.x.io,B.v1.x.io]"},
		{"the same, static", a, newGroup("n/g", "n", b), true, newGroup("m/o", "m", a), "AddAPIs, [B.v1.x.io], " + static},
		{"both", a, newGroup("n/g", "n,t", a+","+b), false, newGroup("m/o", "t", a), "RemoveAPIs, [B.v1.x.io] m/o"},
		{"the same, static", a, newGroup("n/g", "n,t", a+","+b), true, newGroup("m/o", "t", a), "RemoveAPIs, [A.v1.x.io,B.v1.x.io] m/o, " + static},
		{"intersecting, no subset", a, newGroup("n/g", "n,t", b), false, newGroup("m/o", "t", a), "APIConflict, [B.v1.x.io] m/o, " + conflict},
		{"the same, static", a, newGroup("n/g", "n,t", b), true, newGroup("m/o", "t", a), "APIConflict, [B.v1.x.io] m/o, " + conflict},
		{"no APIs", "", newGroup("n/g", "*", ""), false, newGroup("m/o", "*", a), "NoAPIConflict, []"},
		{"one of two APIs", a + "," + b, newGroup("n/g", "t", ""), false, newGroup("m/o", "t", b), "APIConflict, [] m/o, " + conflict},
		{"another version", a, newGroup("n/g", "t", ""), false, newGroup("m/o", "t", "A.v2.x.io"), "AddAPIs, [A.v1.x.io]"},
		{"all and one", a, newGroup("n/g", "*", ""), false, newGroup("m/o", "m", a), "APIConflict, [] m/o, " + conflict},
		{"one and all", a, newGroup("n/g", "n", ""), false, newGroup("m/o", "*", a), "APIConflict, [] m/o, " + conflict},
		{"all and all", a, newGroup("n/g", "*", ""), false, newGroup("m/o", "*", a), "APIConflict, [] m/o, " + conflict},
		{"nothing and all", a, newGroup("n/g", "", ""), false, newGroup("m/o", "*", a), "AddAPIs, [A.v1.x.io]"},
		{"all and nothing", a, newGroup("n/g", "*", ""), false, newGroup("m/o", "", a), "AddAPIs, [A.v1.x.io]"},
		{"it targets the home of the other", a, newGroup("n/g", "m", ""), false, newGroup("m/o", "t", a), "APIConflict, [] m/o, " + conflict},
		{"the other targets its home", a, newGroup("n/g", "t", ""), false, newGroup("m/o", "n", a), "APIConflict, [] m/o, " + conflict},
		{"targets apart", a, newGroup("n/g", "t", ""), false, newGroup("m/o", "s", a), "AddAPIs, [A.v1.x.io]"},
		{"a name that cannot be read", "A..x.io", newGroup("n/g", "n", "A..x.io"), false, newGroup("m/o", "s", a), "NoAPIConflict, [A..x.io]"},
		{"another operator of the group", a, newGroup("n/g", "n", a), false, newGroup("n/g", "n", a), "NoAPIConflict, [A.v1.x.io]"},
		{"the example of cluster-monitoring", "Prometheus.v1.monitoring.coreos.com", newGroup("n/g", "monitored", ""), false,
			newGroup("cluster-monitoring/cluster-monitoring", "monitored", "Alertmanager.v1.monitoring.coreos.com,Prometheus.v1.monitoring.coreos.com"),
			"APIConflict, [] cluster-monitoring/cluster-monitoring, " + conflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.group.Spec.StaticProvidedAPIs = tt.static
			v := operatorgroup.NewIndex(tt.other, tt.group).Decide(tt.group, apisOf(tt.provides))
			got := fmt.Sprintf("%s, [%s]", v.Result, operatorgroup.Annotation(v.Annotated))
			for _, rival := range v.Rivals {
				got += " " + rival.String()
			}
			if v.Failure != nil {
				got += fmt.Sprintf(", %s: %s", v.Failure.Reason, v.Failure.Message)
			}
			if got != tt.want {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestUnreadableAPI checks that an API is not added again and again if the annotation cannot represent it.
func TestUnreadableAPI(t *testing.T) {
	csv := read[v1alpha1.ClusterServiceVersion](t, "spec: {apiservicedefinitions: {owned: [{group: x.io, kind: A B, version: v1}]}}")
	apis, err := operatorgroup.Provided(csv)
	if err != nil {
		t.Fatal(err)
	}
	g := newGroup("n/g", "n", "")
	for _, want := range []operatorgroup.Result{operatorgroup.AddAPIs, operatorgroup.AddAPIs, operatorgroup.NoAPIConflict} {
		v := operatorgroup.NewIndex(g).Decide(g, apis)
		if v.Result != want {
			t.Fatalf("got %s, want %s", v.Result, want)
		}
		g.Annotations = map[string]string{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: operatorgroup.Annotation(v.Annotated)}
	}
}

// randomGroup returns a group with few choices, so that many groups intersect.
func randomGroup(r *rand.Rand, i int) *operatorsv1.OperatorGroup {
	pick := func(most int, format string) string {
		var names []string
		for range r.IntN(most + 1) {
			names = append(names, fmt.Sprintf(format, r.IntN(30)))
		}
		return strings.Join(names, ",")
	}
	targets := pick(5, "n%d")
	if r.IntN(10) == 0 {
		targets = "*"
	}
	return newGroup(fmt.Sprintf("n%d/g%d", r.IntN(30), i), targets, pick(4, "A%d.v1.x.io"))
}

// TestIndexAgrees compares the index with a comparison of every pair of groups, also after groups have changed.
func TestIndexAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	groups := make([]*operatorsv1.OperatorGroup, 40)
	for i := range groups {
		groups[i] = randomGroup(r, i)
	}
	x := operatorgroup.NewIndex(groups...)
	for range 2000 {
		i := r.IntN(len(groups))
		x.Delete(types.NamespacedName{Namespace: groups[i].Namespace, Name: groups[i].Name})
		groups[i] = randomGroup(r, i)
		x.Put(groups[i])
		g, apis := groups[r.IntN(len(groups))], operatorgroup.Annotated(randomGroup(r, 0))
		got := x.Rivals(types.NamespacedName{Namespace: g.Namespace, Name: g.Name}, apis)
		if want := rivals(g, apis, groups); !slices.Equal(got, want) {
			t.Fatalf("group %v with %s: got %v, want %v", g.Status.Namespaces, operatorgroup.Annotation(apis), got, want)
		}
	}
}

func TestShared(t *testing.T) {
	x := operatorgroup.NewIndex(newGroup("n/all", "*", ""), newGroup("m/all", "*", ""), newGroup("n/some", "b,a", ""),
		newGroup("b/other", "c", ""), newGroup("n/none", "", ""))
	name := func(text string) types.NamespacedName {
		g := newGroup(text, "", "")
		return types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
	}
	for _, tt := range []struct{ a, b, want string }{
		{"n/all", "m/all", `[""]`},
		{"n/all", "n/some", `["a" "b" "n"]`},
		{"n/some", "b/other", `["b"]`},
		{"n/none", "n/all", `[]`},
		{"n/none", "n/some", `[]`},
		{"n/unknown", "n/some", `[]`},
	} {
		for _, order := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			if got := fmt.Sprintf("%q", x.Shared(name(order[0]), name(order[1]))); got != tt.want {
				t.Errorf("%v share %s, want %s", order, got, tt.want)
			}
		}
	}
}

// rivals compares a group with every other group.
func rivals(g *operatorsv1.OperatorGroup, apis operatorgroup.APIs, all []*operatorsv1.OperatorGroup) []types.NamespacedName {
	surface := func(g *operatorsv1.OperatorGroup) []string {
		if len(g.Status.Namespaces) == 0 {
			return nil
		}
		return append(slices.Clone(g.Status.Namespaces), g.Namespace)
	}
	meet := func(a, b []string) bool {
		return len(a) > 0 && len(b) > 0 && (a[0] == "" || b[0] == "" ||
			slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) }))
	}
	var found []types.NamespacedName
	for _, other := range all {
		if other != g && meet(surface(g), surface(other)) && operatorgroup.Annotated(other).Intersection(apis).Len() > 0 {
			found = append(found, types.NamespacedName{Namespace: other.Namespace, Name: other.Name})
		}
	}
	slices.SortFunc(found, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// BenchmarkDecide checks that the time to decide about all groups grows with their number, not with its square: for
// tenants that each run the same operators in ten namespaces of their own, and for groups that share ten namespaces but
// no API.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, kind := range []string{"tenants", "shared"} {
			groups := make([]*operatorsv1.OperatorGroup, n)
			for i := range groups {
				var targets, apis []string
				for j := range 10 {
					tenant, owner := i, 0
					if kind == "shared" {
						tenant, owner = 0, i
					}
					targets, apis = append(targets, fmt.Sprintf("n%d-%d", tenant, j)), append(apis, fmt.Sprintf("A%d.v%d.x.io", owner, j))
				}
				groups[i] = newGroup(fmt.Sprintf("n%d/g", i), strings.Join(targets, ","), strings.Join(apis, ","))
				groups[i].ObjectMeta = metav1.ObjectMeta{Namespace: fmt.Sprintf("h%d", i), Name: "g", Annotations: groups[i].Annotations}
			}
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				for b.Loop() {
					x := operatorgroup.NewIndex(groups...)
					for _, g := range groups {
						if v := x.Decide(g, operatorgroup.Annotated(g)); v.Result != operatorgroup.NoAPIConflict {
							b.Fatal(v)
						}
					}
				}
			})
		}
	}
}
