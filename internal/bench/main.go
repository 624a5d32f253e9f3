//go:build unix

// Command bench measures the opm binary against the budget of the design: time and peak memory of whole commands on
// a large catalog, seen from outside.
//
//	bench -opm bin/opm -dir .bench -archive big-catalog.tar.xz -prepare
//	bench -opm bin/opm -dir .bench
//
// The first call makes the data, the second one measures. They are two processes because the peak memory that the
// system reports for a child is at least what its parent held when it began.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	runs := flag.Int("runs", 3, "how `many` runs to take the median of")
	prepareOnly := flag.Bool("prepare", false, "make the data that is not there yet, and measure nothing")
	flag.Parse()
	program, err := filepath.Abs(*opm)
	if err != nil {
		return err
	}
	data := dataIn(*dir)
	if *prepareOnly {
		return data.prepare(program, *archive)
	}
	return measureAll(os.Stdout, program, data, *runs)
}
