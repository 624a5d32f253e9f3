//go:build linux

// Command serve measures opm serve against the serve rows of the design's budget: the time until it is ready, its
// memory then, and its speed over gRPC and HTTP.
//
//	serve -opm bin/opm -catalog .bench/big-catalog
//
// The server and this program share the processors, so both contribute to the time of a call. Responses are counted,
// not decoded.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	opm := flag.String("opm", "bin/opm", "the `program` to measure")
	upstream := flag.String("upstream", "", "upstream's opm, whose starts are compared with ours, in Markdown")
	catalog := flag.String("catalog", ".bench/big-catalog", "the `catalog` to serve")
	runs := flag.Int("runs", 3, "how `often` to start the server, to take the median")
	mixed := flag.Duration("mixed", 30*time.Second, "how long 64 callers ask all kinds of questions")
	flag.Parse()
	program, err := filepath.Abs(*opm)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "opm-bench-serve-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{
		program: program, catalog: *catalog, dir: dir, runs: max(*runs, 1), mixed: *mixed, out: newTable(os.Stdout),
	}
	if *upstream != "" {
		return b.compare(context.Background(), os.Stdout, *upstream)
	}
	defer b.out.Flush()
	if err := b.starts(context.Background()); err != nil {
		return err
	}
	return b.readyRows(context.Background())
}

// A table prints a row for each measurement.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintln(t, "SERVE\tGOT\tBUDGET\t")
	return t
}

// row adds a row. Without a budget, there is no verdict.
func (t table) row(name, got, budget string, ok bool) {
	verdict := "OVER"
	switch {
	case budget == "":
		verdict = ""
	case ok:
		verdict = "ok"
	}
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, got, budget, verdict)
}
