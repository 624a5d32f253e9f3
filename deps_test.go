package opm

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows lists the allowed imports of each package of this module, without the standard library: first packages of this
// module, without the module path, then third-party packages. A name covers everything below it.
//
// The rooms of docs/design.md say what each package is for. A new arrow is a decision: imports point one way, and a
// library is used in as few places as possible. Tests may import anything.
var arrows = map[string][]string{
	"cmd/opm": {
		"pkg", "schemas", "internal", "cmd/opm/internal", "github.com/spf13/cobra", "github.com/spf13/pflag", "k8s.io/apimachinery",
		json, "github.com/sirupsen/logrus",
	},
	"cmd/opm/internal/console": {"internal/legible", "internal/plural", "golang.org/x/term", "internal/reference"},
	"cmd/opm/internal/startup": {},
	"cmd/opm/internal/watch":   {"pkg/declcfg", "internal/indexignore", "github.com/fsnotify/fsnotify"},
	"cmd/opm/internal/process": {"internal/regular", "internal/serve/memlimit"},
	"cmd/opm/internal/cmdline": {
		"internal/output", "github.com/spf13/cobra", "github.com/spf13/pflag", "k8s.io/apimachinery",
		"internal/nearest",
	},
	"cmd/opm/internal/advice": {
		"cmd/opm/internal/cmdline", "cmd/opm/internal/input", "internal/compose", "internal/kube", "internal/olm/cluster",
		"internal/reference", "internal/shell", "pkg/bundle", "pkg/declcfg", "pkg/render", "pkg/serve",
		"github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"cmd/opm/internal/input": {
		"internal/reference", "internal/shell", "pkg/bundle", "pkg/declcfg", "pkg/render", "pkg/template", "pkg/validate",
		"cmd/opm/internal/cmdline", "pkg/graph",
	},
	"cmd/opm/internal/completion": {
		"cmd/opm/internal/cmdline", "cmd/opm/internal/input", "internal/platform", "internal/reference", "pkg/declcfg",
		"pkg/render", "github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"cmd/opm/internal/failure": {
		"cmd/opm/internal/cmdline", "cmd/opm/internal/help", "cmd/opm/internal/process", "internal/legible",
		"internal/parallel", "internal/plural", "pkg/declcfg", "pkg/problem", "github.com/spf13/cobra",
	},
	"cmd/opm/internal/problems": {
		"cmd/opm/internal/console", "cmd/opm/internal/failure", "internal/atomicfile", "internal/legible",
		"internal/opmyaml", "internal/output", "internal/plural", "internal/regular", "pkg/problem",
	},
	"cmd/opm/internal/help": {
		"cmd/opm/internal/cmdline", "internal/opmyaml", "schemas", "github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"pkg/serve": {
		"internal/serve/store", "internal/serve/web", "pkg/api", "pkg/validate", "pkg/problem", "pkg/declcfg",
		"internal/atomicfile", "internal/plural", "golang.org/x/sync", "golang.org/x/sys", "google.golang.org/grpc",
		"google.golang.org/protobuf", "github.com/cenkalti/backoff/v5", "internal/legible", "internal/regular",
		"internal/serve/guard", "internal/serve/memlimit", "internal/parallel",
	},
	"internal/olm/resolution": {
		"internal/legible", "internal/olm/cluster", "internal/olm/install", "internal/output", "internal/resolve",
		"pkg/graph/draw", "k8s.io/apimachinery",
	},
	"internal/serve/memlimit": {},
	"internal/serve/guard":    {"internal/pool", "google.golang.org/grpc", "google.golang.org/protobuf"},
	"internal/serve/listen":   {},
	"internal/serve/profiles": {},
	"internal/serve/store": {
		"pkg/api", "pkg/graph", "pkg/declcfg", "internal/atomicfile", "internal/format", "internal/indexignore",
		"internal/parallel", "internal/pool", "github.com/cespare/xxhash", "github.com/klauspost/compress",
		"google.golang.org/protobuf", json, "internal/regular", "internal/skim", "internal/serve/store/internal/index",
		"internal/place",
	},
	"internal/serve/store/internal/index": {"google.golang.org/protobuf"},
	"internal/serve/web": {
		"internal/serve/store", "pkg/graph/draw", "pkg/graph", "pkg/declcfg", "internal/icon", "internal/k8sname",
		"internal/pool", "github.com/klauspost/compress", "github.com/prometheus/client_golang", "golang.org/x/sync", json,
		"internal/resolve",
		"internal/list", "internal/search",
	},
	"internal/publish": {
		"pkg/image", "internal/serve/store", "pkg/validate", "pkg/declcfg", "internal/atomicfile",
		"internal/parallel", "internal/plural", "internal/regular", "github.com/google/go-containerregistry",
		"golang.org/x/crypto/x509roots/fallback/bundle", "golang.org/x/sync",
	},
	"internal/publish/pipeline": {
		"internal/publish", "internal/compose", "pkg/template", "pkg/validate", "internal/resolve", "internal/diff", "internal/imagecheck",
		"pkg/render", "pkg/image", "pkg/problem", "pkg/declcfg", "internal/report", "internal/nearest",
		"internal/memo", "internal/plural", "internal/regular", "internal/shell",
	},
	"internal/publish/manifests": {
		"pkg/image", "internal/format", "internal/k8sname", "github.com/operator-framework/api", "k8s.io/api",
		"k8s.io/apimachinery", "internal/atomicfile", "internal/catalogsource", "internal/strictyaml",
	},
	"pkg/api":        {"google.golang.org/grpc", "google.golang.org/protobuf"},
	"pkg/api/client": {"pkg/api", "google.golang.org/grpc", "google.golang.org/protobuf"},
	"internal/diff": {
		"internal/nearest", "pkg/graph", "pkg/declcfg", "pkg/problem", "internal/plural", json, "internal/report",
		"internal/skim",
	},
	"internal/filter": {
		"internal/resolve", "pkg/graph", "pkg/declcfg", "internal/nearest", "internal/parallel", "internal/regular",
		"internal/strictyaml", "github.com/blang/semver/v4", json, "pkg/problem", "internal/reference", "pkg/validate",
		"internal/legible", "internal/place", "internal/plural",
	},
	"internal/resolve": {
		"pkg/declcfg", json, "pkg/graph", "internal/k8sname", "k8s.io/apimachinery", "github.com/blang/semver/v4",
		"internal/constraint", "internal/resolve/internal/solver", "internal/legible", "internal/nearest", "internal/plural",
		"pkg/problem", "internal/parallel", "internal/updates", "pkg/bundle", "internal/platform",
		"internal/installmode", "internal/report", "github.com/operator-framework/api",
	},
	"internal/resolve/internal/solver": {"github.com/go-air/gini"},
	"internal/olm/simulate": {
		"internal/olm/cluster", "internal/olm/install", "internal/resolve", "pkg/declcfg", "k8s.io/apimachinery",
		"github.com/operator-framework/api", "k8s.io/api", "internal/legible", "internal/report", "internal/plural", "internal/nearest", json,
		"github.com/blang/semver/v4", "internal/olm/rbac", "internal/olm/operatorgroup", "internal/operator", "k8s.io/apiextensions-apiserver", "internal/olm/updatecheck",
		"pkg/graph", "pkg/problem", "internal/catalogsource", "github.com/prometheus/client_golang",
		"github.com/prometheus/common", "pkg/bundle", "internal/platform", "internal/updates", "internal/admission",
		"internal/format",
	},
	"internal/olm/cluster": {
		"internal/resolve", "pkg/declcfg", "internal/document", "internal/regular", "github.com/operator-framework/api",
		"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", json, "internal/format",
		"internal/admission", "internal/legible", "internal/k8sname", "internal/olm/operatorgroup", "internal/catalogsource",
		"internal/nearest", "internal/skim", "k8s.io/apiserver/pkg/apis/cel", "internal/kube", "internal/place",
	},
	"internal/olm/diagnose": {
		"internal/kube", "internal/olm/simulate", "internal/olm/cluster", "internal/olm/install", "internal/olm/operatorgroup",
		"internal/resolve", "pkg/declcfg", "pkg/problem", "internal/legible", "internal/report", "internal/plural",
		"internal/nearest", "internal/shell", "internal/catalogsource", "internal/operator", json,
		"github.com/operator-framework/api", "k8s.io/api", "k8s.io/apimachinery",
	},
	"internal/olm/audit": {
		"internal/olm/simulate", "internal/olm/cluster", "internal/olm/install", "internal/olm/operatorgroup", "internal/olm/rbac",
		"internal/resolve", "pkg/graph", "pkg/declcfg", "internal/legible", "internal/report", "internal/plural",
		"github.com/operator-framework/api", "k8s.io/api", "k8s.io/apimachinery",
	},
	"internal/olm/install": {
		"internal/shell", "internal/olm/cluster", "internal/resolve", "pkg/bundle", "pkg/declcfg", "internal/nearest", "internal/parallel",
		"internal/catalogsource", "internal/platform", "internal/reference", "pkg/image",
		"github.com/operator-framework/api", "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery",
		json,
	},
	"internal/operator": {
		"github.com/operator-framework/api", "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery",
	},
	"internal/olm/rbac": {
		"internal/operator", "github.com/operator-framework/api", "k8s.io/api", "k8s.io/apimachinery",
		"k8s.io/component-helpers",
	},
	"internal/catalogsource": {
		"internal/operator", "github.com/distribution/reference", "github.com/operator-framework/api",
		"internal/legible", "internal/reference", "k8s.io/api", "k8s.io/apimachinery",
	},
	"internal/olm/operatorgroup": {
		"internal/plural", "github.com/operator-framework/api", "k8s.io/api", "k8s.io/apimachinery",
	},
	"internal/list": {
		"pkg/graph", "pkg/declcfg", "internal/output", "internal/legible", "internal/resolve", "internal/parallel",
		"internal/report", "internal/search", "internal/nearest",
	},
	"internal/search": {"internal/nearest", "internal/memo", "pkg/declcfg", "github.com/klauspost/compress"},
	"internal/olm/across": {
		"internal/olm/cluster", "pkg/problem", "pkg/graph", "internal/platform", "pkg/declcfg", "internal/report", "internal/parallel", "internal/plural", "github.com/blang/semver/v4", json,
		"internal/nearest",
	},
	"internal/compose": {
		"pkg/render", "pkg/validate", "pkg/problem", "pkg/image", "pkg/declcfg", "internal/atomicfile",
		"internal/dockerfile", "internal/legible", "internal/parallel", "internal/reference", "internal/strictyaml",
		json, "internal/shell",
		"internal/regular", "internal/place",
	},
	"internal/imagecheck": {
		"pkg/image", "pkg/problem", "pkg/declcfg", "internal/parallel", "internal/plural",
		"github.com/google/go-containerregistry",
	},
	"internal/olm/updatecheck": {
		"pkg/render", "pkg/bundle", "pkg/image", "pkg/problem", "pkg/graph", "pkg/declcfg", "internal/document",
		"internal/format", "internal/parallel", "internal/plural", "internal/spool",
		"k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "sigs.k8s.io/crdify", json, "internal/olm/cluster",
		"golang.org/x/sync", "internal/admission", "internal/memo", "internal/operator", "github.com/operator-framework/api",
		"internal/olm/rbac", "k8s.io/api",
	},
	"pkg/validate": {
		"pkg/problem", "internal/platform", "internal/skim", "pkg/graph", "pkg/declcfg", "schemas", "internal/icon", "internal/k8sname",
		"internal/memo", "internal/nearest", "internal/parallel", "github.com/google/cel-go", json,
		"internal/legible", "internal/plural", "internal/constraint", "internal/pool", "internal/reference",
		"internal/place",
	},
	"pkg/template": {
		"pkg/validate", "pkg/render", "pkg/problem", "pkg/declcfg", "internal/document", "internal/format",
		"internal/nearest", "internal/strictyaml", "github.com/blang/semver/v4", json, "pkg/graph",
		"internal/legible", "internal/atomicfile", "internal/skim",
		"internal/regular", "internal/place",
	},
	"internal/mirror": {
		"internal/publish", "internal/publish/manifests", "internal/filter", "pkg/image", "pkg/declcfg", "internal/atomicfile",
		"internal/parallel", "internal/plural", "internal/regular", "github.com/google/go-containerregistry", "golang.org/x/sync", json,
		"k8s.io/apimachinery", "internal/reference",
	},
	"internal/edit": {
		"pkg/template", "pkg/validate", "pkg/render", "pkg/problem", "pkg/graph", "pkg/declcfg",
		"internal/atomicfile", "internal/document", "internal/format", "internal/nearest", "internal/reference", "internal/regular",
		"internal/yamljson", "github.com/rogpeppe/go-internal", "go.yaml.in/yaml/v4", json, "internal/edit/internal/layout",
		"internal/syntax", "internal/place", "internal/skim",
		"internal/parallel", "internal/plural", "internal/shell",
	},
	"internal/edit/internal/layout": {
		"internal/document", "internal/format", "internal/skim", "internal/syntax", "internal/yamljson", json,
	},
	"pkg/render": {
		"pkg/bundle", "pkg/image", "pkg/declcfg", "internal/atomicfile", "internal/parallel", "internal/reference",
		"internal/spool", "internal/tarfs", json, "internal/document", "internal/plural",
		"internal/regular", "golang.org/x/sync", "internal/platform", "internal/nearest", "internal/place",
	},
	"pkg/bundle": {
		"pkg/problem", "internal/platform", "pkg/declcfg", "internal/atomicfile", "internal/document", "internal/format",
		"github.com/operator-framework/api", "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery",
		"k8s.io/client-go/rest", "github.com/blang/semver/v4",
		json, "internal/regular", "internal/pool", "internal/skim", "internal/k8sname", "internal/legible", "internal/reference",
		"internal/operator", "internal/admission", "k8s.io/apiserver", "internal/installmode", "pkg/graph",
		"internal/place",
	},
	"internal/plain": {
		"pkg/bundle", "internal/operator", "internal/platform", "pkg/declcfg", "github.com/operator-framework/api",
		"k8s.io/api", "k8s.io/apimachinery", json, "internal/installmode", "internal/place",
	},
	"pkg/image": {
		"internal/document", "internal/legible", "internal/plural", "internal/reference", "internal/spool",
		"internal/tarfs", "github.com/docker/docker-credential-helpers", "github.com/google/go-containerregistry",
		"go.podman.io/image/v5", "github.com/klauspost/compress", "golang.org/x/net/http2", "golang.org/x/sync", json,
		"internal/place", "internal/regular", "internal/atomicfile", "internal/parallel", "internal/strictyaml",
	},
	"pkg/graph": {
		"pkg/declcfg", "github.com/Masterminds/semver/v3", "github.com/blang/semver/v4", json, "internal/legible",
		"internal/updates",
	},
	"pkg/graph/draw": {
		"internal/nearest", "pkg/graph", "pkg/declcfg", "internal/output", "internal/legible", "internal/plural", json,
	},
	"internal/olm/impact": {
		"internal/olm/audit", "internal/olm/rbac", "internal/olm/updatecheck", "internal/resolve", "pkg/graph", "pkg/image", "pkg/problem",
		"pkg/declcfg", "internal/report", "internal/parallel", "internal/plural", "k8s.io/api", "internal/nearest",
	},
	"internal/opmyaml": {
		"internal/nearest", "internal/platform", "internal/plural", "internal/reference", "internal/regular",
		"internal/strictyaml", "pkg/declcfg", "pkg/problem", "pkg/validate", json,
	},
	"internal/linelog":  {"internal/legible", "github.com/sirupsen/logrus"},
	"internal/platform": {"pkg/declcfg", "github.com/blang/semver/v4", json, "k8s.io/apimachinery/pkg/util/version"},
	"pkg/problem": {
		"pkg/declcfg", "internal/format", "internal/legible", "internal/nearest", "internal/output", "internal/plural", json,
		"internal/report", "golang.org/x/tools/txtar", "internal/place",
	},
	"pkg/declcfg": {
		"internal/place", "internal/atomicfile", "internal/document", "internal/format", "internal/indexignore", "internal/parallel",
		"internal/yamljson", "github.com/blang/semver/v4", json, "internal/regular", "internal/skim",
		"internal/memo", "internal/nearest", "internal/legible",
	},
	"internal/place":      {json},
	"schemas":             {"pkg/declcfg", "cuelang.org/go", json, "internal/place", "internal/skim"},
	"examples/client":     {"pkg/api"},
	"internal/atomicfile": {"internal/regular", json},
	"internal/skim":       {json, "internal/place"},
	"internal/constraint": {"pkg/declcfg", "github.com/google/cel-go", "github.com/blang/semver/v4"},
	"internal/dockerfile": {json},
	"internal/document": {
		"internal/place", "internal/format", "internal/pool", "internal/yamljson", json, "internal/plural",
		"internal/skim", "internal/syntax",
	},
	"internal/format":      {"internal/yamljson", json, "internal/pool", "internal/skim"},
	"internal/icon":        {},
	"internal/indexignore": {"github.com/sabhiram/go-gitignore"},
	"internal/k8sname":     {"k8s.io/apimachinery", "internal/legible"},
	"internal/admission": {
		"github.com/operator-framework/api", "k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery",
	},
	"internal/kube": {
		"internal/legible", "internal/nearest", "internal/plural", "internal/spool", json, "k8s.io/api", "k8s.io/apimachinery",
		"k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd", "golang.org/x/sync",
		"k8s.io/client-go/tools/portforward", "k8s.io/client-go/transport/spdy", "k8s.io/streaming",
	},
	"internal/served": {
		"google.golang.org/grpc",
		"pkg/api", "pkg/api/client", "pkg/bundle", "pkg/declcfg", "internal/parallel", "internal/plural", json,
		"google.golang.org/protobuf",
	},
	"internal/installmode": {"github.com/santhosh-tekuri/jsonschema/v6", json},
	"internal/legible":     {"internal/plural"},
	"internal/memo":        {},
	"internal/nearest":     {"internal/legible"},
	"internal/parallel":    {"golang.org/x/sync"},
	"internal/plural":      {},
	"internal/pool":        {},
	"internal/reference":   {"internal/nearest", "internal/legible", "internal/shell", "github.com/distribution/reference"},
	"internal/output":      {"internal/report", "internal/format", "internal/legible", json},
	"internal/report":      {"internal/legible", "internal/plural"},
	"internal/regular":     {},
	"internal/shell":       {},
	"internal/spool": {
		"github.com/klauspost/compress", "golang.org/x/sync", "internal/plural", "internal/atomicfile",
		"internal/pool", "internal/regular",
	},
	"internal/strictyaml": {
		"internal/place", "internal/document", "internal/nearest", json, "internal/format", "internal/plural",
	},
	"internal/syntax": {"internal/yamljson", "go.yaml.in/yaml/v4", json},
	"internal/tarfs": {
		"internal/parallel", "internal/plural", "internal/spool", "github.com/klauspost/compress", "golang.org/x/sync",
	},
	"internal/updates":  {},
	"internal/yamljson": {"go.yaml.in/yaml/v4", "sigs.k8s.io/yaml"},

	"internal/testing/golden":     {"github.com/rogpeppe/go-internal/diff"},
	"internal/testing/kubetest":   {"k8s.io/apimachinery", "k8s.io/streaming"},
	"internal/testing/graphtest":  {"pkg/declcfg"},
	"internal/testing/ruletest":   {"pkg/problem", "golang.org/x/tools/txtar"},
	"internal/testing/schematest": {"github.com/santhosh-tekuri/jsonschema/v6"},
	"internal/testing/shared":     {},
	"internal/testing/tartest":    {"github.com/klauspost/compress"},
}

