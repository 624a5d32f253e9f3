//go:build unix

// Command bench measures the opm binary against the budget of the design: time and peak memory of whole commands on
// a large catalog, and on bundles and their images, seen from outside.
//
//	bench -opm bin/opm -dir .bench -archive big-catalog.tar.xz -prepare
//	bench -opm bin/opm -dir .bench -operators operators
//
// The first call makes the data, the second one measures. They are two processes because the peak memory that the
// system reports for a child is at least what its parent held when it began. For the same reason the images of the
// bundles in operators are served by a process of their own.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	opm := flag.String("opm", "bin/opm", "the `program` to measure")
	dir := flag.String("dir", ".bench", "the `directory` of the data")
	archive := flag.String("archive", "", "the `file` that holds the big catalog, a tar.xz")
	copies := flag.Int("copies", 4, "how many `times` the big catalog is in the one that shows growth")
	only := flag.String("rows", "", "measure only the rows whose name has this `text`")
	runs := flag.Int("runs", 3, "how `many` runs to take the median of")
	operators := flag.String("operators", "",
		"the `directory` of bundles, as PACKAGE/VERSION; without it there are no rows about bundles")
	templates := flag.String("templates", "",
		"the `directory` of templates, as PACKAGE/FILE; without it there are no rows about templates")
	delay := flag.Duration("delay", 50*time.Millisecond, "how long the slow registry takes for a request")
	serveOnly := flag.Bool("serve", false, "serve images of the bundles until standard input ends, and measure nothing")
	prepareOnly := flag.Bool("prepare", false, "make the data that is not there yet, and measure nothing")
	flag.Parse()
	if *serveOnly {
		return serve(os.Stdin, os.Stdout, *operators, imageCount, *delay)
	}
	program, err := filepath.Abs(*opm)
	if err != nil {
		return err
	}
	data := dataIn(*dir, *copies)
	if *prepareOnly {
		return data.prepare(program, *archive)
	}
	rows := catalogJobs(data)
	if *operators != "" {
		images, stop, err := startRegistry(*operators, *delay)
		if err != nil {
			return err
		}
		defer stop() //nolint:errcheck // it has served what was asked for
		more, err := bundleJobs(*operators, images, *delay)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
		if *templates != "" {
			more, err := templateJobs(*templates, filepath.Join(*dir, "templates"), images, *delay)
			if err != nil {
				return err
			}
			rows = append(rows, more...)
		}
	}
	rows = slices.DeleteFunc(rows, func(j job) bool { return !strings.Contains(j.name, *only) })
	return measureAll(os.Stdout, program, rows, data.log, *runs)
}
