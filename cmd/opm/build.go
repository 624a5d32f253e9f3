package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/dockerfile"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

func buildCmd() *cobra.Command {
	f := buildFlags{each: &eachFlag{together: true}}
	return command{
		Use:   "build DIRECTORY",
		Short: "Build the image of a catalog, without a container engine",
		Long: `Validate a catalog and build its image, with the store from which opm serves it at once. The
image has the entry point, paths and labels of one that is built with the Dockerfile of opm
generate dockerfile. It goes to an OCI layout, to an archive, and with --push to each --tag; tags
change when all repositories have the image. Its digest is printed, after --push as a reference for
each repository that has it.

The base is this opm with certificates, and nothing else; its binaries for other architectures come
with --opm-binary. If this opm needs libraries, as one of go install does if there is a C
compiler, the binary of its release is taken from the same directory, such as linux-amd64-opm.
Another --base-image must have opm at /bin/opm. If that is upstream's, the image has no store,
since upstream refuses a cache that is not its own. Base "scratch" leaves
opm out: a CatalogSource then needs grpcPodConfig.extractContent. --only-opm builds an image
without a catalog, which can be the base and builder of a Dockerfile.

With --each, each catalog has an image of its own: {{.Catalog}} in --tag, --archive and
--oci-layout is its name. Nothing is written or pushed unless all images can be built.

The same catalog, opm and flags give the same digest everywhere. Times are those of
SOURCE_DATE_EPOCH, or 1970. Each package is in one of at most 40 layers, so that an update moves
little more than what changed.`,
		Example: `  opm build catalog --base-image scratch -l vendor=Pottery --archive catalog.tar
  opm build catalog -i scratch --platform linux/amd64,linux/s390x --oci-layout image -o json
  opm build --each catalog/ -i scratch --archive '{{.Catalog}}.tar'
  docker login registry.example && opm build catalog -t registry.example/crafts/catalog:v2 --push`,
		args: func(cmd *cobra.Command, names []string) error {
			if f.onlyOpm && !f.each.given() { // both exclude each other
				return wantArgs("")(cmd, names)
			}
			return wantArgs("DIRECTORY")(cmd, names)
		},
		flags:  f.add,
		images: &f.images,
		each:   f.each,
		do:     f.run,
	}.cobra()
}

func (f *buildFlags) add(cmd *cobra.Command) {
	f.addImage(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.push, "push", false, "push the image to each --tag")
	flags.StringVar(&f.layout, "oci-layout", "",
		"write the image to the OCI layout in `DIRECTORY`, in which {{.Catalog}} is the name of the catalog")
	flags.StringVar(&f.archive, "archive", "",
		"write the image to the OCI archive `FILE`, in which {{.Catalog}} is the name of the catalog")
	flags.BoolVar(&f.onlyOpm, "only-opm", false, "build the image of opm itself, the base of catalog images")
	choiceVar(cmd, &f.format, "output", "o", "text",
		"print the digest of the image or its references, or all of it as JSON or YAML", "text", "json", "yaml")
	exclude(cmd, "only-opm", "each")
}

// A building is the image of one catalog, or of opm only.
type building struct {
	dir    string // the catalog; "" for an image of opm only
	flags  buildFlags
	opts   publish.Options
	pusher *image.Pusher
	image  *publish.Image
}

func (f *buildFlags) run(cmd *cobra.Command, args []string) error {
	refs := []*reference.Named{{}} // no catalog
	var err error
	if !f.onlyOpm {
		if refs, err = f.each.catalogs(args[0]); err != nil {
			return err
		}
	}
	all, err := f.buildings(refs)
	if err != nil {
		return err
	}
	registry, err := f.images.options(cmd)
	if err != nil {
		return err
	}
	defer registry.Cache.Close()
	done := display{cmd}.Start("building")
	defer done()
	platforms, closeBases, err := all[0].flags.open(cmd.Context(), registry) // the same for all
	defer closeBases()
	if err != nil {
		return err
	}
	for _, b := range all {
		defer b.close()
		b.opts.Platforms = platforms
		if err := b.prepare(cmd, registry); err != nil {
			return err
		}
	}
	if err := f.buildAll(cmd, refs, all, done); err != nil {
		return err
	}
	if err := f.put(cmd, all); err != nil {
		return err
	}
	done()
	return f.print(cmd, refs, all)
}

