//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A shape describes a catalog that is large in one way: it has many packages, many bundles in a package, or many
// entries in a channel.
type shape struct {
	name                        string
	packages, channels, entries int // of the catalog, of each package, of each channel

	across bool // skip ranges cover all lower versions of the package, not only of the channel
}

// largeShapes are the largest catalogs that opm must cope with, one for each way.
var largeShapes = []shape{
	{name: "10,000 packages", packages: 10_000, channels: 1, entries: 2},
	{name: "100,000 bundles in a package", packages: 1, channels: 100, entries: 1_000},
	{name: "5,000,000 updates in a package", packages: 1, channels: 100, entries: 1_000, across: true},
	{name: "20,000 entries in a channel", packages: 1, channels: 1, entries: 20_000},
}

// growthTimes are the multiples of the big catalog that are measured.
var growthTimes = []int{4, 16}

// growthJobs returns a row for each command that reads a multiple of the big catalog, and for catalogs of each shape.
// Time may grow in proportion to the catalog, and memory half as much.
func growthJobs(d data) []job {
	var jobs []job
	for _, command := range []string{"validate", "render", "render -o yaml", "list bundles", "updates"} {
		run := func(name, catalog string) job {
			return job{name: command + ", " + name, args: append(strings.Fields(command), catalog), reads: catalog}
		}
		first := run("once", d.big)
		jobs = append(jobs, first)
		for _, n := range growthTimes {
			j := run(fmt.Sprintf("%d times", n), d.times(n))
			j.relative = growth{first.name, float64(n) * noiseOfTime, float64(n) / 2}
			jobs = append(jobs, j)
		}
		for _, s := range largeShapes {
			tenth, whole := run("a tenth of "+s.name, d.shape(s.tenth())), run(s.name, d.shape(s))
			whole.relative = growth{tenth.name, 10 * noiseOfTime, 10 / 2}
			jobs = append(jobs, tenth, whole)
		}
	}
	return jobs
}

// tenth returns a catalog of the same shape with a tenth of the bundles and of the updates.
func (s shape) tenth() shape {
	s.name += " tenth"
	switch {
	case s.packages > 1:
		s.packages /= 10
	case s.channels > 1 && !s.across:
		s.channels /= 10
	default:
		s.entries /= 10
	}
	return s
}

// write writes the catalog to a directory, with a file for each package. Each bundle is in one channel, where each
// entry replaces the previous one, and has all earlier ones in its skip range.
func (s shape) write(dir string) error {
	for p := range s.packages {
		if err := s.writePackage(dir, fmt.Sprintf("package-%05d", p)); err != nil {
			return err
		}
	}
	return nil
}

func (s shape) writePackage(dir, pkg string) error {
	if err := os.MkdirAll(filepath.Join(dir, pkg), 0o777); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, pkg, "catalog.json"))
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	fmt.Fprintf(w, `{"schema": "olm.package", "name": %q, "defaultChannel": "channel-000"}`+"\n", pkg)
	for c := range s.channels {
		s.writeChannel(w, pkg, c)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func (s shape) writeChannel(w *bufio.Writer, pkg string, channel int) {
	bundle := func(i int) string { return fmt.Sprintf("%s.v%d.0.%d", pkg, channel+1, i) }
	fmt.Fprintf(w, `{"schema": "olm.channel", "package": %q, "name": "channel-%03d", "entries": [`, pkg, channel)
	lowest := channel + 1
	if s.across {
		lowest = 1
	}
	for i := range s.entries {
		if i == 0 {
			fmt.Fprintf(w, `{"name": %q}`, bundle(i))
			continue
		}
		fmt.Fprintf(w, ",\n"+`{"name": %q, "replaces": %q, "skipRange": ">=%d.0.0 <%d.0.%d"}`,
			bundle(i), bundle(i-1), lowest, channel+1, i)
	}
	fmt.Fprintln(w, "]}")
	for i := range s.entries {
		fmt.Fprintf(w, `{"schema": "olm.bundle", "package": %q, "name": %q,`+"\n"+
			`"image": "registry.example/%s@sha256:%064x",`+"\n"+
			`"properties": [{"type": "olm.package", "value": {"packageName": %q, "version": "%d.0.%d"}},`+"\n"+
			`{"type": "olm.csv.metadata", "value": {"displayName": "A bundle", "description": "One of many."}}]}`+"\n",
			pkg, bundle(i), pkg, channel*s.entries+i, pkg, channel+1, i)
	}
}
