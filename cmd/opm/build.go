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

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/dockerfile"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

func buildCmd() *cobra.Command {
	var f buildFlags
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

The same catalog, opm and flags give the same digest everywhere. Times are those of
SOURCE_DATE_EPOCH, or 1970. Each package is in one of at most 40 layers, so that an update moves
little more than what changed.`,
		Example: `  opm build catalog --base-image scratch -l vendor=Pottery --archive catalog.tar
  opm build catalog -i scratch --platform linux/amd64,linux/s390x --oci-layout image -o json
  docker login registry.example && opm build catalog -t registry.example/crafts/catalog:v2 --push`,
		args: func(cmd *cobra.Command, names []string) error {
			if f.onlyOpm {
				return wantArgs("")(cmd, names)
			}
			return wantArgs("DIRECTORY")(cmd, names)
		},
		flags:  f.add,
		images: &f.images,
		do:     f.run,
	}.cobra()
}

func (f *buildFlags) add(cmd *cobra.Command) {
	f.addImage(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.push, "push", false, "push the image to each --tag")
	flags.StringVar(&f.layout, "oci-layout", "", "write the image to the OCI layout in `DIRECTORY`")
	flags.StringVar(&f.archive, "archive", "", "write the image to the OCI archive `FILE`")
	flags.BoolVar(&f.onlyOpm, "only-opm", false, "build the image of opm itself, the base of catalog images")
	choiceVar(cmd, &f.format, "output", "o", "text",
		"print the digest of the image or its references, or all of it as JSON or YAML", "text", "json", "yaml")
}

func (f *buildFlags) run(cmd *cobra.Command, args []string) error {
	var dir string // the catalog; "" for an image of opm only
	if !f.onlyOpm {
		dir = args[0]
	}
	opts, err := f.check(dir)
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
	var pushed []string
	if f.push {
		pushed = f.tags
	}
	pusher, err := image.NewPusher(pushed, registry)
	if err != nil {
		return err
	}
	defer pusher.Close()
	var closeAll func()
	opts.Platforms, closeAll, err = f.open(cmd.Context(), registry)
	defer closeAll()
	if err == nil {
		err = f.warnOfBase(cmd, dir, opts.Platforms)
	}
	if err == nil {
		err = pusher.Check(cmd.Context())
	}
	if err != nil {
		return err
	}
	opts.Limits = registry.Limits
	built, err := f.build(cmd, dir, opts)
	if err != nil {
		done()
		return invalid(cmd, err, dir)
	}
	defer built.Close()
	if err := f.write(built); err != nil {
		return err
	}
	if err := pushAll(cmd, pusher, built); err != nil {
		return err
	}
	done()
	printed, err := references(pushed, built.Summary.Digest)
	if err != nil {
		return err
	}
	return printResult(cmd, inText(built.Summary, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, strings.Join(printed, "\n"))
		return err
	}))
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

func (f *buildFlags) build(cmd *cobra.Command, dir string, opts publish.Options) (*publish.Image, error) {
	if f.onlyOpm {
		return publish.BuildOpm(cmd.Context(), opts)
	}
	built, err := publish.Build(cmd.Context(), declcfg.Source{
		Name: dir, FS: os.DirFS(dir), MaxObject: sizeOf(cmd, maxObjectSize),
		Read: display{cmd}.Read,
	}, opts)
	if err == nil {
		warnIfNone(cmd, built.Summary.Packages, "packages", dir)
	}
	return built, err
}

// invalid prints the problems if err is about an invalid catalog, and returns the error that ends the command.
func invalid(cmd *cobra.Command, err error, dir string) error {
	found, ok := errors.AsType[*publish.InvalidError](err)
	if !ok {
		return fmt.Errorf("build image: %w", err)
	}
	if err := notCatalog(dir, found.Report); err != nil {
		return err
	}
	return reportProblems(cmd, found.Report.Problems)
}

// write writes the image to the layout and the archive.
func (f *buildFlags) write(built *publish.Image) error {
	name := ""
	if len(f.tags) > 0 {
		name = f.tags[0]
	}
	if f.layout != "" {
		if err := image.WriteLayout(built.Artifact, f.layout, name); err != nil {
			return err
		}
	}
	if f.archive == "" {
		return nil
	}
	return atomicfile.Write(f.archive, atomicfile.Options{Replace: true, Stream: true}, func(w io.Writer) error {
		return image.WriteArchive(w, built.Artifact, name)
	})
}

// pushAll pushes the image, and then sets the tags. It names the tags that were set before one failed.
func pushAll(cmd *cobra.Command, p *image.Pusher, built *publish.Image) error {
	_, err := p.Store(cmd.Context(), built.Artifact)
	if err == nil {
		_, err = p.Tag(cmd.Context())
	}
	if live := p.Live(); err != nil && len(live) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: the image is live as %s\n", strings.Join(live, ", "))
	}
	return err
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
}

// Values of --base-image that are not images.
const (
	baseSelf    = "self"
	baseScratch = "scratch"
)

// addImage adds the flags for the content and the tags of the image.
func (f *buildFlags) addImage(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.tags, "tag", "t", nil, "name the image `REF`, as in HOST/PATH:TAG; repeatable")
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