// buildings returns the images to build. Two catalogs must not have one place.
func (f *buildFlags) buildings(refs []*reference.Named) ([]*building, error) {
	tags, err := tagsOf(refs, f.tags)
	if err != nil {
		return nil, err
	}
	var all []*building
	archives, layouts := map[string]string{}, map[string]bool{}
	for i, r := range refs {
		b := &building{dir: r.Ref, flags: *f}
		b.flags.tags = tags[i]
		if b.flags.archive, err = forCatalog("archive", f.archive, r.Name); err != nil {
			return nil, err
		}
		if b.flags.layout, err = forCatalog("oci-layout", f.layout, r.Name); err != nil {
			return nil, err
		}
		other, taken := archives[b.flags.archive]
		switch {
		case taken && b.flags.archive != "":
			return nil, usageError{fmt.Errorf("--archive %q is the file of both %s and %s: "+
				"put {{.Catalog}} into it, the name of the catalog", b.flags.archive, other, r.Name)}
		case layouts[b.flags.layout] && f.layout != "" && len(f.tags) == 0:
			return nil, usageError{errors.New("several catalogs in one --oci-layout need {{.Catalog}} in it or in --tag")}
		}
		archives[b.flags.archive], layouts[b.flags.layout] = r.Name, true
		if b.opts, err = b.flags.check(b.dir); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// prepare warns of bases that do not match, and checks that the registry accepts a push. close must be called also if
// it fails.
func (b *building) prepare(cmd *cobra.Command, registry image.Options) (err error) {
	var pushed []string
	if b.flags.push {
		pushed = b.flags.tags
	}
	if b.pusher, err = image.NewPusher(pushed, registry); err != nil {
		return err
	}
	if err = b.flags.warnOfBase(cmd, b.dir, b.opts.Platforms); err == nil {
		err = b.pusher.Check(cmd.Context())
	}
	b.opts.Limits = registry.Limits
	return err
}

func (b *building) close() {
	if b.image != nil {
		_ = b.image.Close()
	}
	if b.pusher != nil {
		_ = b.pusher.Close()
	}
}

// buildAll builds all images. With --each, an error names its catalog, and those after it are built, too.
func (f *buildFlags) buildAll(cmd *cobra.Command, refs []*reference.Named, all []*building, done func()) error {
	build := func(b *building) (err error) {
		if b.image, err = b.build(cmd); err != nil {
			done()
			return invalid(cmd, err, b.dir)
		}
		return nil
	}
	if !f.each.given() {
		return build(all[0])
	}
	next := 0
	err := f.each.runAll(cmd, refs, func(*reference.Named) error {
		next++
		return build(all[next-1])
	})
	return f.each.sumUp(err)
}

// put writes and pushes all images. Tags are set after the last image is pushed.
func (f *buildFlags) put(cmd *cobra.Command, all []*building) error {
	for _, b := range all {
		if err := b.write(); err != nil {
			return err
		}
	}
	for _, b := range all {
		if _, err := b.pusher.Store(cmd.Context(), b.image.Artifact); err != nil {
			return err
		}
	}
	for _, b := range all {
		if _, err := b.pusher.Tag(cmd.Context()); err != nil {
			var live []string
			for _, b := range all {
				live = append(live, b.pusher.Live()...)
			}
			if len(live) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "opm: the image is live as %s\n", strings.Join(live, ", "))
			}
			return err
		}
	}
	return nil
}

// print prints the digest of each image, or its references.
func (f *buildFlags) print(cmd *cobra.Command, refs []*reference.Named, all []*building) error {
	var each *output.Each
	if f.each.given() {
		var err error
		if each, err = output.NewEach(cmd.OutOrStdout(), output.Format(f.format)); err != nil {
			return err
		}
	}
	for i, b := range all {
		var pushed []string
		if f.push {
			pushed = b.flags.tags
		}
		printed, err := references(pushed, b.image.Summary.Digest)
		if err != nil {
			return err
		}
		result := inText(b.image.Summary, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, strings.Join(printed, "\n"))
			return err
		})
		if each == nil {
			return printResult(cmd, result)
		}
		if err := each.Add(refs[i].Name, result); err != nil {
			return err
		}
	}
	return each.Close()
}

