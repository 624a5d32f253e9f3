package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestPlatforms compares the plans and the matrix of eleven catalogs, for OpenShift 4.12 to 4.22, with golden files. The
// catalogs have packages of the published catalog v4.20, changed as follows. The reasons for the rows of the plans, which
// were derived by hand, are beside the changes; the plans of nfs-provisioner-operator and of bundles that the reasons do
// not name have no other step than upgrades.
func TestPlatforms(t *testing.T) {
	dir, names := derivedCatalogs(t)
	plans := opm(t, dir, "plan "+strings.Join(names, " "))
	if plans.code != 1 {
		t.Errorf("exit code %d", plans.code)
	}
	golden.Compare(t, "testdata/platforms/plans.golden", plans.stdout)
	golden.Compare(t, "testdata/platforms/problems.golden", plans.stderr)
	matrix := opm(t, dir, "matrix "+strings.Join(names, " "))
	if matrix.code != 0 {
		t.Errorf("exit code %d: %s", matrix.code, matrix.stderr)
	}
	golden.Compare(t, "testdata/platforms/matrix.golden", matrix.stdout)
}

// derivedCatalogs writes the catalogs, and returns their directory and their names.
func derivedCatalogs(t *testing.T) (dir string, names []string) {
	t.Helper()
	published := publishedObjects(t, shared.Path(t, "data/catalogs/v4.20"))
	dir = t.TempDir()
	for minor := 12; minor <= 22; minor++ {
		c := derivedCatalog{minor: minor, packages: published()}
		c.change()
		name := fmt.Sprintf("v4.%d", minor)
		names = append(names, name)
		c.write(t, filepath.Join(dir, name))
	}
	return dir, names
}

// TestAgainstItself checks that a catalog may be published in the place of itself: its problems are known, and nothing is
// lost.
func TestAgainstItself(t *testing.T) {
	dir, names := derivedCatalogs(t)
	for _, name := range shared.Sample(names, 2) {
		for _, line := range []string{
			"validate " + name + " --against " + name + " --warnings-as-errors",
			"check " + name + " --against " + name + " --skip check-images --warnings-as-errors",
		} {
			if r := opm(t, dir, line); r.code != 0 {
				t.Errorf("opm %s: exit code %d\n%s%s", line, r.code, r.stdout, r.stderr)
			}
		}
	}
}

// TestEachWithout checks that commands leave out the catalogs that do not have a package, and say so.
func TestEachWithout(t *testing.T) {
	dir, names := derivedCatalogs(t)
	for _, name := range names[:5] {
		if err := os.Remove(filepath.Join(dir, name, "patterns-operator.json")); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"list channels patterns-operator --each ./",
		"updates --package patterns-operator --each ./",
		"promote patterns-operator.v0.0.71 --to new --create --each ./",
		"deprecate bundle patterns-operator.v0.0.71 --message old --each ./",
	} {
		r := opm(t, dir, line)
		if r.code != 0 || !regexp.MustCompile(`(?m)^opm: not in (./)?v4.12 … (./)?v4.16$`).MatchString(r.stderr) {
			t.Errorf("opm %s: exit code %d\n%s", line, r.code, r.stderr)
		}
	}
}

// TestPublishedPlatforms compares the plans from one published catalog to the other with a golden file. Derived by hand:
//
//   - dell-csm-operator: 4.12 has 1.2.0 and 1.3.0. The first bundle of 4.20 is 1.6.1, which replaces none.
//   - ecr-secret-operator: 4.12 has the channels v0.3 and v0.4, 4.20 has the same bundles in channel alpha.
//   - odf-node-recovery-operator is not in 4.20.
//   - The bundles of the other packages of 4.12 are in 4.20, in the same channels.
func TestPublishedPlatforms(t *testing.T) {
	dir := shared.Path(t, "data/catalogs")
	got := opm(t, dir, "plan v4.12 v4.20")
	golden.Compare(t, "testdata/platforms/published-plans.golden", got.stdout)
	golden.Compare(t, "testdata/platforms/published-problems.golden", got.stderr)
}

