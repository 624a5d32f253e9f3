package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opm-toolchain/opm/internal/mirror"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/image"
)

// programs returns the platforms of the image of a filtered catalog, with the programs that serve it: those of
// --base-image or, without it, those of the source if that is an image in a registry or in an OCI layout. It returns
// nil if there is no program. Call closeAll after the image was built, and after an error.
func (f *mirrorFlags) programs(
	ctx context.Context, c *catalog, wanted []string,
) (platforms []publish.Platform, closeAll func(), err error) {
	closeAll = func() {}
	base := f.base
	switch {
	case base == baseScratch:
		return nil, closeAll, nil
	case base == baseSelf:
		build := buildFlags{base: baseSelf, platforms: wanted}
		if err := build.checkPlatforms(); err != nil {
			return nil, closeAll, fmt.Errorf("--base-image self is for the platform of this opm: %w", err)
		}
		return build.open(ctx, f.registry)
	case base == "" && c.digest() == "" && reference.Of(c.refs[0]).Kind != reference.Layout:
		return nil, closeAll, nil
	case base == "":
		base = c.refs[0]
	}
	names := wanted
	if wanted == nil {
		names = mirror.CatalogPlatforms
	}
	var opened []io.Closer
	closeAll = func() {
		for _, c := range slices.Backward(opened) {
			c.Close()
		}
	}
	var missing error // about the first platform without an image
	for _, name := range names {
		registry := f.registry
		registry.Platform = name
		img, err := image.Open(ctx, base, registry)
		var p *publish.Base
		if err == nil {
			opened = append(opened, img)
			p, err = publish.NewReusedBase(ctx, img, name)
		}
		switch {
		case err == nil:
			platforms = append(platforms, publish.Platform{Name: name, Base: p})
		case f.base == "" && errors.Is(err, publish.ErrNoProgram):
			return nil, closeAll, nil
		case errors.Is(err, image.ErrPlatform) && (f.base == "" || wanted == nil):
			if missing == nil {
				missing = err
			}
		default:
			return nil, closeAll, err
		}
	}
	if platforms == nil && f.base != "" {
		return nil, closeAll, missing
	}
	return platforms, closeAll, nil
}

// hasProgram reports whether an image has opm.
func hasProgram(ctx context.Context, img *image.Image) (bool, error) {
	_, err := publish.NewBase(ctx, img, img.Platform)
	if errors.Is(err, publish.ErrNoProgram) {
		return false, nil
	}
	return err == nil, err
}
