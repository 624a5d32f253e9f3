package diagnose_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/diagnose"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An object has the parts of an object in a play in which OLM says whether it is done.
type object struct {
	Kind     string
	Metadata struct {
		Namespace, Name string
		Labels          map[string]string
	}
	Status struct {
		Phase, State    string
		ConnectionState struct{ LastObservedState string }
		Conditions      []struct{ Type, Status string }
		InstallPlanRef  struct{ Name string }
	}
}

func (o *object) ref() simulate.Ref {
	return simulate.Ref{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}

// isBroken reports whether OLM itself says that an object failed or waits.
func (o *object) isBroken(plans map[string]bool) bool {
	s := &o.Status
	switch o.Kind {
	case "ClusterServiceVersion":
		_, copied := o.Metadata.Labels["olm.copiedFrom"]
		return !copied && s.Phase != "Succeeded"
	case "InstallPlan":
		return s.Phase != "Complete" && plans[o.Metadata.Namespace+"/"+o.Metadata.Name]
	case "CatalogSource":
		return s.ConnectionState.LastObservedState == "TRANSIENT_FAILURE"
	case "Subscription":
		for _, c := range s.Conditions {
			if c.Status == "True" && slices.Contains([]string{"ResolutionFailed", "BundleUnpackFailed", "InstallPlanFailed"}, c.Type) {
				return true
			}
		}
		return s.State != "AtLatestKnown"
	}
	return false
}

// objectsIn returns the objects of a recorded state.
func objectsIn(t *testing.T, file string) []object {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []object }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestPlays checks that every object of which OLM says that it failed or waits is in a finding, and that there are no
// findings if there is no such object. A redacted result does not have the namespace of the operators.
func TestPlays(t *testing.T) {
	dirs := shared.Plays(t)
	for _, name := range shared.Sample(slices.Sorted(maps.Keys(dirs)), 10) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dirs[name], "result.json")
			objects, plans, broken := objectsIn(t, file), map[string]bool{}, map[simulate.Ref]bool{}
			for _, o := range objects {
				if o.Kind == "Subscription" {
					plans[o.Metadata.Namespace+"/"+o.Status.InstallPlanRef.Name] = true
				}
			}
			for _, o := range objects {
				if o.isBroken(plans) {
					broken[o.ref()] = true
				}
			}
			state := loadFile(t, file)
			r := run(t, state)
			if len(broken) == 0 && len(r.Findings) > 0 {
				t.Errorf("all is healthy, got\n%s", text(t, r))
			}
			for _, f := range r.Findings {
				delete(broken, f.Object)
				for _, ref := range f.Affected {
					delete(broken, ref)
				}
			}
			if len(broken) > 0 {
				t.Errorf("no finding is about %v:\n%s", broken, text(t, r))
			}
			r.Redact(state, nil)
			if out := text(t, r); workName.MatchString(out) {
				t.Errorf("the namespace work is in the redacted result\n%s", out)
			}
		})
	}
}

// workName matches the name of the namespace in which most plays have operators.
var workName = regexp.MustCompile(`\bwork\b`)

