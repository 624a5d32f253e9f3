package mirror

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/plural"
)

// WriteText writes the numbers of copied images, or of images to copy if dry, and tables: of the failed images, and if
// dry of the sizes by package.
func (r *Report) WriteText(w io.Writer, dry bool) error {
	failures := r.Failures()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	missing, there := "copied", r.Total.Images-r.Total.Missing-r.Total.Failed
	if dry {
		missing = "to copy"
		if len(r.Packages) > 0 {
			fmt.Fprintln(table, "PACKAGE\tIMAGES\tSIZE\tTO COPY\tSIZE\tFAILED")
		}
		for _, p := range r.Packages {
			fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%s\t%d\n", p.Name, p.Images, plural.Size(p.Bytes), p.Missing,
				plural.Size(p.MissingBytes), p.Failed)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(failures) > 0 {
		fmt.Fprintln(table, "FAILED\tBUNDLES\tREASON")
		writeFailures(table, failures)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(r.Obsolete) > 0 {
		fmt.Fprintln(w, "NO LONGER SELECTED")
		for _, name := range r.Obsolete {
			fmt.Fprintln(w, name)
		}
	}
	if n := len(r.Served); n > 0 {
		fmt.Fprintf(w, "%s still needed, since not all catalogs were written\n",
			plural.Words(n, "image of earlier runs is", "images of earlier runs are"))
	}
	_, err := fmt.Fprintf(w, "%s: %s %s (%s), %s there before, %s failed\n", r.Target, plural.Of(r.Total.Missing, "image"),
		missing, plural.Size(r.Total.MissingBytes), plural.Number(there), plural.Number(r.Total.Failed))
	return err
}

// writeFailures writes the rows of failed images.
func writeFailures(table io.Writer, failures []ImageReport) {
	for _, i := range failures {
		fmt.Fprintf(table, "%s\t%s\t%s\n", i.Source, cmp.Or(plural.Some(i.Bundles), "-"), i.Reason)
	}
}

// WriteVerified writes the report of [Verify]: the table of incomplete images.
func (r *Report) WriteVerified(w io.Writer) error {
	if failures := r.Failures(); len(failures) > 0 {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "INCOMPLETE\tBUNDLES\tREASON")
		writeFailures(table, failures)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s: %s of %s complete (%s)\n", r.Target, plural.Number(r.Total.Images-r.Total.Failed),
		plural.Of(r.Total.Images, "image"), plural.Size(r.Total.Bytes))
	return err
}

// WriteText writes a line for each manifest to delete, and then their number and size.
func (p *Pruning) WriteText(w io.Writer) error {
	for _, m := range p.Manifests {
		fmt.Fprintf(w, "%s@%s\n", m.Repository, m.Digest)
	}
	_, err := fmt.Fprintf(w, "%s: manifests that are no longer needed: %s (%s)\n", p.Target,
		plural.Number(len(p.Manifests)), plural.Size(p.Bytes))
	return err
}
