package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// eachFlag is the flag --each, with which a command runs once for each of several catalogs.
type eachFlag struct {
	values []string
	at     int // index of CATALOG among the arguments

	// A command can run once for all catalogs: with "" as CATALOG, or, if a purpose is set for the help, with the other
	// arguments only.
	together bool
	purpose  string

	finish func(*cobra.Command) error // prints the results of all catalogs; nil if each run prints its own

	now    *reference.Named // catalog of the current run; nil without --each
	out    *output.Each     // the results of all catalogs; nil if the format cannot hold them, and finish prints them
	failed []string         // names of catalogs whose run failed
	shared memo.Memo
}

// add adds the flag to a command.
func (f *eachFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.values, "each", nil, cmp.Or(f.purpose, "run once for each of several catalogs")+
		": `CATALOG`, NAME=CATALOG or, with a slash at the end, all in a directory; repeatable")
}

// catalogs returns the catalogs of the flag, each once, or, without it, the only path.
func (f *eachFlag) catalogs(path string) ([]*reference.Named, error) {
	if !f.given() {
		return []*reference.Named{{Name: reference.BaseName(path), Ref: path}}, nil
	}
	refs, err := f.refs()
	if err != nil {
		return nil, err
	}
	return refs, checkDistinct(refs)
}

// parseNamedRefs reads arguments [NAME=]CATALOG; see [reference.ParseNamed].
func parseNamedRefs(args []string) ([]*reference.Named, error) {
	refs, err := reference.ParseNamed(args)
	if err != nil {
		return nil, cmdline.Invalid(err)
	}
	return refs, nil
}

// pathsOf returns the references of catalogs.
func pathsOf(refs []*reference.Named) (paths []string) {
	for _, r := range refs {
		paths = append(paths, r.Ref)
	}
	return paths
}

// checkDistinct returns an error if two arguments name the same catalog.
func checkDistinct(refs []*reference.Named) error {
	for i, r := range refs {
		if j := slices.IndexFunc(refs[:i], r.IsSame); j >= 0 {
			return cmdline.Errorf("catalogs %q and %q are the same: %s", refs[j].Name, r.Name, r.Ref)
		}
	}
	return nil
}

func (f *eachFlag) given() bool { return f != nil && f.values != nil }

// insert returns the arguments with ref inserted as CATALOG if --each is given, and unchanged otherwise.
func (f *eachFlag) insert(args []string, ref string) []string {
	if !f.given() || len(args) < f.at {
		return args
	}
	return slices.Insert(slices.Clone(args), f.at, ref)
}

// refs returns the catalogs of the flag and of more arguments [NAME=]CATALOG. Their names must differ.
func (f *eachFlag) refs(more ...string) ([]*reference.Named, error) {
	args, err := input.Each(f.values)
	if err != nil {
		return nil, err
	}
	return parseNamedRefs(append(args, more...))
}

// counterpart returns the catalog to compare with the catalog of the current run: ref or, if ref ends with a slash, the
// catalog of the same name in that directory.
func (f *eachFlag) counterpart(ref string) string {
	if !f.given() || !input.EndsInSlash(ref) {
		return ref
	}
	return filepath.Join(ref, f.now.Name)
}

// run calls one for each catalog. If it fails for a catalog, run reports the error and continues with the next catalog;
// the returned error names all catalogs that failed. Catalogs without the named package or object are only noted,
// unless all lack it.
func (f *eachFlag) run(cmd *cobra.Command, one func(*reference.Named) error) error {
	refs, err := f.refs()
	if err != nil {
		return err
	}
	if f.out, err = output.NewEach(cmd.OutOrStdout(), cmdline.Format(cmd)); err != nil && f.finish == nil {
		return cmdline.Invalid(err)
	}
	if err := f.runAll(cmd, refs, one); err != nil {
		return err
	}
	if f.finish != nil {
		err = f.finish(cmd)
	} else {
		err = f.out.Close()
	}
	return f.sumUp(err)
}

// runAll calls one for each catalog, and reports errors. It returns an error that ends the command.
func (f *eachFlag) runAll(cmd *cobra.Command, refs []*reference.Named, one func(*reference.Named) error) error {
	errs := make([]error, len(refs))
	var names, absent []string
	for i, r := range refs {
		f.now = r
		errs[i] = one(r)
		names = append(names, r.Name)
		if isAbsent(errs[i]) {
			absent = append(absent, r.Name)
		} else if err := f.note(cmd, errs[i]); err != nil {
			return err
		}
	}
	if slices.Contains(errs, nil) {
		noteAbsent(cmd, names, absent)
		return nil
	}
	for i, r := range refs {
		if f.now = r; isAbsent(errs[i]) {
			_ = f.note(cmd, errs[i]) // such an error does not end the command
		}
	}
	return nil
}

// isAbsent reports whether an error is only about a package or an object that a catalog lacks.
func isAbsent(err error) bool {
	return err != nil && !slices.ContainsFunc(failure.Flatten(err), func(err error) bool {
		return !errors.Is(err, declcfg.ErrNotFound)
	})
}

// noteAbsent prints a line with the absent catalogs, which lack the named package or object.
func noteAbsent(cmd *cobra.Command, all, absent []string) {
	if names := plural.Ranges(all, absent); names != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: not in %s\n", legible.Name(strings.Join(names, ", ")))
	}
}

// runOr calls one for each catalog or, without the flag, for a single one.
func (f *eachFlag) runOr(cmd *cobra.Command, ref string, one func(*reference.Named) error) error {
	if !f.given() {
		return one(&reference.Named{Ref: ref})
	}
	return f.run(cmd, one)
}

// print prints the result of a command or, with --each, of its current run.
func (f *eachFlag) print(cmd *cobra.Command, r *output.Result) error {
	if f.given() && f.out != nil {
		return f.out.Add(f.now.Name, r)
	}
	return printResult(cmd, r)
}

// sumUp adds the names of the failed catalogs to the error that ends the command.
func (f *eachFlag) sumUp(err error) error {
	if len(f.failed) == 0 {
		return err
	}
	reason := fmt.Sprintf("%s failed: %s", plural.Of(len(f.failed), "catalog"), strings.Join(f.failed, ", "))
	fail, ok := errors.AsType[*failure.Error](err)
	switch {
	case err == nil:
		return failure.New(reason)
	case ok:
		return fail.With("opm: " + legible.Lines(reason) + "\n")
	}
	return err
}

// note reports the error of one catalog. It returns an error that ends the command.
func (f *eachFlag) note(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[cmdline.Error](err); ok || cmd.Context().Err() != nil || failure.OfOutput(err) != nil ||
		errors.Is(err, validate.ErrSchemas) {
		return cmp.Or(cmd.Context().Err(), err)
	}
	f.failed = append(f.failed, f.now.Name)
	stderr, name := cmd.ErrOrStderr(), legible.Name(f.now.Name)
	if fail, ok := errors.AsType[*failure.Error](err); ok {
		fmt.Fprintf(stderr, "opm: %s: %s\n%s", name, legible.Lines(fail.Reason), fail.After)
		return nil
	}
	for _, err := range failure.Flatten(err) {
		fmt.Fprintln(stderr, failure.Line(name+": ", err))
	}
	return nil
}

// sharing returns a context in which the catalogs share their equal files. The command must read all catalogs in the
// same way. Without --each, nothing is shared.
func (f *eachFlag) sharing(ctx context.Context) context.Context {
	if !f.given() {
		return ctx
	}
	return f.shared.With(ctx)
}