// change makes the catalog one for its version of the platform.
func (c *derivedCatalog) change() {
	// kube-green: version 4.12+i has up to three of the ten bundles 0 to 9: i-2, i-1 and i. A bundle is in its own
	// catalog and the two after it, and is updated in the third. So bundle 0 must be updated to another by 4.15, that by
	// three versions later, and so on: three updates are needed. Of all such plans, the shortest ends at bundle 8 (0.7.0),
	// the last one of 4.20, and each update is as early as it can be: 2 (0.4.0) on 4.14, 5 (0.5.1) on 4.17, 8 on 4.20.
	green := []string{"0.3.0", "0.3.1", "0.4.0", "0.4.1", "0.5.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.7.1"}
	i := c.minor - 12
	c.keep("kube-green", green[max(i-2, 0):min(i+1, len(green))]...)

	// ecr-secret-operator: 4.14 adds 0.4.1, 4.16 adds 0.5.0, 4.18 renames the channel, 4.20 removes 0.3.2 and 0.4.0. One
	// update is needed before 4.20 or on it. The first with which the operator may stay is to 0.4.1, on 4.14.
	switch {
	case c.minor < 14:
		c.keep("ecr-secret-operator", "0.3.2", "0.4.0")
	case c.minor < 16:
		c.keep("ecr-secret-operator", "0.3.2", "0.4.0", "0.4.1")
	case c.minor >= 20:
		c.keep("ecr-secret-operator", "0.4.1", "0.5.0")
	}
	if c.minor < 18 {
		c.rename("ecr-secret-operator", "alpha", "v0.4")
	}

	// dell-csm-operator: up to 4.15 the head is 1.8.1. From 4.19 on only 1.10.2 and 1.11.3 are left, which replace 1.9.1
	// and skip later ones. So all bundles of 4.12 must be updated between 4.16 and 4.18, to the end of the channel.
	switch {
	case c.minor < 16:
		c.keep("dell-csm-operator", "1.6.1", "1.7.0", "1.8.0", "1.8.1")
	case c.minor >= 19:
		c.keep("dell-csm-operator", "1.10.2", "1.11.3")
	}

	// patterns-operator: 4.12 has 0.0.1 to 0.0.71, and each version one more, up to 0.0.80. OpenShift 4.12 is the last
	// one for 0.0.70, 4.13 for 0.0.71, and so on, up to 4.21 for 0.0.79. Older bundles can stay. 0.0.70 must be updated on
	// 4.12, and then, as 0.0.71, to the only later bundle on each version up to 4.21.
	var versions []string
	for n := 1; n <= min(80, 71+i); n++ {
		versions = append(versions, fmt.Sprintf("0.0.%d", n))
	}
	c.keep("patterns-operator", versions...)
	for n := range 10 {
		c.limit("patterns-operator", fmt.Sprintf("0.0.%d", 70+n), fmt.Sprintf("4.%d", 12+n))
	}

	// multi-nic-cni-operator, channel alpha: OpenShift 4.14 is the last one for 1.3.0, and 1.3.1, to which it is updated,
	// comes with 4.15: it is stuck on 4.14. Channel beta is renamed in 4.18, without 1.1.0: it is updated to the end of
	// the channel on 4.12, which is as short as later, and then switches as the others do. 4.21 has neither channel
	// stable nor its bundles, which no other channel updates: they are stuck on 4.20.
	const cni = "multi-nic-cni-operator"
	c.limit(cni, "1.3.0", "4.14")
	if c.minor < 15 {
		c.remove(cni, "1.3.1")
	}
	if c.minor >= 18 {
		c.remove(cni, "1.1.0")
		c.rename(cni, "beta", "tech-preview")
	}
	if c.minor >= 21 {
		c.remove(cni, "1.0.3", "1.0.4", "1.0.5", "1.2.4", "1.2.5", "1.2.6")
		c.rename(cni, "stable", "alpha") // the default channel
	}

	// aws-neuron-operator: 4.20 does not have it, so all are stuck on 4.19.
	if c.minor >= 20 {
		delete(c.packages, "aws-neuron-operator")
	}
}