// references returns a reference by digest for each repository of the tags, or only the digest if there are no tags.
func references(tags []string, digest string) (all []string, err error) {
	for _, tag := range tags {
		ref, err := image.ParseReference(tag)
		if err != nil {
			return nil, err
		}
		if named := image.RepositoryName(ref) + "@" + digest; !slices.Contains(all, named) {
			all = append(all, named)
		}
	}
	if all == nil {
		all = []string{digest}
	}
	return all, nil
}

func (b *building) build(cmd *cobra.Command) (*publish.Image, error) {
	if b.flags.onlyOpm {
		return publish.BuildOpm(cmd.Context(), b.opts)
	}
	built, err := publish.Build(cmd.Context(), declcfg.Source{
		Name: b.dir, FS: os.DirFS(b.dir), MaxObject: sizeOf(cmd, maxObjectSize),
		Read: display{cmd}.Read,
	}, b.opts)
	if err == nil {
		warnIfNone(cmd, built.Summary.Packages, "packages", b.dir)
	}
	return built, err
}

// invalid prints the problems if err is about an invalid catalog, and returns the error that ends the command.
func invalid(cmd *cobra.Command, err error, dir string) error {
	found, ok := errors.AsType[*publish.InvalidError](err)
	if !ok {
		return fmt.Errorf("build image: %w", err)
	}
	if err := notCatalog(cmd.Context(), dir, found.Report); err != nil {
		return err
	}
	return reportProblems(cmd, found.Report.Problems)
}

// write writes the image to the layout and the archive.
func (b *building) write() error {
	name := ""
	if len(b.flags.tags) > 0 {
		name = b.flags.tags[0]
	}
	if b.flags.layout != "" {
		if err := image.WriteLayout(b.image.Artifact, b.flags.layout, name); err != nil {
			return err
		}
	}
	if b.flags.archive == "" {
		return nil
	}
	return atomicfile.Write(b.flags.archive, atomicfile.Options{Replace: true, Stream: true}, func(w io.Writer) error {
		return image.WriteArchive(w, b.image.Artifact, name)
	})
}

// buildFlags are the flags of build.
type buildFlags struct {
	tags            []string
	push            bool
	layout, archive string
	platforms       []string
	base            string
	binaries        map[string]string // by platform
	labels          []string
	annotations     []string
	httpAddr        string
	onlyOpm         bool
	format          string
	images          imageFlags
	each            *eachFlag // nil if the command has it elsewhere
}

// Values of --base-image that are not images.
const (
	baseSelf    = "self"
	baseScratch = "scratch"
)

// addImage adds the flags for the content and the tags of the image.
func (f *buildFlags) addImage(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.tags, "tag", "t", nil,
		"name the image `REF`, as in HOST/PATH:TAG, with {{.Catalog}} for the name of the catalog; repeatable")
	flags.StringSliceVar(&f.platforms, "platform", nil,
		"build for `OS/ARCH`; repeatable (default linux and this machine's)")
	flags.StringVarP(&f.base, "base-image", "i", baseSelf, "base `IMAGE` that contains opm, self or scratch")
	flags.StringToStringVar(&f.binaries, "opm-binary", nil,
		"opm for an architecture, as `OS/ARCH=FILE`; repeatable (default: this opm)")
	flags.Lookup("opm-binary").DefValue = "" // which help would show as []
	flags.StringSliceVarP(&f.labels, "extra-labels", "l", nil, "add the label `KEY=VALUE` to the image")
	flags.StringArrayVar(&f.annotations, "annotation", nil, "add the annotation `KEY=VALUE` to the manifest; repeatable")
	flags.StringVar(&f.httpAddr, "http-addr", "", "serve HTTP on `ADDRESS` too, as HOST:PORT")
}

