package publish

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/pkg/image"
)

// TestReusedBase checks that the image of a catalog has the program and the command of another catalog image, and
// neither its catalog nor its cache.
func TestReusedBase(t *testing.T) {
	for _, tt := range []struct {
		module     string
		entry, cmd []string // of the source
		want       string
		addr       string
		cache      string // of the source; "" for tmp/cache
	}{
		{ours, []string{"/bin/opm"},
			[]string{"serve", "/old", "--cache-dir=/tmp/cache", "--cache-enforce-integrity", "--debug"},
			"[/bin/opm] [serve /configs --debug --cache-dir=/tmp/cache --cache-enforce-integrity]", "", ""},
		{ours, []string{"/bin/opm"}, []string{"serve", "/old", "--http-addr=:8080", "--cache-dir", "/var/cache/opm"},
			"[/bin/opm] [serve /configs --cache-dir=/tmp/cache --cache-enforce-integrity --http-addr=:8080]",
			":8080", "var/cache/opm"},
		{upstreams, []string{"/bin/opm"},
			[]string{"serve", "/old/", "--cache-dir=/tmp/cache", "--cache-enforce-integrity=true"},
			"[/bin/opm] [serve /configs]", "", ""},
		{upstreams, nil, []string{"opm", "serve", "/old", "--termination-log=/dev/null"},
			"[opm] [serve /configs --termination-log=/dev/null]", "", ""},
		{upstreams, []string{"/bin/sh", "-c"}, []string{"opm serve /old --cache-dir=/tmp/cache"},
			"[/bin/opm] [serve /configs]", "", ""},
	} {
		t.Run(fmt.Sprint(tt.module, tt.entry, tt.cmd), func(t *testing.T) {
			below, err := image.Build(image.BuildOptions{
				Base:   baseWith(t, compile(t, tt.module, "linux", "amd64")),
				Labels: map[string]string{image.LabelConfigs: "/old"}, Entrypoint: tt.entry, Cmd: tt.cmd, Contents: []image.Content{
					{Source: fstest.MapFS{"old.json": {Data: []byte("{}")}}, Target: "old"},
					{Source: fstest.MapFS{"packages.json": {}}, Target: cmp.Or(tt.cache, "tmp/cache")},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := image.WriteLayout(below, dir, "v1"); err != nil {
				t.Fatal(err)
			}
			img, err := image.Open(t.Context(), "oci:"+dir, image.Options{Platform: "linux/amd64"})
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			base, err := NewReusedBase(t.Context(), img, "linux/amd64")
			if err != nil {
				t.Fatal(err)
			}
			if base.HTTPAddr != tt.addr {
				t.Errorf("the address for HTTP is %q, want %q", base.HTTPAddr, tt.addr)
			}
			built := build(t, source(catalog()), Options{
				Platforms: []Platform{{Name: "linux/amd64", Base: base}}, HTTPAddr: base.HTTPAddr,
			})
			config, err := built.images[0].Add.(v1.Image).ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(config.Config.Entrypoint, config.Config.Cmd); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			again := opened(t, built, "linux/amd64")
			root := files(t, again, "/")
			if tt.module == ours {
				wantStore(t, root, files(t, again, "configs"))
			} else if _, err := fs.Stat(root, "tmp/cache"); err == nil {
				t.Error("upstream's opm has a cache")
			}
			var names []string
			err = fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
				names = append(names, name)
				return err
			})
			names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "configs/") })
			if err != nil || !slices.Contains(names, "bin/opm") || slices.Contains(names, "old") ||
				strings.Contains(strings.Join(names, " "), "packages.json") {
				t.Errorf("got %v, %v", names, err)
			}
		})
	}
}
