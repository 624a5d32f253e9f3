//go:build unix

// Command bench measures the opm binary against the budget of the design: time and peak memory of whole commands on a
// large catalog, and on bundles and their images.
//
//	bench -opm bin/opm -dir .bench -archive big-catalog.tar.xz -prepare
//	bench -opm bin/opm -dir .bench -operators operators
//	bench -opm bin/opm -dir .bench -growth
//
// The first call creates the data, the second one measures. They are two processes because the peak memory that the
// system reports for a child is at least the memory of its parent when the child started. For the same reason the
// images of the bundles in operators are served by a process of their own.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	upstream := flag.String("upstream", "", "upstream's opm, to be measured in turn with ours; the table is Markdown then")
	dir := flag.String("dir", ".bench", "the `directory` of the data")
	archive := flag.String("archive", "", "the `file` that holds the big catalog, a tar.xz")
	grown := flag.Bool("growth", false, "measure how time and memory grow with catalogs, instead of the budget")
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
		return serve(os.Stdin, os.Stdout, *operators, dataIn(*dir).big, imageCount, *delay)
	}
	m := measurer{runs: *runs, log: filepath.Join(*dir, "stderr.txt")}
	var err error
	if m.opm, err = filepath.Abs(*opm); err != nil {
		return err
	}
	if m.upstream, err = lookUp(*upstream); err != nil {
		return err
	}
	data := dataIn(*dir)
	if *prepareOnly {
		return data.prepare(m.opm, *archive, *grown)
	}
	if *grown {
		return m.all(os.Stdout, matching(growthJobs(data), *only))
	}
	jobs := catalogJobs(data)
	if *operators != "" {
		images, stop, err := startRegistry(*operators, *dir, *delay)
		if err != nil {
			return err
		}
		defer stop() //nolint:errcheck // all requests were served
		if err := images.build(m.opm, data.big); err != nil {
			return err
		}
		more, err := imageJobs(*operators, *templates, *dir, images, *delay)
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	return m.all(os.Stdout, matching(jobs, *only))
}

// lookUp returns the absolute path of a program, or "" for "".
func lookUp(program string) (string, error) {
	if program == "" {
		return "", nil
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// imageJobs returns the rows about bundles and, if there are any, templates.
func imageJobs(operators, templates, dir string, images imageServer, delay time.Duration) ([]job, error) {
	jobs, err := bundleJobs(operators, images, delay)
	if err != nil {
		return nil, err
	}
	updates, err := updateJob(operators, filepath.Join(dir, "updates"), 2000)
	jobs = append(jobs, updates)
	jobs = append(jobs, mirrorJobs(dir, images, len(images.Images)/5, delay)...)
	if err != nil || templates == "" {
		return jobs, err
	}
	more, err := templateJobs(templates, filepath.Join(dir, "templates"), images, delay)
	return append(jobs, more...), err
}

// matching returns the jobs whose names contain a text.
func matching(jobs []job, text string) []job {
	return slices.DeleteFunc(jobs, func(j job) bool { return !strings.Contains(j.name, text) })
}
