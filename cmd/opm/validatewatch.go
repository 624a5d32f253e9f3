package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/watch"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// watch validates ref, and validates it again when a file that the result depends on changes, until the command is
// interrupted. It returns the error of the last run.
func (f *validateFlags) watch(cmd *cobra.Command, ref string) error {
	if err := checkWatchable(ref); err != nil {
		return err
	}
	w, err := watch.New(ref)
	if err != nil {
		return fmt.Errorf("watch %s: %w", ref, err)
	}
	defer w.Close()
	last := context.Canceled // if no run finishes
	for {
		if err := w.Follow(f.inputs(ref)...); err != nil { // before a run, so that no change is missed
			return fmt.Errorf("watch %s: %w", ref, err)
		}
		err := f.run(cmd, ref)
		if _, ok := errors.AsType[cmdline.Error](err); ok || errors.Is(err, validate.ErrSchemas) {
			return err
		}
		if cmd.Context().Err() != nil {
			return last
		}
		if errors.Is(err, declcfg.ErrChanged) { // while it was read
			time.Sleep(watch.Quiet)
			continue
		}
		stderr, verdict := cmd.ErrOrStderr(), "valid"
		if last = err; err != nil {
			printError(stderr, cmd, err)
			last, verdict = failure.New(""), "not valid"
		}
		fmt.Fprintf(stderr, "opm: %s; waiting for changes, Ctrl-C ends\n", verdict)
		debug.FreeOSMemory() // the next run may be much later
		changed, err := w.Wait(cmd.Context())
		switch {
		case cmd.Context().Err() != nil:
			return last
		case err != nil:
			return fmt.Errorf("watch %s: %w", ref, err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "\n--- %s %s changed ---\n", time.Now().Format(time.TimeOnly), legible.Name(changed))
	}
}

// checkWatchable returns an error unless ref is a path that can be read again.
func checkWatchable(ref string) error {
	var what string
	switch r := reference.Of(ref); r.Kind {
	case reference.Directory, reference.File:
		return nil
	case reference.Missing:
		return fmt.Errorf("open %q: %w", ref, r.Err)
	case reference.StandardInput, reference.Pipe:
		what = "standard input or a pipe"
	default:
		what = "an image"
	}
	return cmdline.Errorf("--watch needs a directory or a file, found %s", what)
}

// inputs returns the files that a run reads apart from ref itself, whether or not they exist.
func (f *validateFlags) inputs(ref string) []string {
	files := slices.Concat(optional(opmyaml.Path(f.config, ref)), f.schemas)
	if c, err := f.read(ref); err == nil { // else the run reports it
		files = slices.Concat(files, c.Schemas, optional(c.Baseline))
	}
	return files
}