func loadFile(t *testing.T, file string) *cluster.State {
	t.Helper()
	state, err := cluster.Load(t.Context(), nil, declcfg.Source{
		Name: file, FS: os.DirFS(filepath.Dir(file)), File: filepath.Base(file),
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// playCauses are the first causes of plays, with the contents of the catalogs: before OLM was started, and after it came
// to rest. "" means that there are none.
var playCauses = map[string]struct{ before, after string }{
	"hello/1": {"", ""},
	"og_none/1": {
		"operatorgroup-count Namespace work", "operatorgroup-count Namespace work",
	},
	"og_sa_missing/2-appears":              {"operatorgroup-account OperatorGroup work/g", "installplan-failed InstallPlan work/install-t9v8g"},
	"upd_crd_cr_breaks/2-breaks":           {"predicted Subscription work/kiln", "installplan-failed InstallPlan work/install-tdrd4"},
	"never_ready/2-update-on-top":          {"operator-failed ClusterServiceVersion work/loom.v1.0.0", "operator-failed ClusterServiceVersion work/loom.v1.0.0"},
	"opcond_skip/3-second-update":          {"operator-not-upgradeable ClusterServiceVersion work/loom.v1.1.0", "operator-not-upgradeable ClusterServiceVersion work/loom.v1.1.0"},
	"pkg_rename_newsub/2-new-subscription": {"predicted Subscription work/jacquard", "operator-without-subscription ClusterServiceVersion work/loom.v1.0.0"},
	"two_subs_late/2-another":              {"predicted Subscription work/again", "subscription-duplicate Subscription work/again"},
	"cat_lost_bundle/2-no-edge":            {"update-held-back Subscription work/loom", "update-held-back Subscription work/loom"},
	"cat_lost_bundle/3-channel-gone":       {"predicted Subscription work/loom", "resolution-failed Subscription work/loom"},
	"dep_update/2-dependency-missing":      {"update-held-back Subscription work/loom", "update-held-back Subscription work/loom"},
	"unpack_retry/1-fails":                 {"", "bundle-unpack Subscription work/loom"},
	"manual_mixed/1-wait":                  {"predicted Subscription work/loom", "approval-pending InstallPlan work/install-2l9rp"},
	"cat_down/1":                           {"", "catalog-down CatalogSource olm/down"},
	"unsat_channel/1":                      {"predicted Subscription work/other", "resolution-failed Subscription work/other"},
	"api_required/1-nobody":                {"predicted Subscription work/loom", "resolution-failed Subscription work/loom"},
	"local_cat_only/1-not-visible":         {"catalog-missing Subscription other/loom", "catalog-missing Subscription other/loom"},
	"og_two_later/2-second":                {"operatorgroup-count Namespace work", "operatorgroup-count Namespace work"},
	"og_static/1-nothing":                  {"predicted Subscription work/kiln", "api-conflict ClusterServiceVersion work/kiln.v1.0.0"},
	"og_unsupported/1":                     {"predicted Subscription work/kiln", "operatorgroup-unsupported ClusterServiceVersion work/kiln.v1.0.0"},
	"og_selector_grows/3-other-selector":   {"predicted Subscription work/loom", "operatorgroup-unsupported ClusterServiceVersion work/loom.v1.0.0"},
	"sa_deleted/2-sa-gone":                 {"predicted Subscription work/kiln", "operator-requirements ClusterServiceVersion work/kiln.v1.0.0"},
	"api_service/1-not-served":             {"", "operator-failed ClusterServiceVersion work/loom.v1.0.0"},
	"webhook_conv_own/1-own":               {"predicted Subscription work/kiln", "operator-failed ClusterServiceVersion work/kiln.v1.0.0"},
	"unhealthy_later/2-unhealthy":          {"predicted Subscription work/loom", "operator-failed ClusterServiceVersion work/loom.v1.0.0"},
}

// TestPlayCauses checks the first causes of plays.
func TestPlayCauses(t *testing.T) {
	dirs := shared.Plays(t)
	for _, name := range shared.Sample(slices.Sorted(maps.Keys(playCauses)), 4) {
		want := playCauses[name]
		t.Run(name, func(t *testing.T) {
			opts := playOptions(t, dirs[name])
			for file, want := range map[string]string{"state.json": want.before, "result.json": want.after} {
				r, err := diagnose.Run(t.Context(), loadFile(t, filepath.Join(dirs[name], file)), opts)
				if err != nil {
					t.Fatal(err)
				}
				first := ""
				if len(r.Findings) > 0 {
					first = r.Findings[0].Rule + " " + r.Findings[0].Object.String()
				}
				if first != want {
					t.Errorf("%s: got first %q, want %q:\n%s", file, first, want, text(t, r))
				}
			}
		})
	}
}

// playOptions returns the catalogs of a play.
func playOptions(t *testing.T, dir string) diagnose.Options {
	t.Helper()
	var play struct {
		Catalogs        map[string]string // folders, by NAMESPACE/NAME
		GlobalNamespace string
	}
	raw, err := os.ReadFile(filepath.Join(dir, "play.json"))
	if err == nil {
		err = json.Unmarshal(raw, &play)
	}
	if err != nil {
		t.Fatal(err)
	}
	opts := diagnose.Options{Cluster: install.Options{Global: play.GlobalNamespace}}
	for name, folder := range play.Catalogs {
		folder = filepath.Join(dir, folder)
		c, err := resolve.ReadCatalog(t.Context(), declcfg.Source{Name: folder, FS: os.DirFS(folder)})
		if err != nil {
			t.Fatal(err)
		}
		c.Namespace, c.Name, _ = strings.Cut(name, "/")
		opts.Cluster.Catalogs = append(opts.Cluster.Catalogs, c)
	}
	return opts
}