// check rejects flags that contradict each other, and returns the build options that the flags set. dir is the catalog,
// or "" for an image without one.
func (f *buildFlags) check(dir string) (opts publish.Options, err error) {
	if opts, err = f.checkImage(); err != nil {
		return opts, err
	}
	switch {
	case !f.push && f.layout == "" && f.archive == "":
		return opts, usageError{errors.New("want --push, --oci-layout or --archive: where to put the image")}
	case f.push && len(f.tags) == 0:
		return opts, usageError{errors.New("--push needs --tag")}
	case len(f.tags) > 1 && !f.push:
		return opts, usageError{errors.New("several --tag need --push: a layout or an archive has one name")}
	case dir == "":
		return opts, nil
	}
	if _, err = regular.Directory(dir); err != nil {
		err = fmt.Errorf("build image: %w", err)
	}
	return opts, err
}

// A catalogName is what the value of a flag can use as a template.
type catalogName string

var errNoName = errors.New("there is no catalog with a name")

// Catalog returns the name, or errNoName.
func (n catalogName) Catalog() (string, error) {
	if n == "" {
		return "", errNoName
	}
	return string(n), nil
}

// forCatalog replaces {{.Catalog}} in the value of a flag by the name of a catalog. It is an error if name is "".
func forCatalog(flag, value, name string) (string, error) {
	tmpl, err := template.New(flag).Option("missingkey=error").Parse(value)
	var text strings.Builder
	if err == nil {
		err = tmpl.Execute(&text, catalogName(name))
	}
	if errors.Is(err, errNoName) {
		err = errNoName // not its place in the template
	}
	if err != nil {
		return "", usageError{fmt.Errorf("--%s %q: %w", flag, value, err)}
	}
	return text.String(), nil
}

// tagsOf returns the tags of the image of each catalog, in which {{.Catalog}} is replaced by its name. It is an error
// if two catalogs have the same tag.
func tagsOf(refs []*reference.Named, tags []string) (all [][]string, err error) {
	first := map[string]string{} // names of catalogs by full references
	for _, r := range refs {
		var own []string
		for _, tag := range tags {
			text, err := forCatalog("tag", tag, r.Name)
			if err != nil {
				return nil, err
			}
			own = append(own, text)
			full := text
			if parsed, err := image.ParseReference(text); err == nil { // checkImage reports others
				full = parsed.Name()
			}
			if other, taken := first[full]; taken && other != r.Name {
				return nil, usageError{fmt.Errorf("--tag %q names the image of both %s and %s: "+
					"put {{.Catalog}} into it, the name of the catalog", tag, other, r.Name)}
			}
			first[full] = r.Name
		}
		all = append(all, own)
	}
	return all, nil
}

// checkImage checks the flags of addImage.
func (f *buildFlags) checkImage() (opts publish.Options, err error) {
	for _, tag := range f.tags {
		err := image.CheckTarget(tag)
		if reference.Of(tag).Kind == reference.Layout {
			err = errors.New("want HOST/PATH:TAG; for an OCI layout, there is --oci-layout")
		}
		if err != nil {
			return opts, usageError{fmt.Errorf("--tag %q: %w", tag, err)}
		}
	}
	err = f.checkPlatforms()
	if err == nil {
		opts.Labels, err = parseLabels(f.labels)
	}
	if err == nil && len(f.annotations) > 0 {
		opts.Annotations, err = parseLabels(f.annotations)
	}
	if err != nil {
		return opts, usageError{err}
	}
	opts.HTTPAddr = f.httpAddr
	opts.Created, err = sourceDate()
	return opts, err
}

// parseLabels parses labels or annotations, which must have keys.
func parseLabels(items []string) (map[string]string, error) {
	labels, err := dockerfile.ParseLabels(items)
	if value, ok := labels[""]; ok {
		err = fmt.Errorf("invalid label %q: want key=value", "="+value)
	}
	return labels, err
}

