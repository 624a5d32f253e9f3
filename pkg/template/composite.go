package template

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// The schemas of composite templates.
const (
	compositeSchema = "olm.composite"
	catalogsSchema  = "olm.composite.catalogs"
)

// A Composite is a composite template, a type that upstream has removed. It consists of the package owner's file, with
// a component for each catalog that the package is contributed to, and the catalog owner's file. Each component is
// built into one file.
type Composite struct {
	components []component
}

// A compositeContribution is the file of the package owner.
type compositeContribution struct {
	Schema     string      `json:"schema"`
	Components []component `json:"components"`
}

// A compositeCatalogs is the file of the catalog owner.
type compositeCatalogs struct {
	Schema   string             `json:"schema"`
	Catalogs []compositeCatalog `json:"catalogs"`
}

// A component describes the contribution of the package to one catalog.
type component struct {
	Name        string `json:"name"` // name of the catalog
	Destination struct {
		Path string `json:"path"` // relative to the directory of the catalog
	} `json:"destination"`
	Strategy struct {
		Name     string `json:"name"`
		Template struct {
			Schema string        `json:"schema"` // schema of the builder
			Config builderConfig `json:"config"`
		} `json:"template"`
	} `json:"strategy"`

	file *strictyaml.File
	ptr  jsontext.Pointer
	dir  string // directory of the output file
}

// A builderConfig is the configuration of a builder.
type builderConfig struct {
	Input   string   `json:"input"`   // input file of every builder except the custom one
	Output  string   `json:"output"`  // output file, relative to the directory of the component
	Command string   `json:"command"` // command of the custom builder
	Args    []string `json:"args"`
}

// A compositeCatalog is a catalog that accepts contributions.
type compositeCatalog struct {
	Name        string `json:"name"`
	Destination struct {
		WorkingDir string `json:"workingDir"`
	} `json:"destination"`
	Builders []string `json:"builders"` // schemas of the allowed builders
}

// The schemas of builders.
const (
	basicBuilder  = "olm.builder.basic"
	semverBuilder = "olm.builder.semver"
	rawBuilder    = "olm.builder.raw"
	customBuilder = "olm.builder.custom"
)

var builders = []string{basicBuilder, semverBuilder, rawBuilder, customBuilder}

func (c *component) objects(ctx context.Context, o CompositeOptions) (*built, error) {
	switch c.Strategy.Template.Schema {
	case basicBuilder:
		return c.template(ctx, Basic, o)
	case semverBuilder:
		return c.template(ctx, Semver, o)
	case rawBuilder:
		return c.raw(ctx, o)
	}
	return c.custom(ctx, o)
}

// CompositeOptions configure the build of a composite template.
type CompositeOptions struct {
	Options
	Bundles   render.Options // rendering of bundles
	Format    declcfg.Format
	AllowExec bool // run the commands of custom builders
	Validate  bool // validate each output directory before it is written
	Warn      func(*declcfg.Error)
}

// ParseComposite reads the two files of a composite template. The error joins all mistakes, sorted by position.
func ParseComposite(
	contributionName string, contribution []byte, catalogsName string, catalogs []byte,
) (*Composite, error) {
	var from compositeContribution
	var to compositeCatalogs
	file, err := strictyaml.Unmarshal(contributionName, contribution, &from)
	catalogsFile, catalogsErr := strictyaml.Unmarshal(catalogsName, catalogs, &to)
	if err := errors.Join(err, catalogsErr); err != nil {
		return nil, err
	}
	var errs []error
	if from.Schema != compositeSchema {
		errs = append(errs, file.Errorf("/schema", "want schema %q, found %q", compositeSchema, from.Schema))
	}
	if to.Schema != catalogsSchema {
		errs = append(errs, catalogsFile.Errorf("/schema", "want schema %q, found %q", catalogsSchema, to.Schema))
	}
	if len(from.Components) == 0 {
		errs = append(errs, file.Errorf("/components", "no components"))
	}
	for i := range from.Components {
		c := &from.Components[i]
		c.file, c.ptr = file, place.Item("/components", i)
		errs = append(errs, c.check(to.Catalogs)...)
	}
	return &Composite{from.Components}, place.JoinErrors(errs)
}