// public are the packages that other programs may use. Everything else is below internal.
var public = []string{
	"pkg/api", "pkg/api/client", "pkg/bundle", "pkg/declcfg", "pkg/graph", "pkg/graph/draw", "pkg/image", "pkg/problem",
	"pkg/render", "pkg/serve", "pkg/template", "pkg/validate",
}

const (
	wing    = "internal/olm"
	helpers = "internal/testing"
	module  = "github.com/opm-toolchain/opm"
	json    = "github.com/go-json-experiment/json"
)

func TestArrows(t *testing.T) {
	found := imports(t)
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		allowed, ok := arrows[pkg]
		if !ok {
			t.Errorf("%s: a package that is not in the table", pkg)
			continue
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(found[pkg]))) {
			if !isAllowed(allowed, name) {
				t.Errorf("%s may not import %s", pkg, name)
			}
		}
		for _, arrow := range allowed {
			if !slices.ContainsFunc(found[pkg], func(name string) bool { return isAllowed([]string{arrow}, name) }) {
				t.Errorf("%s does not import %s: remove the arrow", pkg, arrow)
			}
		}
	}
	for pkg := range arrows {
		if found[pkg] == nil {
			t.Errorf("%s: no such package", pkg)
		}
	}
	if len(found) < 15 {
		t.Errorf("only %d packages were found", len(found))
	}
}

