package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/dockerfile"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/image"
)

// buildFlags are the flags of build.
type buildFlags struct {
	publish.Place
	push        bool
	platforms   []string
	base        string
	binaries    map[string]string // by platform
	labels      []string
	annotations []string
	httpAddr    string
	onlyOpm     bool
	format      string
	images      imageFlags
	each        *eachFlag // nil if the command has it elsewhere
}

// Values of --base-image that are not images.
const (
	baseSelf    = "self"
	baseScratch = "scratch"
)

// addImage adds the flags for the content and the tags of the image.
func (f *buildFlags) addImage(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.Tags, "tag", "t", nil,
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
	case !f.push && f.Layout == "" && f.Archive == "":
		return opts, cmdline.Errorf("want --push, --oci-layout or --archive: where to put the image")
	case f.push && len(f.Tags) == 0:
		return opts, cmdline.Errorf("--push needs --tag")
	case len(f.Tags) > 1 && !f.push:
		return opts, cmdline.Errorf("several --tag need --push: a layout or an archive has one name")
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
	for _, tag := range f.Tags {
		err := image.CheckTarget(tag)
		if reference.Of(tag).Kind == reference.Layout {
			err = errors.New("want HOST/PATH:TAG; for an OCI layout, there is --oci-layout")
		}
		if err != nil {
			return opts, cmdline.Errorf("--tag %q: %w", tag, err)
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
		return opts, cmdline.Invalid(err)
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