// check returns the mistakes in a component, and sets its directory.
func (c *component) check(catalogs []compositeCatalog) (errs []error) {
	fail := func(ptr jsontext.Pointer, format string, args ...any) {
		errs = append(errs, c.file.Errorf(c.ptr+ptr, format, args...))
	}
	const at = "/strategy/template"
	schema, config := c.Strategy.Template.Schema, c.Strategy.Template.Config
	if !slices.Contains(builders, schema) {
		fail(at+"/schema", "unknown builder %q%s", schema, nearest.Hint(schema, builders))
		return errs
	}
	if config.Output == "" {
		fail(at+"/config/output", "the builder needs the name of its output file")
	}
	if schema == customBuilder && config.Command == "" {
		fail(at+"/config/command", "the custom builder needs a command")
	}
	if schema != customBuilder && config.Input == "" {
		fail(at+"/config/input", "the builder needs the name of its input file")
	}
	for ptr, path := range map[jsontext.Pointer]string{
		"/destination/path": c.Destination.Path, at + "/config/output": config.Output,
	} {
		if path != "" && !filepath.IsLocal(path) {
			fail(ptr, "%q is outside of the directory of the catalog", path)
		}
	}
	i := slices.IndexFunc(catalogs, func(cat compositeCatalog) bool { return cat.Name == c.Name })
	if i < 0 {
		var names []string
		for _, cat := range catalogs {
			names = append(names, cat.Name)
		}
		fail("/name", "no catalog %q%s", c.Name, nearest.Hint(c.Name, names))
		return errs
	}
	if !slices.Contains(catalogs[i].Builders, schema) {
		fail(at+"/schema", "catalog %q does not allow the builder %q, but %q", c.Name, schema, catalogs[i].Builders)
	}
	c.dir = filepath.Join(catalogs[i].Destination.WorkingDir, c.Destination.Path)
	return errs
}

// A built has the objects of a component. They are valid until close is called.
type built struct {
	metas []*declcfg.Meta
	edit  func(*declcfg.Bundle) error
	close func() error
	lock  *render.Lock
}

// Build builds all components and writes their files, or no file if there is an error. It returns the lock of all
// bundles.
func (c *Composite) Build(ctx context.Context, o CompositeOptions) (lock *render.Lock, err error) {
	if err := c.checkOutputs(); err != nil {
		return nil, err
	}
	var tx atomicfile.Tx
	defer tx.Close()
	var errs []error
	for i := range c.components {
		if err := c.components[i].build(ctx, &tx, &o); err != nil {
			errs = append(errs, problem.Flatten(err)...)
		}
	}
	if err := place.JoinErrors(errs); err != nil {
		return nil, err
	}
	if o.Validate {
		dirs := map[string]bool{}
		for _, part := range c.components {
			dirs[part.dir] = true
		}
		for _, dir := range slices.Sorted(maps.Keys(dirs)) {
			errs = append(errs, validateDir(ctx, dir, tx.FS(dir))...)
		}
		if err := place.JoinErrors(errs); err != nil {
			return nil, err
		}
	}
	return o.Bundles.Lock, tx.Commit()
}

func (c *component) output() string { return filepath.Join(c.dir, c.Strategy.Template.Config.Output) }

// checkOutputs returns an error for each component that would overwrite the file of another component. Paths that
// differ only in case, or that lead to the same directory through links, count as the same file.
func (c *Composite) checkOutputs() error {
	var errs []error
	first := map[string]*component{}
	for i := range c.components {
		part := &c.components[i]
		key := foldPath(part.output())
		const at = "/strategy/template/config/output"
		if other := first[key]; other != nil {
			errs = append(errs, part.file.Errorf(part.ptr+at, "%q is already the output of the component at %s",
				part.output(), other.file.Pos(other.ptr + at)[0]))
			continue
		}
		first[key] = part
	}
	return place.JoinErrors(errs)
}

