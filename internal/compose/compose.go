// Package compose builds a composite catalog, as the specification of the format describes it: a config file lists
// references to catalogs, and each becomes a directory of the composite catalog. Its Dockerfile is next to it.
//
//	config, err := compose.ParseConfig("crafts.yaml", text)
//	result, err := compose.Run(ctx, config, compose.Options{Render: render.Options{Images: images}})
//
// A run renders only changed references, replaces and deletes only files that compose wrote, and writes nothing unless
// the whole catalog is valid.
//
// A run changes the files in one [atomicfile.Tx]. A directory .NAME.compose beside the catalog is its lock. A record
// beside the catalog has the digests of the files that compose wrote: a file with another digest belongs to someone
// else.
package compose

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/dockerfile"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Options configure a run. The zero value accepts no images.
type Options struct {
	// Dir is the directory that contains the catalog, the Dockerfile and the record; "" is the directory of the config
	// file.
	Dir string
	// Format is the format of the fragments; "" is YAML, as in the specification.
	Format declcfg.Format
	// Render configures the opening and changing of references. Bundles and standard input are not accepted.
	Render render.Options
	// Platform is the platform that images are selected for. If it differs from the last run, all fragments are
	// rendered again.
	Platform string
	// Conflicts overrides the policy of the config unless it is "".
	Conflicts Policy
	// BaseImage and BuilderImage are the images in the Dockerfile. BaseImage is the base of the catalog image: an image
	// with opm, or "scratch". BuilderImage builds the cache.
	BaseImage, BuilderImage string
	// Labels are the labels of the catalog image.
	Labels map[string]string
	// Overwrite replaces and deletes files even if compose did not write them, or if they have changed since.
	Overwrite bool
	// DryRun does everything except writing to Dir.
	DryRun bool
	// Warn, if not nil, is called with the errors of [atomicfile.RemoveStale]: leftovers of killed runs that cannot be
	// removed, and files that are rolled back.
	Warn func(error)
	// Jobs is the maximum number of references rendered at once; 0 means 4.
	Jobs int
}

// defaultJobs is the default of Options.Jobs: enough to overlap the waiting for registries, and few enough for the
// memory of large catalogs.
const defaultJobs = 4

// A ProblemsError has all problems of a catalog or of its references.
type ProblemsError struct {
	Problems []*problem.Problem
	causes   []error
}

func (e *ProblemsError) Error() string { return problem.Lines(e.Problems) }

// Unwrap returns the errors of references that cannot be rendered, with their positions, or nil if there are other
// problems, too.
func (e *ProblemsError) Unwrap() []error { return e.causes }

// A composer composes one catalog.
type composer struct {
	config    *Config
	opts      Options
	root      *os.Root // of Options.Dir
	tx        *atomicfile.Tx
	old       *record
	fragments []*fragment

	problems []*problem.Problem // problems of all fragments and files
	causes   []error            // errors of references, which are also in problems
}

// Run composes a catalog. If the catalog would not be valid or a reference cannot be rendered, it writes nothing and
// returns a [*ProblemsError]. It returns an error if another run for the same catalog is in progress.
//
// If Run is killed, each fragment is either the old or the new one, and the next run starts from the old ones.
func Run(ctx context.Context, config *Config, opts Options) (_ *Result, err error) {
	opts.Dir = cmp.Or(opts.Dir, config.dir())
	opts.Format = cmp.Or(opts.Format, declcfg.YAML)
	opts.Conflicts = cmp.Or(opts.Conflicts, config.Conflicts, Fail)
	opts.Render.Bundles, opts.Render.Stdin = nil, nil
	c := &composer{config: config, opts: opts}
	if c.root, err = regular.OpenRoot(opts.Dir); err != nil {
		return nil, fmt.Errorf("open output directory: %w", err)
	}
	defer c.root.Close()
	c.tx = &atomicfile.Tx{Root: c.root, DryRun: opts.DryRun}
	if !opts.DryRun {
		unlock, err := c.lock()
		if err != nil {
			return nil, err
		}
		defer unlock()
		if err := atomicfile.RemoveStale(opts.Dir, false); err != nil && opts.Warn != nil {
			opts.Warn(err)
		}
	}
	defer c.tx.Close()
	return c.run(ctx)
}

func (c *composer) run(ctx context.Context) (*Result, error) {
	catalog := dockerfile.Catalog{
		Dir: c.config.Name, BaseImage: c.opts.BaseImage, BuilderImage: c.opts.BuilderImage, Labels: c.opts.Labels,
	}
	var docker bytes.Buffer
	if _, err := catalog.WriteTo(&docker); err != nil {
		return nil, fmt.Errorf("generate dockerfile: %w", err)
	}
	var err error
	if c.old, err = readRecord(c.pathOf(recordOf(c.config.Name)), c.config.Name); err != nil {
		return nil, err
	}
	for i, r := range c.config.References {
		name := path.Join(c.config.Name, r.Name, fileName(c.opts.Format))
		f := &fragment{composer: c, Reference: r, index: i, path: name, old: c.old.find(name)}
		if f.onDisk, err = fileDigest(c.root, name); err != nil {
			return nil, err
		}
		c.fragments = append(c.fragments, f)
	}
	if err := c.each(ctx, c.fragments, (*fragment).render); err != nil {
		return nil, err
	}
	if err := c.resolveConflicts(ctx); err != nil {
		return nil, err
	}
	p, err := c.plan(docker.Bytes())
	if err != nil {
		return nil, err
	}
	if err := c.validate(ctx); err != nil {
		return nil, err
	}
	if err := c.tx.Commit(); err != nil {
		return nil, fmt.Errorf("write catalog %s: %w", c.pathOf(c.config.Name), err)
	}
	if !c.opts.DryRun {
		for _, name := range p.remove {
			_ = c.root.Remove(path.Dir(name)) // fails if the directory is not empty
		}
	}
	return c.result(p), nil
}

