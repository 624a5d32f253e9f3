package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A record lists the files that compose wrote: it replaces and deletes no others. It is written before the first file
// is touched, with what is about to change, and again when all files are in place. So whenever compose is killed, the
// next run knows which files are its own.
type record struct {
	Files []written `json:"files"` // by path
}

// written is a file of compose.
type written struct {
	Path   string `json:"path"` // from the directory of the record, with slashes
	Digest string `json:"digest,omitzero"`
	Next   string `json:"next,omitzero"` // digest that the file is about to get

	// What the file was made of; nothing in that of the Dockerfile, and while the file is about to change.
	Image    string   `json:"image,omitzero"`    // as in the config
	Source   string   `json:"source,omitzero"`   // digest of the image; "" for what is in no registry
	Settings string   `json:"settings,omitzero"` // how it was rendered
	Packages []string `json:"packages,omitzero"` // of Image
	Dropped  []string `json:"dropped,omitzero"`  // of these, the ones that other references provide
}

// is reports whether a file with the digest is one that compose wrote.
func (w *written) is(digest string) bool { return digest == w.Digest || digest == w.Next }

func (w written) equal(v written) bool { return reflect.DeepEqual(w, v) }

// readRecord reads the record of a catalog, empty if there is none. Its paths are those of files of that catalog.
func readRecord(file, catalog string) (*record, error) {
	r := &record{}
	text, err := regular.ReadPath(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	places, err := strictyaml.Unmarshal(file, text, r)
	if err != nil {
		return nil, err
	}
	for i, w := range r.Files {
		if !isOwn(catalog, w.Path) {
			ptr := jsontext.Pointer(fmt.Sprintf("/files/%d/path", i))
			return nil, places.Errorf(ptr, "%q is not a file of the catalog %q", w.Path, catalog)
		}
	}
	r.sort()
	return r, nil
}

// isOwn reports whether a path is one that compose writes to.
func isOwn(catalog, name string) bool {
	part := strings.Split(name, "/")
	if len(part) == 1 {
		return name == dockerfileOf(catalog)
	}
	return len(part) == 3 && part[0] == catalog && checkName(part[1]) == nil &&
		(part[2] == fileName(declcfg.JSON) || part[2] == fileName(declcfg.YAML))
}

// The paths of the files, from the directory that holds the catalog.
func recordOf(catalog string) string     { return catalog + ".compose.json" }
func dockerfileOf(catalog string) string { return catalog + ".Dockerfile" }

func fragmentOf(catalog, reference string, format declcfg.Format) string {
	return path.Join(catalog, reference, fileName(format))
}

// fileName is that of the specification's example.
func fileName(format declcfg.Format) string { return "index." + string(format) }

func (r *record) sort() {
	slices.SortFunc(r.Files, func(a, b written) int { return strings.Compare(a.Path, b.Path) })
}

// find returns the file at a path, nil if compose did not write it.
func (r *record) find(name string) *written {
	for i := range r.Files {
		if r.Files[i].Path == name {
			return &r.Files[i]
		}
	}
	return nil
}

// with returns the record with files added, or in the place of those with the same path.
func (r *record) with(files []written) *record {
	both := slices.Clone(files)
	for _, w := range r.Files {
		if !slices.ContainsFunc(files, func(f written) bool { return f.Path == w.Path }) {
			both = append(both, w)
		}
	}
	all := &record{both}
	all.sort()
	return all
}

func (r *record) text() ([]byte, error) {
	text, err := json.Marshal(r, jsontext.WithIndent("  "), json.FormatNilSliceAsNull(false))
	return append(text, '\n'), err
}

// write replaces the record file name in root.
func (r *record) write(root *os.Root, name string) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	return atomicfile.Write(name, atomicfile.Options{Replace: true, Root: root}, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// fileDigest returns the digest of a file, "" if there is none.
func fileDigest(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return digestOf(h.Sum(nil)), nil
}

func digestOf(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
