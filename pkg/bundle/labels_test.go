package bundle

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func mapFS(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func TestLabels(t *testing.T) {
	l := Labels{MediaType: MediaTypeRegistry, Package: "oak", Channels: "alpha,beta", DefaultChannel: "beta"}
	const annotations = `annotations:
  operators.operatorframework.io.bundle.channel.default.v1: beta
  operators.operatorframework.io.bundle.channels.v1: alpha,beta
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: oak
`
	const dockerfile = `FROM scratch

LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=oak
LABEL operators.operatorframework.io.bundle.channels.v1=alpha,beta
LABEL operators.operatorframework.io.bundle.channel.default.v1=beta

COPY oak/manifests /manifests/
COPY oak/metadata /metadata/
`
	if got := string(l.annotations()); got != annotations {
		t.Errorf("got %s", got)
	}
	if got := string(l.dockerfile("", "oak/manifests", "oak/metadata")); got != dockerfile {
		t.Errorf("got %s", got)
	}
	l.DefaultChannel = ""
	if got := string(l.annotations()); strings.Contains(got, "default") {
		t.Errorf("no default channel: got %s", got)
	}
	_, rest, _ := strings.Cut(string(l.dockerfile("base:1", "m", "n")), "channels.v1=")
	if rest != "alpha,beta\nCOPY m /manifests/\nCOPY n /metadata/\n" {
		t.Errorf("no default channel: got %s", rest)
	}
}

func TestLabelsCheck(t *testing.T) {
	l := Labels{MediaType: MediaTypeRegistry, Package: "oak", Channels: "4.1"}
	if err := l.check("a.yaml", append(l.annotations(), "  more: [1]\n"...)); err == nil {
		t.Error("a list: no error")
	}
	if err := l.check("a.yaml", append(l.annotations(), "  more: 1\n"...)); err != nil {
		t.Error(err)
	}
	const other = `annotations:
  operators.operatorframework.io.bundle.channels.v1: 4.10
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: elm
`
	const want = `a.yaml:2:3: annotations: no operators.operatorframework.io.bundle.manifests.v1: want "manifests/"
a.yaml:5:53: annotations.operators.operatorframework.io.bundle.package.v1: want "oak", found "elm"`
	if err := l.check("a.yaml", []byte(other)); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := l.check("a.yaml", []byte("a: b: c")); err == nil || !strings.HasPrefix(err.Error(), "a.yaml:1:5: ") {
		t.Errorf("got %v", err)
	}
}

func TestDetectMediaType(t *testing.T) {
	for _, test := range []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"registry", mapFS("a.yaml", "kind: ConfigMap", "b.yaml", "kind: ClusterServiceVersion"), MediaTypeRegistry},
		{"plain", mapFS("a.yaml", "kind: ConfigMap", "b", "a: b: c", "c/d.yaml", "kind: ClusterServiceVersion"), MediaTypePlain},
		{"helm", mapFS("A.yaml", "kind: ClusterServiceVersion", "Chart.yaml", "name: oak"), MediaTypeHelm},
		{"no chart", mapFS("Chart.yaml", "nam: oak"), MediaTypePlain},
		{"empty", mapFS(), ""},
	} {
		got, err := detectMediaType(test.files, ".")
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: got %q, %v", test.name, got, err)
		}
	}
}

func csvNamed(name, rest string) string {
	return "kind: ClusterServiceVersion\nmetadata: {name: " + name + "}\nspec: {" + rest + "}\n"
}

func TestInfer(t *testing.T) {
	layout := func(pkg string) fs.FS {
		return mapFS(
			"oak.package.yaml", pkg, "README.md", "# Oak: not YAML: at all", ".hidden", "packageName: hidden",
			"metadata/annotations.yaml", "annotations: {}",
			"1.0.0/a.yaml", "kind: ConfigMap", "1.0.0/csv.yaml", csvNamed("oak.v1", ""),
			"1.1.0/csv.yaml", csvNamed("oak.v1.1", "replaces: gone, skips: [oak.v1]"),
			"2.0.0/csv.yaml", csvNamed("oak.v2", "replaces: oak.v1.1"),
			"3.0.0/csv.yaml", csvNamed("oak.v3", "replaces: oak.v3"),
		)
	}
	const channels = "packageName: oak\ndefaultChannel: z\nchannels:\n- {name: z, currentCSV: oak.v2}\n" +
		"- {name: a, currentCSV: oak.v1.1}\n- {name: other, currentCSV: oak.v3}\n"
	for _, test := range []struct{ pkg, dir, want string }{
		{channels, "1.0.0", "registry+v1 oak a,z z"},
		{channels, "./2.0.0", "registry+v1 oak z z"},
		{channels, "3.0.0", "registry+v1 oak other "},
		{strings.Replace(channels, "defaultChannel: z", "", 1), "1.0.0", "registry+v1 oak a,z "},
		{"packageName: oak\nchannels: [{name: one, currentCSV: oak.v2}]", "1.1.0", "registry+v1 oak one one"}, //nolint:dupword // channels and the default one
		{"packageName: oak\nchannels: [{name: one, currentCSV: oak.v1}]", "1.1.0", `error: no channel of package "oak" leads to "oak.v1.1"`},
		{"packageNam: oak", "1.1.0", "error: no package manifest beside the directory"},
		{channels, "metadata", "error: no ClusterServiceVersion with a name in metadata"},
		{channels, "4.0.0", "error: "},
	} {
		l, err := infer(layout(test.pkg), test.dir)
		got := strings.Join([]string{l.MediaType, l.Package, l.Channels, l.DefaultChannel}, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.dir, got, test.want)
		}
	}
	broken := mapFS("p.yaml", channels, "1/csv.yaml", csvNamed("oak.v1", ""), "2/csv.yaml", csvNamed("a", "skips: b"))
	if _, err := infer(broken, "1"); err == nil || !strings.HasPrefix(err.Error(), "2/csv.yaml:3:15: spec.skips: want a list") {
		t.Errorf("got %v", err)
	}
}