// foldPath returns the absolute path of a file in lower case, with the links of its existing directories resolved.
func foldPath(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	rest := filepath.Base(name)
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if target, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			return strings.ToLower(strings.ToUpper(filepath.Join(target, rest)))
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// build stages the file of the component.
func (c *component) build(ctx context.Context, tx *atomicfile.Tx, o *CompositeOptions) error {
	b, err := c.objects(ctx, *o)
	if err != nil {
		return err
	}
	defer b.close() //nolint:errcheck // it was only read
	if b.lock != nil && o.Bundles.Lock != nil {
		o.Bundles.Lock = b.lock
	}
	return tx.Write(c.output(), 0, func(w io.Writer) error {
		return declcfg.Write(ctx, w, b.metas, declcfg.WriteOptions{Format: o.Format, Edit: b.edit})
	})
}

// template renders the basic or semver template of the component.
func (c *component) template(ctx context.Context, typ Type, o CompositeOptions) (*built, error) {
	input := c.Strategy.Template.Config.Input
	text, err := regular.ReadPath(input)
	if err != nil {
		return nil, c.file.Errorf(c.ptr+"/strategy/template/config/input", "%w", err)
	}
	t, err := Parse(input, text, typ, o.Warn)
	if err != nil {
		return nil, err
	}
	bundles, err := t.Pull(ctx, o.Bundles)
	if err != nil {
		return nil, err
	}
	catalog, err := t.Render(ctx, bundles, o.Options)
	if err != nil {
		return nil, errors.Join(err, bundles.Close())
	}
	return &built{catalog.Metas, catalog.Edit, bundles.Close, &bundles.Lock}, nil
}

func (c *component) raw(ctx context.Context, o CompositeOptions) (*built, error) {
	input := c.Strategy.Template.Config.Input
	if info, err := os.Stat(input); err == nil { // if the file is missing, Open below returns a better error
		if err := regular.Check(info.Mode()); err != nil {
			return nil, c.file.Errorf(c.ptr+"/strategy/template/config/input", "%s: %w", input, err)
		}
	}
	catalog, err := render.Open(ctx, []string{input}, render.Options{Spool: o.Bundles.Spool})
	if err != nil {
		return nil, c.file.Errorf(c.ptr+"/strategy/template/config/input", "%w", err)
	}
	metas, err := catalog.Metas(ctx)
	if err != nil {
		return nil, errors.Join(err, catalog.Close())
	}
	return &built{metas: metas, close: catalog.Close}, nil
}

// custom runs the command of the custom builder, which prints a catalog.
func (c *component) custom(ctx context.Context, o CompositeOptions) (*built, error) {
	const at = "/strategy/template/config/command"
	config := c.Strategy.Template.Config
	if !o.AllowExec {
		return nil, c.file.Errorf(c.ptr+at, "the builder runs the command %q: allow it with --allow-exec", config.Command)
	}
	cmd := exec.CommandContext(ctx, config.Command, config.Args...) //nolint:gosec // the user allowed it
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, c.file.Errorf(c.ptr+at, "run %q: %w: %s", config.Command, err, strings.TrimSpace(stderr.String()))
	}
	catalog := &render.Catalog{Sources: []declcfg.Source{render.Text("output of "+config.Command, out)}}
	metas, err := catalog.Metas(ctx)
	return &built{metas: metas, close: catalog.Close}, err
}

// validateDir returns the errors of the catalog in a directory. Their positions begin with name.
func validateDir(ctx context.Context, name string, dir fs.FS) (errs []error) {
	source := declcfg.Source{Name: name, FS: dir}
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, source)
	if err != nil {
		return []error{err}
	}
	for _, p := range report.Problems {
		errs = append(errs, &declcfg.Error{Pos: p.Pos, Err: asError(p)})
	}
	return errs
}