func (f *buildFlags) checkPlatforms() error {
	if len(f.platforms) == 0 {
		f.platforms = []string{"linux/" + runtime.GOARCH}
	}
	for i, p := range f.platforms {
		if !strings.HasPrefix(p, "linux/") {
			return fmt.Errorf("--platform %q: want linux/ARCH, such as linux/arm64", p)
		}
		if slices.Contains(f.platforms[:i], p) {
			return fmt.Errorf("--platform %q is given twice", p)
		}
	}
	if f.httpAddr != "" && (f.base == baseScratch || f.onlyOpm) {
		return errors.New("--http-addr is for images that serve a catalog")
	}
	if err := checkHTTPAddr(f.httpAddr); err != nil {
		return err
	}
	if f.base != baseSelf && (len(f.binaries) > 0 || f.onlyOpm) {
		return errors.New("--opm-binary and --only-opm are for --base-image self")
	}
	for _, p := range slices.Sorted(maps.Keys(f.binaries)) {
		if !slices.Contains(f.platforms, p) {
			return fmt.Errorf("--opm-binary %s=%s: there is no --platform %s", p, f.binaries[p], p)
		}
	}
	for _, p := range f.platforms {
		if f.base == baseSelf && f.binaries[p] == "" && p != runtime.GOOS+"/"+runtime.GOARCH {
			return fmt.Errorf("--platform %s needs --opm-binary %s=FILE: this opm is for %s/%s",
				p, p, runtime.GOOS, runtime.GOARCH)
		}
	}
	return nil
}

// checkHTTPAddr returns an error if the address for HTTP has no fixed port. "" is valid: the image does not serve HTTP.
func checkHTTPAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if n, _ := strconv.ParseUint(port, 10, 16); addr != "" && (err != nil || n == 0) {
		return fmt.Errorf("--http-addr %q: want HOST:PORT, such as :8080", addr)
	}
	return nil
}

// open opens the binary or the base image for each platform. closeAll closes them; call it after an error, too.
func (f *buildFlags) open(
	ctx context.Context, registry image.Options,
) (platforms []publish.Platform, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, c := range opened {
			c.Close()
		}
	}
	for _, name := range f.platforms {
		p, c, err := f.openPlatform(ctx, name, registry)
		if c != nil {
			opened = append(opened, c)
		}
		if err != nil {
			return nil, closeAll, err
		}
		platforms = append(platforms, p)
	}
	return platforms, closeAll, nil
}

// openPlatform opens the binary or the base image for a platform. The caller closes c if it is not nil, also after an
// error.
func (f *buildFlags) openPlatform(
	ctx context.Context, platform string, registry image.Options,
) (p publish.Platform, c io.Closer, err error) {
	p.Name = platform
	switch f.base {
	case baseScratch:
		return p, nil, nil
	case baseSelf:
		if p.Binary, err = f.binary(ctx, platform); err != nil {
			return p, nil, err
		}
		return p, p.Binary, nil
	}
	registry.Platform = platform
	img, err := image.Open(ctx, f.base, registry)
	if err != nil {
		return p, nil, err
	}
	p.Base, err = publish.NewBase(ctx, img, platform)
	return p, img, err
}

func (f *buildFlags) binary(ctx context.Context, platform string) (*publish.Binary, error) {
	if file := f.binaries[platform]; file != "" {
		return publish.OpenBinary(file, platform)
	}
	build := thisBuild()
	b, err := publish.Self(ctx, platform, build.Version)
	if errors.Is(err, publish.ErrDynamic) {
		err = fmt.Errorf("%w, or name the binary of a release: --opm-binary %s=FILE", err, platform)
	}
	return b, err
}

// warnOfBase warns that an image has no store if the opm of its base is not this one.
func (f *buildFlags) warnOfBase(cmd *cobra.Command, dir string, platforms []publish.Platform) error {
	foreign := func(p publish.Platform) bool { return p.Base != nil && !p.Base.IsOpm }
	if !slices.ContainsFunc(platforms, foreign) {
		return nil
	}
	warn(cmd, "the opm in %s is not this one, which would refuse the store: "+
		"the image has none, and builds its cache at every start", f.base)
	return warnNotPortable(cmd, dir, f.base, "choose a base with this opm")
}
