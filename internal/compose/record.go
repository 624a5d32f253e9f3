package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A record lists the files that compose wrote; compose does not replace or delete other files.
type record struct {
	Files []written `json:"files"` // sorted by path
}

// written is the entry of one file in a record.
type written struct {
	Path   string `json:"path"` // relative to the directory of the record, with slashes
	Digest string `json:"digest,omitzero"`
	Next   string `json:"next,omitzero"` // digest after a change that an earlier opm had begun

	// The origin of the file. These fields are empty for the Dockerfile, and during a pending change.
	Image    string   `json:"image,omitzero"`    // reference, as in the config
	Source   string   `json:"source,omitzero"`   // digest of the image; "" if it is not in a registry
	Settings string   `json:"settings,omitzero"` // rendering settings
	Packages []string `json:"packages,omitzero"` // packages in Image
	Dropped  []string `json:"dropped,omitzero"`  // packages in Image that other references provide
}

// is reports whether a file with the digest was written by compose, before or after such a change.
func (w *written) is(digest string) bool { return digest == w.Digest || digest == w.Next }

// readRecord reads the record of a catalog. It returns an empty record if the file does not exist, and an error if a
// path is not a file of the catalog.
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
			return nil, places.Errorf(place.Item("/files", i)+"/path", "%q is not a file of the catalog %q", w.Path, catalog)
		}
	}
	r.sort()
	return r, nil
}

// isOwn reports whether compose may write a file at this path.
func isOwn(catalog, name string) bool {
	part := strings.Split(name, "/")
	if len(part) == 1 {
		return name == dockerfileOf(catalog)
	}
	return len(part) == 3 && part[0] == catalog && checkName(part[1]) == nil &&
		(part[2] == fileName(declcfg.JSON) || part[2] == fileName(declcfg.YAML))
}

// Paths of the files, relative to the directory that contains the catalog.
func recordOf(catalog string) string     { return catalog + ".compose.json" }
func dockerfileOf(catalog string) string { return catalog + ".Dockerfile" }

// fileName returns the file name of a fragment, as in the example of the specification.
func fileName(format declcfg.Format) string { return "index." + string(format) }

func (r *record) sort() {
	slices.SortFunc(r.Files, func(a, b written) int { return strings.Compare(a.Path, b.Path) })
}

// find returns the file at a path, or nil if compose did not write it.
func (r *record) find(name string) *written {
	if i := slices.IndexFunc(r.Files, func(w written) bool { return w.Path == name }); i >= 0 {
		return &r.Files[i]
	}
	return nil
}

// write stages the record.
func (r *record) write(tx *atomicfile.Tx, name string) error {
	text, err := json.Marshal(r, jsontext.WithIndent("  "), json.FormatNilSliceAsNull(false))
	if err != nil {
		return err
	}
	return tx.Write(name, 0, atomicfile.Text(append(text, '\n')))
}

// fileDigest returns the digest of a file, or "" if the file does not exist.
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
