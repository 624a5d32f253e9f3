package compose

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A Config lists the references that a composite catalog is built from.
type Config struct {
	Name string `json:"name"` // name of the directory of the catalog
	Repo string `json:"repo"` // repository of its image; "" for no image
	Tag  string `json:"tag"`  // tag of its image

	Conflicts  Policy      `json:"conflicts"` // "" means Fail
	References []Reference `json:"references"`

	path          string // path of the config file
	file          *strictyaml.File
	names, images []declcfg.Pos // positions of the keys of the references
}

// A Reference refers to a catalog that becomes a fragment of the composite catalog.
type Reference struct {
	Name  string `json:"name"`  // name of the directory of the fragment
	Image string `json:"image"` // image, directory or file; paths start at the directory of the config file
}

// A Policy decides which fragment provides a package that is in several fragments.
type Policy string

// The policies.
const (
	Fail  Policy = "fail"  // no fragment: it is an error
	First Policy = "first" // the first reference provides it
	Last  Policy = "last"  // the last reference provides it
)

// Policies returns all policies.
func Policies() []Policy { return []Policy{Fail, First, Last} }

// ReadConfig reads a config file; see [ParseConfig].
func ReadConfig(path string) (*Config, error) {
	text, err := regular.ReadNamed(path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	return ParseConfig(path, text)
}

// ParseConfig reads the text of a config file. The error joins a [*declcfg.Error] for each mistake.
func ParseConfig(path string, text []byte) (*Config, error) {
	c := &Config{path: path}
	file, err := strictyaml.Unmarshal(path, text, c)
	if file == nil {
		return nil, err
	}
	c.file = file
	var ptrs []jsontext.Pointer
	for i := range c.References {
		ptrs = append(ptrs, pointer(i, "name"), pointer(i, "image"))
	}
	for pair := range slices.Chunk(c.file.Pos(ptrs...), 2) { // finds all in one pass
		c.names, c.images = append(c.names, pair[0]), append(c.images, pair[1])
	}
	if errs := merge(err, c.check()); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// merge returns the errors that err joins, and the others at positions without such an error, sorted by position. An
// unreadable value is not reported as missing, too.
func merge(err error, others []*declcfg.Error) (errs []error) {
	said := map[declcfg.Pos]bool{}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			if e, ok := errors.AsType[*declcfg.Error](err); ok {
				said[e.Pos] = true
			}
			errs = append(errs, err)
		}
	}
	for _, e := range others {
		if !said[e.Pos] {
			errs = append(errs, e)
		}
	}
	slices.SortStableFunc(errs, place.CompareErrors)
	return errs
}

// Image returns the reference of the catalog image, or "" if the config has none.
func (c *Config) Image() string {
	if c.Repo == "" {
		return ""
	}
	return c.Repo + ":" + c.Tag
}

// dir returns the directory of the config file.
func (c *Config) dir() string { return filepath.Dir(c.path) }

func (c *Config) check() (errs []*declcfg.Error) {
	fail := func(ptr jsontext.Pointer, format string, args ...any) {
		errs = append(errs, c.file.Errorf(ptr, format, args...))
	}
	if err := checkName(c.Name); err != nil {
		fail("/name", "%w", err)
	}
	switch {
	case c.Repo == "" && c.Tag != "":
		fail("/repo", "missing: a tag needs a repo")
	case c.Repo != "" && c.Tag == "":
		fail("/tag", "missing: a repo needs a tag")
	case c.Repo != "":
		if _, err := image.ParseReference(c.Image()); err != nil {
			fail("/repo", "%w", err)
		}
	}
	switch c.Conflicts {
	case "", Fail, First, Last:
	default:
		fail("/conflicts", "unknown policy %q, want fail, first or last", c.Conflicts)
	}
	if len(c.References) == 0 {
		fail("/references", "a composite catalog needs references")
	}
	return append(errs, c.checkReferences()...)
}

func (c *Config) checkReferences() (errs []*declcfg.Error) {
	first := map[string]int{} // by name in lower case, because some file systems ignore case
	for i, r := range c.References {
		if err := checkName(r.Name); err != nil {
			errs = append(errs, c.atName(i, err))
		} else if j, ok := first[strings.ToLower(r.Name)]; ok {
			err := fmt.Errorf("reference %q is already defined at %s", c.References[j].Name, c.names[j])
			errs = append(errs, c.atName(i, err))
		} else {
			first[strings.ToLower(r.Name)] = i
		}
		if strings.TrimSpace(r.Image) == "" {
			errs = append(errs, c.atImage(i, errors.New("missing: want an image, a directory or a file")))
		}
	}
	return errs
}

// pointer returns the JSON pointer to a key of a reference.
func pointer(i int, key string) jsontext.Pointer {
	return place.Item("/references", i).AppendToken(key)
}

// atName returns an error about the name of a reference.
func (c *Config) atName(i int, err error) *declcfg.Error {
	return &declcfg.Error{Pos: c.names[i], Pointer: pointer(i, "name"), Err: err}
}

// atImage returns an error about the image of a reference.
func (c *Config) atImage(i int, err error) *declcfg.Error {
	return &declcfg.Error{Pos: c.images[i], Pointer: pointer(i, "image"), Err: err}
}

// names matches names that are valid file names on every system and never need quotes, if they have at most maxName
// bytes.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 200

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("missing: want the name of a directory")
	case len(name) > maxName || !names.MatchString(name):
		return fmt.Errorf("%q cannot be the name of a directory: want letters, digits, '.', '_' and '-', "+
			"the first a letter or a digit, and at most 200 of them", name)
	}
	return nil
}
