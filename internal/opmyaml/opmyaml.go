// Package opmyaml reads opm.yaml, the file beside a catalog that configures its checks.
//
//	config, err := opmyaml.Read("", "catalog", validate.Rules, unknownRule)
package opmyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Name is the name of the file.
const Name = "opm.yaml"

// maxSize is the maximum size of the file in bytes. It may be part of an untrusted change.
const maxSize = 4 << 20

// maxRegistries is the maximum number of registries in a policy: each image is compared with all.
const maxRegistries = 1000

// A Config is the content of opm.yaml.
type Config struct {
	Rules    map[string]level         `json:"rules"`    // levels of rules, by name
	Packages map[string]packageConfig `json:"packages"` // by name
	Baseline string                   `json:"baseline"` // the path of a file; in the text, relative to opm.yaml
	Schemas  []string                 `json:"schemas"`  // the paths of CUE files; in the text, relative to opm.yaml
	Policy   validate.Policy          `json:"policy"`
	Target   target                   `json:"target"`  // for catalogs that are not in Targets
	Targets  map[string]target        `json:"targets"` // by name of the catalog's directory

	Levels problem.Levels `json:"-"` // the levels in Rules and Packages
}

type packageConfig struct {
	Rules map[string]level `json:"rules"`
}

// A level is a severity, or off, which YAML decodes as false.
type level problem.Severity

func (l *level) UnmarshalJSON(text []byte) error {
	var word string
	if string(text) == "false" {
		word = string(problem.Off)
	} else if err := json.Unmarshal(text, &word); err != nil {
		word = string(text)
	}
	switch s := problem.Severity(word); s {
	case problem.Error, problem.Warning, problem.Info, problem.Off:
		*l = level(s)
		return nil
	}
	return fmt.Errorf("unknown level %q%s, want error, warning, info or off", word,
		nearest.Hint(word, []string{"error", "warning", "info", "off"}))
}

// Read reads the named file or, for "", the opm.yaml beside the file or directory ref. Without such a file, the Config
// is empty. rules returns the rules whose levels the file can set; for each other name, unknown returns the error.
// Every mistake has its place.
func Read(name, ref string, rules func() *problem.Rules, unknown func(rule string) error) (*Config, error) {
	c := new(Config)
	defer c.setLevels()
	path := Path(name, ref)
	if path == "" {
		return c, nil
	}
	read := regular.ReadNamed
	if name == "" {
		read = regular.ReadPath
	}
	text, err := read(path)
	if name == "" && errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("%s: %w: at most %s are read", path, regular.ErrTooLarge, plural.Bytes(maxSize))
	}
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	file, err := strictyaml.Unmarshal(path, text, c)
	if err != nil {
		return nil, err
	}
	var wrong strictyaml.Problems
	c.checkRules(file, rules(), unknown, &wrong)
	named := func(ptr jsontext.Pointer, name *string) {
		*name = beside(path, *name)
		if info, err := os.Stat(*name); err == nil { // a new baseline does not exist yet
			if err := regular.Check(info.Mode()); err != nil {
				wrong.Addf(file, ptr, "%s: %w", *name, err)
			}
		}
	}
	named("/baseline", &c.Baseline)
	for i := range c.Schemas {
		named(jsontext.Pointer(fmt.Sprintf("/schemas/%d", i)), &c.Schemas[i])
	}
	for at, registries := range map[jsontext.Pointer][]string{
		"/policy/registries": c.Policy.Registries, "/policy/bundleRegistries": c.Policy.BundleRegistries,
	} {
		if n := len(registries); n > maxRegistries {
			wrong.Addf(file, at, "%s registries, want at most %s", plural.Number(n), plural.Number(maxRegistries))
		}
	}
	return c, wrong.Err()
}

// Path returns the path of the named file or, if name is "", the path of the opm.yaml beside the file or directory
// ref, whether or not it exists. It is "" if ref is not a path.
func Path(name, ref string) string {
	if r := reference.Of(ref); name == "" && (r.Kind == reference.Directory || r.Kind == reference.File) {
		return filepath.Join(filepath.Dir(filepath.Clean(r.Path)), Name)
	}
	return name
}

// beside returns a path that is relative to the directory of a file; "" stays "".
func beside(file, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// checkRules reports names that are not the names of rules.
func (c *Config) checkRules(
	file *strictyaml.File, rules *problem.Rules, unknown func(string) error, wrong *strictyaml.Problems,
) {
	check := func(at jsontext.Pointer, levels map[string]level) {
		for _, name := range slices.Sorted(maps.Keys(levels)) { // always report the same ones of very many
			if !rules.Has(name) {
				wrong.Add(func() *declcfg.Error { return file.Errorf(at.AppendToken(name), "%w", unknown(name)) })
			}
		}
	}
	check("/rules", c.Rules)
	for _, name := range slices.Sorted(maps.Keys(c.Packages)) {
		check(jsontext.Pointer("/packages").AppendToken(name)+"/rules", c.Packages[name].Rules)
	}
}

// setLevels sets Levels from Rules and Packages.
func (c *Config) setLevels() {
	of := func(rules map[string]level) map[string]problem.Severity {
		levels := map[string]problem.Severity{}
		for name, l := range rules {
			levels[name] = problem.Severity(l)
		}
		return levels
	}
	c.Levels = problem.Levels{Rules: of(c.Rules), Packages: map[string]map[string]problem.Severity{}}
	for name, p := range c.Packages {
		c.Levels.Packages[name] = of(p.Rules)
	}
}

// A target is the platform of a catalog in opm.yaml. The zero value is none.
type target struct{ platform.Platform }

func (t *target) UnmarshalJSON(text []byte) (err error) {
	var word string
	if json.Unmarshal(text, &word) != nil {
		word = string(text)
	}
	t.Platform, err = platform.ParseTarget(word)
	return err
}

// TargetOf returns the target of a catalog: the target for the name of its directory, or else the target for all
// catalogs beside opm.yaml. It is zero if there is no target.
func (c *Config) TargetOf(ref string) (platform.Platform, error) {
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
