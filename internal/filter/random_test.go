package filter_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestRandomSelections makes random selections from published catalogs, and checks that the result is valid and loses
// no update.
func TestRandomSelections(t *testing.T) {
	for _, dir := range shared.Catalogs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			selectAtRandom(t, dir)
		})
	}
	t.Run("big", func(t *testing.T) {
		t.Parallel()
		archive := shared.Path(t, "data/big-catalog.tar.xz")
		if !shared.Full() {
			t.Skip("unpacks 194 MB")
		}
		dir := t.TempDir()
		if out, err := exec.CommandContext(t.Context(), "tar", "-xJf", archive, "-C", dir).CombinedOutput(); err != nil {
			t.Fatalf("unpack %s: %v\n%s", archive, err, out)
		}
		selectAtRandom(t, dir)
	})
}

func selectAtRandom(t *testing.T, dir string) {
	t.Helper()
	c, _ := read(t, declcfg.Source{Name: dir, FS: os.DirFS(dir)})
	random := rand.New(rand.NewPCG(1, 2))
	n, selected := shared.Number(200, 20), 0
	for range n {
		texts, full := randomSelection(random, c.Index.Packages())
		packages, err := filter.ParsePackages(texts...)
		if err != nil {
			t.Fatal(err)
		}
		s := filter.Selection{Packages: packages}
		if full {
			s.Rule = filter.All
		}
		switch _, err := apply(t, c, s); {
		case err == nil:
			selected++
		case !strings.Contains(err.Error(), "no version satisfies"):
			t.Errorf("%q: %v", texts, err)
		}
		if t.Failed() {
			t.Fatalf("selected: %q, full: %v", texts, full)
		}
	}
	if selected < n*3/4 {
		t.Errorf("only %d of %d selections select anything", selected, n)
	}
}

// randomSelection returns up to three packages in the syntax of the command line, and whether all their versions are
// kept.
func randomSelection(random *rand.Rand, all []*declcfg.PackageIndex) (packages []string, full bool) {
	full = random.IntN(6) == 0
	for _, i := range random.Perm(len(all))[:min(len(all), 1+random.IntN(3))] {
		text := all[i].Name
		if random.IntN(2) == 0 {
			var channels []string
			for _, c := range all[i].Channels {
				if random.IntN(3) > 0 {
					channels = append(channels, c.Value.Name)
				}
			}
			if len(channels) > 0 {
				text += ":" + strings.Join(channels, ",")
			}
		}
		if !full && random.IntN(4) > 0 {
			text += "@" + randomRange(random, all[i])
		}
		packages = append(packages, text)
	}
	return packages, full
}

// randomRange returns a range between versions of the package.
func randomRange(random *rand.Rand, x *declcfg.PackageIndex) string {
	version := func() declcfg.Version { return *x.Bundles[random.IntN(len(x.Bundles))].Value.Version }
	ends := []declcfg.Version{version(), version()}
	slices.SortFunc(ends, declcfg.Version.Compare)
	switch random.IntN(4) {
	case 0:
		return fmt.Sprintf(">=%s", ends[0].Semver)
	case 1:
		return fmt.Sprintf("<=%s", ends[1].Semver)
	case 2:
		return fmt.Sprintf("!=%s", ends[0].Semver)
	}
	return fmt.Sprintf(">=%s <=%s", ends[0].Semver, ends[1].Semver)
}
