package compose

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/shell"
)

// A Status is the result of a run for one file.
type Status string

// The statuses.
const (
	Rendered  Status = "rendered"
	Unchanged Status = "unchanged"
	Removed   Status = "removed"
	Kept      Status = "kept" // not replaced, because compose did not write the file
)

// A Result lists the results of a run or, for a dry run, the results that it would have.
type Result struct {
	Catalog    string     `json:"catalog"`        // directory of the catalog
	Image      string     `json:"image,omitzero"` // image to build, from the config
	References []Fragment `json:"references"`     // in config order, then removed references by name
	Dockerfile Dockerfile `json:"dockerfile"`
	DryRun     bool       `json:"dryRun,omitzero"`
}

// A Fragment is the result of a run for one reference.
type Fragment struct {
	Name     string   `json:"name"`
	Status   Status   `json:"status"`
	Image    string   `json:"image,omitzero"`
	Digest   string   `json:"digest,omitzero"` // digest of an image in a registry
	Packages []string `json:"packages,omitzero"`
	Dropped  []string `json:"dropped,omitzero"` // packages that other references provide
}

// A Dockerfile is the result of a run for the Dockerfile.
type Dockerfile struct {
	File   string `json:"file"`
	Status Status `json:"status"`
}

func (c *composer) result(p *plan) *Result {
	r := &Result{
		Catalog: c.pathOf(c.config.Name), Image: c.config.Image(), DryRun: c.opts.DryRun,
		Dockerfile: Dockerfile{c.pathOf(dockerfileOf(c.config.Name)), p.docker},
	}
	for _, f := range c.fragments {
		done := Fragment{Name: f.Name, Status: Unchanged, Image: f.Image, Digest: f.source, Dropped: f.dropped}
		if slices.Contains(p.write, f.path) {
			done.Status = Rendered
		}
		for _, pkg := range f.packages {
			if !slices.Contains(f.dropped, pkg) {
				done.Packages = append(done.Packages, pkg)
			}
		}
		r.References = append(r.References, done)
	}
	slices.Sort(p.gone)
	for _, name := range p.gone {
		r.References = append(r.References, Fragment{Name: name, Status: Removed})
	}
	return r
}

// WriteText writes the result as a table, and the command that builds the image.
func (r *Result) WriteText(w io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tPACKAGES\tIMAGE")
	for _, f := range r.References {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Name, f.Status, f.count(), cmp.Or(legible.Name(f.Image), "-"))
	}
	fmt.Fprintf(table, "%s\t%s\t-\t-\n", filepath.Base(r.Dockerfile.File), r.Dockerfile.Status)
	_ = table.Flush() // a strings.Builder returns no errors
	if r.Image != "" && !r.DryRun {
		dir := filepath.Dir(r.Catalog)
		fmt.Fprintf(&text, "\ndocker build -t %s -f %s %s\n", r.Image, shell.Quote(r.Dockerfile.File), shell.Quote(dir))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// count returns the number of packages that the fragment provides, as text for the table.
func (f *Fragment) count() string {
	switch {
	case f.Status == Removed:
		return "-"
	case len(f.Dropped) > 0:
		return fmt.Sprintf("%d of %d", len(f.Packages), len(f.Packages)+len(f.Dropped))
	}
	return strconv.Itoa(len(f.Packages))
}
