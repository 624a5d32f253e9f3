//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/internal/testing/kubetest"
)

// TestSimulateWatch checks that simulate --watch prints the first answer and then what differs, and that an interrupt
// ends it with status 0.
func TestSimulateWatch(t *testing.T) {
	script, err := txtar.ParseFile(filepath.Join("testdata", "script", "live-cluster.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	p := playground{t, t.TempDir()}
	var text string
	for _, f := range script.Files {
		switch f.Name {
		case "cluster.json":
			text = string(f.Data)
		case "catalog/kiln.yaml":
			p.write("kiln.yaml", string(f.Data))
		}
	}
	for _, tt := range []struct {
		flags   string
		deleted bool // the Subscription is deleted
		want    string
	}{
		{flags: "-o text", want: "\n-Subscription pottery/kiln: kiln.v1.0.0 is installed\n"},
		{flags: "-o json", want: "\n}\n{\n"},
		{flags: "-o json --save saved.json", want: `"file": "kube: Subscription pottery/kiln"` + "\n"},
		{
			flags: "--subscription pottery/kiln", deleted: true,
			want: "\n+Subscription pottery/kiln waits for its creation: it was deleted\n",
		},
		{flags: "--subscription pottery/kiln -o json", deleted: true, want: `"for": "its creation: it was deleted"`},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			objects, err := kubetest.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			s := kubetest.New(objects...)
			t.Cleanup(s.Close)
			file, err := s.Kubeconfig(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("KUBECONFIG", file)
			w := startWatch(t, p.dir, "simulate kube: --catalog olm/crafts=kiln.yaml --watch "+tt.flags)
			w.run()
			other, err := kubetest.Parse([]byte(strings.ReplaceAll(text, `"stable"`, `"no-such"`)))
			if err != nil {
				t.Fatal(err)
			}
			if tt.deleted {
				s.Delete(other[len(other)-1])
			} else {
				s.Apply(other[len(other)-1])
			}
			lines := w.run()
			w.interrupt(0)
			if got := w.out.String(); !strings.Contains(got, tt.want) || !strings.HasSuffix(lines[1], " the answer changed ---") {
				t.Errorf("no %q in\n%s\n%q", tt.want, got, lines)
			}
		})
	}
}
