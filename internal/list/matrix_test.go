package list_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestMatrixOfPublished checks that the matrix of the published catalogs has the heads that Packages and Channels list,
// and a row for each of them.
func TestMatrixOfPublished(t *testing.T) {
	type head struct{ catalog, pkg, channel string }
	var columns []list.MatrixColumn
	defaults, all := map[head]string{}, map[head]string{}
	for _, dir := range shared.Catalogs(t) {
		name := filepath.Base(dir)
		index, err := declcfg.ReadIndex(t.Context(), declcfg.Source{FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		packages, err := list.Packages(t.Context(), index.Each(), list.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			defaults[head{name, p.Name, ""}] = p.Head
		}
		channels, err := list.Channels(t.Context(), index.Each(), list.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range channels {
			all[head{name, c.Package, c.Name}] = c.Head
		}
		columns = append(columns, list.MatrixColumn{Catalog: name, Heads: list.Heads(index.Each())})
	}
	for _, tt := range []struct {
		channels bool
		want     map[head]string
	}{{false, defaults}, {true, all}} {
		m, older := list.NewMatrix(columns, tt.channels), 0
		for _, r := range m.Rows {
			for _, h := range r.Heads {
				key := head{h.Catalog, r.Package, r.Channel}
				if h.Older {
					older++
				}
				if tt.want[key] != h.Bundle {
					t.Errorf("%v: head %q, want %q", key, h.Bundle, tt.want[key])
				}
				delete(tt.want, key)
			}
		}
		if len(tt.want) > 0 || older == 0 {
			t.Errorf("channels %t: %d heads are older, and %v are missing", tt.channels, older, tt.want)
		}
	}
}

// TestMatrixOlder checks that the heads below the highest version of their row are older, and no others. Prereleases of
// 0.0.0 are below the zero value of a version.
func TestMatrixOlder(t *testing.T) {
	for _, tt := range []struct {
		versions []string // one for each catalog; "" for an unknown version
		want     []bool
	}{
		{[]string{"1.0.0", "1.1.0", "1.1.0"}, []bool{true, false, false}},
		{[]string{"0.0.0-alpha"}, []bool{false}},
		{[]string{"0.0.0-alpha", "0.0.0-beta", "0.0.0-beta"}, []bool{true, false, false}},
		{[]string{"0.0.0-alpha", "0.0.0"}, []bool{true, false}},
		{[]string{"", "0.0.0-alpha"}, []bool{false, false}},
		{[]string{"", ""}, []bool{false, false}},
	} {
		var columns []list.MatrixColumn
		for i, text := range tt.versions {
			head := list.ChannelHead{Package: "oak", Channel: "stable", Default: true, Bundle: "oak." + text}
			if text != "" {
				head.Version = &declcfg.Version{Semver: semver.MustParse(text)}
			}
			columns = append(columns, list.MatrixColumn{Catalog: strconv.Itoa(i), Heads: []list.ChannelHead{head}})
		}
		var got []bool
		for _, h := range list.NewMatrix(columns, false).Rows[0].Heads {
			got = append(got, h.Older)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: older %v, want %v", tt.versions, got, tt.want)
		}
	}
}