// TestPublic checks which packages are public, and that each has an example for its first call.
func TestPublic(t *testing.T) {
	var found []string
	for pkg := range imports(t) {
		if strings.HasPrefix(pkg, "pkg/") && !strings.Contains(pkg, "/internal") {
			found = append(found, pkg)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, public) {
		t.Errorf("the packages %v are public, want %v", found, public)
	}
	for _, pkg := range public {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(pkg), "example*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no example, %v", pkg, err)
		}
	}
}

// TestDesign checks that the tables of docs/design.md name every package once, and no other, and that no package
// imports one of a room above its own.
func TestDesign(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("docs/design.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := imports(t)
	rows, rooms := map[string]int{}, map[string]int{} // by package; rooms are counted from the top
	room, inRooms := 0, false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "## "):
			inRooms = line == "## Rooms\n"
		case strings.HasPrefix(line, "### "):
			room++
		}
		row, isRow := strings.CutPrefix(line, "| `")
		if !isRow {
			continue
		}
		pkg, purpose, _ := strings.Cut(row, "` | ")
		rows[pkg]++
		if inRooms {
			rooms[pkg] = room
		}
		if found[pkg] == nil {
			t.Errorf("docs/design.md: %s: no such package", pkg)
		}
		if strings.Trim(purpose, " |\n") == "" {
			t.Errorf("docs/design.md: %s has no purpose", pkg)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		if rows[pkg] != 1 {
			t.Errorf("docs/design.md names %s in %d rows, want 1", pkg, rows[pkg])
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(found[pkg]))) {
			if rooms[pkg] > 0 && rooms[name] > 0 && rooms[name] < rooms[pkg] {
				t.Errorf("%s imports %s, which is in a room above it", pkg, name)
			}
		}
	}
	if room < 5 {
		t.Errorf("docs/design.md has %d rooms", room)
	}
}

