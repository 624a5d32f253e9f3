package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/platform"
)

// parseTarget reads a target such as ocp=4.14, whose Kubernetes must be known.
func parseTarget(text string) (platform.Platform, error) {
	p, err := platform.Parse(text)
	if err != nil {
		return p, err
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("target %q: %w", text, err)
	}
	return p, nil
}

// A target is the platform of a catalog in opm.yaml. The zero value is none.
type target struct{ platform.Platform }

func (t *target) UnmarshalJSON(text []byte) (err error) {
	var word string
	if json.Unmarshal(text, &word) != nil {
		word = string(text)
	}
	t.Platform, err = parseTarget(word)
	return err
}

// targetOf returns the target of a catalog: the target for the name of its directory, or else the one for all catalogs
// beside opm.yaml. It is zero if there is none.
func (c *config) targetOf(ref string) (platform.Platform, error) {
	if r := reference.Of(ref); r.Kind == reference.Directory {
		path, err := filepath.Abs(r.Path)
		if err != nil {
			return platform.Platform{}, fmt.Errorf("directory of the catalog: %w", err)
		}
		if t, ok := c.Targets[filepath.Base(path)]; ok {
			return t.Platform, nil
		}
	}
	return c.Target.Platform, nil
}