// A derivedCatalog has objects by package.
type derivedCatalog struct {
	minor    int // of the version of OpenShift
	packages map[string][]map[string]any
}

// publishedObjects returns a function that returns new objects of some published packages, without their metadata.
func publishedObjects(t *testing.T, dir string) func() map[string][]map[string]any {
	t.Helper()
	chosen := []string{
		"aws-neuron-operator", "dell-csm-operator", "ecr-secret-operator", "kube-green", "multi-nic-cni-operator",
		"nfs-provisioner-operator", "patterns-operator",
	}
	texts := map[string][]string{}
	text := func(o *declcfg.Object) (string, error) { return string(o.JSON()), nil }
	for _, name := range chosen {
		for o, err := range declcfg.Map(t.Context(), text, declcfg.Source{FS: os.DirFS(filepath.Join(dir, name))}) {
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = append(texts[name], o)
		}
	}
	return func() map[string][]map[string]any {
		packages := map[string][]map[string]any{}
		for name, all := range texts {
			for _, text := range all {
				var o map[string]any
				if err := json.Unmarshal([]byte(text), &o); err != nil {
					t.Fatal(err)
				}
				delete(o, "relatedImages")
				delete(o, "icon")
				o["properties"] = slices.DeleteFunc(objectsOf(o["properties"]), func(p map[string]any) bool {
					return p["type"] == declcfg.PropertyCSVMetadata
				})
				packages[name] = append(packages[name], o)
			}
		}
		return packages
	}
}

// objectsOf returns the objects of a list of JSON.
func objectsOf(v any) []map[string]any {
	var all []map[string]any
	values, _ := v.([]any)
	for _, v := range values {
		o, _ := v.(map[string]any)
		all = append(all, o)
	}
	if all == nil {
		all, _ = v.([]map[string]any)
	}
	return all
}

// keep removes all other bundles of a package.
func (c *derivedCatalog) keep(pkg string, versions ...string) {
	c.filter(pkg, func(version string) bool { return slices.Contains(versions, version) })
}

// remove removes bundles of a package.
func (c *derivedCatalog) remove(pkg string, versions ...string) {
	c.filter(pkg, func(version string) bool { return !slices.Contains(versions, version) })
}

// filter removes bundles, and channels that are then empty. What an entry replaces and skips stays.
func (c *derivedCatalog) filter(pkg string, keeps func(version string) bool) {
	isRemoved := func(o map[string]any) bool {
		name, _ := o["name"].(string)
		_, version, _ := strings.Cut(name, ".v")
		return !keeps(version)
	}
	c.packages[pkg] = slices.DeleteFunc(c.packages[pkg], func(o map[string]any) bool {
		switch o["schema"] {
		case declcfg.SchemaBundle:
			return isRemoved(o)
		case declcfg.SchemaChannel:
			entries := slices.DeleteFunc(objectsOf(o["entries"]), isRemoved)
			o["entries"] = entries
			return len(entries) == 0
		}
		return false
	})
}

// rename renames a channel.
func (c *derivedCatalog) rename(pkg, from, to string) {
	for _, o := range c.packages[pkg] {
		switch {
		case o["schema"] == declcfg.SchemaChannel && o["name"] == from:
			o["name"] = to
		case o["schema"] == declcfg.SchemaPackage && o["defaultChannel"] == from:
			o["defaultChannel"] = to
		}
	}
}

// limit gives a bundle, if the catalog has it, an olm.maxOpenShiftVersion.
func (c *derivedCatalog) limit(pkg, version, last string) {
	for _, o := range c.packages[pkg] {
		if o["schema"] == declcfg.SchemaBundle && strings.HasSuffix(fmt.Sprint(o["name"]), ".v"+version) {
			property := map[string]any{"type": declcfg.PropertyMaxOpenShiftVersion, "value": last}
			o["properties"] = append(objectsOf(o["properties"]), property)
		}
	}
}

// write writes a file for each package.
func (c *derivedCatalog) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		var text []byte
		for _, o := range c.packages[name] {
			line, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, line...), '\n')
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