// pathOf returns the path of a file for messages and for package os.
func (c *composer) pathOf(name string) string {
	return filepath.Join(c.opts.Dir, filepath.FromSlash(name))
}

// lock locks the catalog with a directory next to it, which it removes at the end.
func (c *composer) lock() (done func(), err error) {
	name := "." + c.config.Name + ".compose"
	if err := c.root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	unlock, err := atomicfile.TryLock(c.root, name)
	switch {
	case errors.Is(err, atomicfile.ErrLocked), errors.Is(err, fs.ErrNotExist): // just removed by the other run
		return nil, fmt.Errorf("another opm compose is writing the catalog %s", c.pathOf(c.config.Name))
	case errors.Is(err, errors.ErrUnsupported):
		unlock = func() {}
	case err != nil:
		return nil, err
	}
	return func() {
		_ = c.root.RemoveAll(name)
		unlock()
	}, nil
}

// settings returns the rendering settings of fragments, as text for the record.
func (c *composer) settings() string {
	changes := c.opts.Render.Changes
	return fmt.Sprintf("migrate=%s platform=%s", cmp.Or(changes.Migration, render.MigrateNone), c.opts.Platform)
}

// each calls do for the fragments in parallel. The error has all problems.
func (c *composer) each(
	ctx context.Context, fragments []*fragment, do func(*fragment, context.Context) ([]*problem.Problem, error),
) error {
	type result struct {
		problems []*problem.Problem
		err      error
	}
	work := func(f *fragment) (r result) {
		if r.problems, r.err = do(f, ctx); r.err != nil {
			r.err = c.placed(f.index, r.err)
		}
		return r
	}
	complete := true
	for r := range parallel.Map(ctx, cmp.Or(c.opts.Jobs, defaultJobs), slices.Values(fragments), work) {
		c.problems = append(c.problems, r.problems...)
		complete = complete && len(r.problems) == 0
		if r.err != nil {
			c.report(r.err)
			c.causes = append(c.causes, r.err)
		}
	}
	if !complete {
		c.causes = nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.failed()
}

// report adds an error to the problems.
func (c *composer) report(err error) { c.problems = append(c.problems, problem.FromError("", err)...) }

// failed returns the problems so far as an error, or nil if there are none.
func (c *composer) failed() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &ProblemsError{problem.Sort(c.problems), c.causes}
}

// placed adds the position of a reference to each joined error, unless it has a position in the fragment.
func (c *composer) placed(i int, err error) error {
	all := problem.Flatten(err)
	for k, err := range all {
		if _, ok := err.(*declcfg.Error); !ok { //nolint:errorlint // a wrapper adds text
			all[k] = c.config.atImage(i, err)
		}
	}
	return errors.Join(all...)
}

// resolveConflicts drops each package that is in several fragments from all but one of them.
func (c *composer) resolveConflicts(ctx context.Context) error {
	dropped := c.conflicts()
	if err := c.failed(); err != nil {
		return err
	}
	var again []*fragment
	for i, f := range c.fragments {
		if f.digest == "" && !slices.Equal(f.dropped, dropped[i]) {
			again = append(again, f)
		}
	}
	err := c.each(ctx, again, func(f *fragment, ctx context.Context) ([]*problem.Problem, error) {
		ref, err := locate(c.config.dir(), f.Image)
		if err != nil {
			return nil, err
		}
		return f.renderFrom(ctx, ref)
	})
	if err != nil {
		return err
	}
	for i, f := range c.fragments {
		if f.digest == "" {
			continue
		}
		if err := f.drop(ctx, dropped[i]); err != nil {
			return err
		}
	}
	return nil
}

// conflicts returns the packages to drop from each fragment. With the policy Fail, it adds them as problems instead.
func (c *composer) conflicts() [][]string {
	dropped := make([][]string, len(c.fragments))
	provider := map[string]int{}
	for i, f := range c.fragments {
		for _, pkg := range f.packages {
			other, ok := provider[pkg]
			switch {
			case !ok:
				provider[pkg] = i
			case c.opts.Conflicts == First:
				dropped[i] = append(dropped[i], pkg)
			case c.opts.Conflicts == Last:
				dropped[other] = append(dropped[other], pkg)
				provider[pkg] = i
			default:
				err := fmt.Errorf("package %q is already in reference %q at %s; remove one of them, or choose with "+
					"\"conflicts: first\" or \"conflicts: last\"", pkg, c.fragments[other].Name, c.config.images[other])
				c.report(c.config.atImage(i, err))
			}
		}
	}
	return dropped
}

// validate checks the catalog as it will be after the run, including files that compose did not write.
func (c *composer) validate(ctx context.Context) error {
	name := path.Join(filepath.ToSlash(c.opts.Dir), c.config.Name)
	source := declcfg.Source{Name: name, FS: c.tx.FS(c.config.Name)}
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, source)
	if err != nil {
		return err
	}
	c.problems = append(c.problems, report.Problems...)
	return c.failed()
}
