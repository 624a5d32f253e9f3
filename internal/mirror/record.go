package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// A Record is the result of a run: the images that a mirror or a directory has.
type Record struct {
	Format int      `json:"format"`
	Target string   `json:"target,omitzero"` // the registry and its path; "" for a directory
	Images []*Image `json:"images"`          // in the order of the plan

	// Served are images that earlier runs mirrored, that are no longer selected, and that the mirror still needs: this
	// run did not write all its catalogs, and the catalogs that their tags refer to may name these images. They become
	// obsolete when a run writes all its catalogs.
	Served []*Image `json:"served,omitempty"`

	// Obsolete are images that earlier runs mirrored and that are no longer needed, the latest first. They stay in the
	// mirror until they are pruned.
	Obsolete []*Image `json:"obsolete,omitempty"`

	// Since has the digests of content that is in an earlier directory instead of this one, sorted.
	Since []string `json:"since,omitempty"`

	digests   map[v1.Hash]bool  // of manifests and blobs
	manifests map[imageKey]bool // by repository
}

// recordFormat is the version of the format of records.
const recordFormat = 1

// maxRecord is the maximum size of a record, in bytes.
const maxRecord = 1 << 30

// ReadRecord reads a record. The error wraps [fs.ErrNotExist] if there is no such file.
func ReadRecord(file string) (*Record, error) {
	return readRecord(os.DirFS(filepath.Dir(file)), filepath.Base(file))
}

func readRecord(fsys fs.FS, name string) (*Record, error) {
	text, err := regular.ReadFile(fsys, name, maxRecord)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read record %s: it was cut off, or is not a record of opm mirror: %w", name, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("read record %s: it is from another version of opm: its format is %d, and this opm reads %d",
			name, r.Format, recordFormat)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("read record %s: it was changed: %w", name, err)
	}
	r.digests, r.manifests = map[v1.Hash]bool{}, map[imageKey]bool{}
	for _, img := range r.Images {
		if img.Failure != "" {
			continue
		}
		for _, b := range img.content() {
			r.digests[b.Digest] = true
		}
		for _, n := range img.Manifests {
			r.manifests[imageKey{img.Repository, n.Digest.String()}] = true
		}
	}
	return &r, nil
}

// check checks that every image that was copied has its manifest.
func (r *Record) check() error {
	if slices.Contains(slices.Concat(r.Images, r.Served, r.Obsolete), nil) {
		return errors.New("an image is null")
	}
	for _, img := range r.Images {
		if img.Failure == "" && img.root() == nil {
			return fmt.Errorf("image %q has no manifest %q", img.Source, img.Digest)
		}
	}
	return nil
}

// has reports whether the record has a manifest or a blob. A nil record has nothing.
func (r *Record) has(digest v1.Hash) bool { return r != nil && r.digests[digest] }

func (r *Record) hasManifest(repo string, digest v1.Hash) bool {
	return r != nil && r.manifests[imageKey{repo, digest.String()}]
}

// WriteFile writes the record as JSON, over an existing file.
func (r *Record) WriteFile(file string) error {
	text, err := r.encode()
	if err != nil {
		return err
	}
	return atomicfile.Write(file, atomicfile.Options{Replace: true}, atomicfile.Text(text))
}

func (r *Record) encode() ([]byte, error) {
	text, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent(" "))
	return append(text, '\n'), err
}

// CheckTarget returns an error if the record is of another mirror.
func (r *Record) CheckTarget(target string) error {
	if r.Target == target {
		return nil
	}
	if r.Target == "" {
		return errors.New("it is the record of a directory")
	}
	return fmt.Errorf("it is the record of the mirror %s: name another file", r.Target)
}

// An imageKey identifies the content of an image in the mirror.
type imageKey struct{ repository, digest string }

func (i *Image) key() imageKey { return imageKey{i.Repository, i.Digest} }

// needed returns the images that the mirror needs: the images of the run, and then the images of Served.
func (r *Record) needed() []*Image { return slices.Concat(r.Images, r.Served) }

// follow makes r the successor of the last record, which may be nil. A failed image keeps the manifests that the mirror
// has of it: the manifests behind its tag, or those of its digest.
func (r *Record) follow(last *Record) {
	s := r.compare(last)
	r.Served, r.Obsolete = s.served, s.obsolete
	for img, old := range s.kept {
		img.Digest, img.Manifests = old.Digest, old.Manifests
	}
}

// A succession is what becomes of the images of the last record.
type succession struct {
	kept     map[*Image]*Image // by failed image: the last image with the same target
	served   []*Image          // see [Record.Served]
	obsolete []*Image          // see [Record.Obsolete]
}

// compare returns the succession from the last record, which may be nil, to r.
//
// The last record does not say which catalog names an image. So if one catalog was not written, all images that were
// needed before are still needed.
func (r *Record) compare(last *Record) (s succession) {
	if last == nil {
		return s
	}
	s.kept = map[*Image]*Image{}
	current, failed, complete := map[imageKey]bool{}, map[string]*Image{}, true
	for _, img := range r.Images {
		if img.Failure == "" {
			current[img.key()] = true
			continue
		}
		failed[img.Target()] = img
		complete = complete && !img.Catalog
	}
	needed := last.needed()
	earlier := slices.DeleteFunc(slices.Concat(needed, last.Obsolete), func(old *Image) bool {
		return old.Digest == "" || old.Manifests == nil
	})
	for _, old := range earlier { // the latest first: a tag refers to the first one
		if img := failed[old.Target()]; img != nil && s.kept[img] == nil {
			s.kept[img] = old
			current[old.key()] = true
		}
	}
	isNeeded := map[*Image]bool{}
	for _, old := range needed {
		isNeeded[old] = !complete
	}
	for _, old := range earlier {
		if current[old.key()] {
			continue
		}
		current[old.key()] = true
		old, served := *old, isNeeded[old]
		old.Failure = ""
		if served {
			s.served = append(s.served, &old)
		} else {
			s.obsolete = append(s.obsolete, &old)
		}
	}
	return s
}
