//go:build linux

// Command compare runs two programs of opm with some thousand command lines and reports every difference: in standard
// output, in standard error, in the exit status, in the files that a line leaves behind, and in the manifests that it
// pushes to a registry. It is for changes that must not change behaviour.
//
//	compare -old opm-before -new bin/opm -root . -shared ../shared
//
// The lines are in lines.txt, which says how to add one. Each is run by a shell in a new directory that has the
// examples, beside a copy of the catalogs, bundles, templates and clusters in shared, and with a home, a directory for
// temporary files and a registry of its own. Both programs are called opm, in the same place and with the same port of
// the registry, so that their output is compared as it is, apart from
//
//   - the version, the commit and the date of a program, where it prints them; both programs must have these, as those
//     of make build do;
//   - times and durations in a log;
//   - the order of the lines of --verbose about registries and images, which opm calls several at a time.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		if !errors.Is(err, errDiffer) {
			fmt.Fprintln(os.Stderr, "compare:", err)
		}
		os.Exit(1)
	}
}

// errDiffer is the error of a comparison that found differences, and has printed them.
var errDiffer = errors.New("the programs differ")

//go:embed lines.txt
var lines string

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	oldOpm := flags.String("old", "", "the `program` to compare with")
	newOpm := flags.String("new", "bin/opm", "the `program` to check")
	root := flags.String("root", ".", "the root of the repository")
	shared := flags.String("shared", "../shared", "the `directory` of data; without it, lines about it are left out")
	only := flags.String("run", "", "run only the lines that match this `regexp`")
	verbose := flags.Bool("v", false, "print each line with the exit status and the times of both programs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *oldOpm == "" {
		return errors.New("name the program to compare with: make compare OLD=PATH")
	}
	selected, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	list, err := parseLines(lines)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(tempDir(), "opm-compare-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, err := prepare(ctx, dir, *root, *shared, stderr)
	if err != nil {
		return err
	}
	all, err := list.expand(in.values)
	if err != nil {
		return err
	}
	c := comparison{in: in, verbose: *verbose, stdout: stdout, stderr: stderr}
	if c.old, err = newProgram(*oldOpm, filepath.Join(dir, "old")); err != nil {
		return err
	}
	if c.now, err = newProgram(*newOpm, filepath.Join(dir, "new")); err != nil {
		return err
	}
	for _, line := range all {
		if selected.MatchString(line) {
			c.lines = append(c.lines, line)
		}
	}
	if c.lines == nil {
		return fmt.Errorf("-run: no line matches %q", *only)
	}
	return c.run(ctx)
}

// inMemory is where Linux has files in memory. Lines write and delete many small files, which takes as much time as opm
// itself on a disk.
const inMemory = "/dev/shm"

// tempDir returns the directory for temporary files: inMemory if it has 1 GB and no variable names another one.
func tempDir() string {
	var free syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(inMemory, &free) == nil && free.Bavail*uint64(free.Bsize) > 1<<30 {
		return inMemory
	}
	return os.TempDir()
}