// TestWing checks that only the command line enters the wing with the imitation of OLM.
func TestWing(t *testing.T) {
	for pkg, imported := range imports(t) {
		if isAllowed([]string{wing, "cmd/opm"}, pkg) {
			continue
		}
		for _, name := range imported {
			if isAllowed([]string{wing}, name) {
				t.Errorf("%s imports %s", pkg, name)
			}
		}
	}
}

// TestHelpers checks that only tests import the packages for tests.
func TestHelpers(t *testing.T) {
	for pkg, imported := range imports(t) {
		for _, name := range imported {
			if isAllowed([]string{helpers}, name) {
				t.Errorf("%s imports %s outside of tests", pkg, name)
			}
		}
	}
}

func TestIsAllowed(t *testing.T) {
	allowed := []string{"pkg/graph", "github.com/google/cel-go"}
	for name, want := range map[string]bool{
		"pkg/graph": true, "pkg/graph/x": true, "github.com/google/cel-go/cel": true, "pkg/graphs": false, "pkg": false, "github.com/google/cel-expr": false,
	} {
		if got := isAllowed(allowed, name); got != want {
			t.Errorf("isAllowed(%s) = %t", name, got)
		}
	}
}

func isAllowed(allowed []string, name string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") })
}

// imports returns what each package of the module imports apart from the standard library, for any operating system.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && isElsewhere(name):
			return fs.SkipDir
		case e.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		beyond, err := importsOf(filepath.FromSlash(name))
		pkg := path.Dir(name)
		found[pkg] = append(slices.Grow(found[pkg], 1), beyond...) // not nil
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// importsOf returns the imports of a file without the standard library, our packages without the module path.
func importsOf(name string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var beyond []string
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		own, isOurs := strings.CutPrefix(imported, module+"/")
		if host, _, _ := strings.Cut(imported, "/"); isOurs || strings.Contains(host, ".") {
			beyond = append(beyond, own)
		}
	}
	return beyond, nil
}

// isElsewhere reports whether a directory has no packages of this module.
func isElsewhere(dir string) bool {
	base := path.Base(dir)
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil || base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}
