package cluster

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/opm-toolchain/opm/internal/format"
)

// Write writes each object to its own YAML file, in the directory layout of a must-gather:
// namespaces/NAMESPACE/GROUP/KIND/NAME.yaml and cluster-scoped-resources/GROUP/KIND/NAME.yaml, in lower case, with the
// group core for the core API. [Load] reads the files again. If two objects have the same file name, for example
// because their kinds differ only in case, the error names both.
func (s *State) Write(root *os.Root) error {
	w := writer{root: root}
	defer w.close()
	for o := range s.All() {
		err := w.write(o)
		if errors.Is(err, fs.ErrExist) {
			return s.overwriteError(o, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", nameOf(o.Value), err)
		}
	}
	return w.close()
}

// overwriteError returns an error that names the object whose file would be overwritten. It depends on the file system
// whether names that differ only in case are the same.
func (s *State) overwriteError(o Object[Kubernetes], err error) error {
	file := fileOf(o.Value)
	for other := range s.All() {
		if other.Value != o.Value && strings.EqualFold(fileOf(other.Value), file) {
			return fmt.Errorf("%s would overwrite %s in the file %s", fullName(o), fullName(other), file)
		}
	}
	return fmt.Errorf("%s: %w", fullName(o), err)
}

// fullName returns the type, the name and the position of an object.
func fullName(o Object[Kubernetes]) string {
	name := o.Value.GetObjectKind().GroupVersionKind().GroupVersion().String() + " " + nameOf(o.Value)
	if o.Pos.File != "" {
		name += " of " + o.Pos.String()
	}
	return name
}

// A writer writes objects. It keeps the directory of the last object open, because the objects of a directory follow
// each other.
type writer struct {
	root *os.Root
	name string   // of dir
	dir  *os.Root // the directory of the last object; nil before the first
	text []byte
}

func (w *writer) write(object Object[Kubernetes]) error {
	o := object.Value
	raw, err := object.JSON()
	if err != nil {
		return err
	}
	of := KindOf(o)
	for _, part := range []string{o.GetNamespace(), of.Group, of.Kind, o.GetName()} {
		err := pathSegment(part)
		if strings.Contains(part, `\`) { // a separator on Windows
			err = errors.New(`may not contain '\'`)
		}
		if err != nil {
			return fmt.Errorf("no file can have the name %q: %w", part, err)
		}
	}
	if name := dirOf(o); name != w.name {
		if err := w.close(); err != nil {
			return err
		}
		if err := w.root.MkdirAll(name, 0o777); err != nil {
			return err
		}
		if w.dir, err = w.root.OpenRoot(name); err != nil {
			return err
		}
		w.name = name
	}
	w.text = format.AppendYAML(w.text[:0], raw)
	f, err := w.dir.OpenFile(path.Base(fileOf(o)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(w.text)
	return errors.Join(err, f.Close())
}

func (w *writer) close() error {
	if w.dir == nil {
		return nil
	}
	dir := w.dir
	w.name, w.dir = "", nil
	return dir.Close()
}

// fileOf returns the file name of an object. An object name has up to 253 characters, and a file name up to 255.
func fileOf(o Kubernetes) string {
	const most, kept = 240, 200
	name := o.GetName()
	if len(name) > most {
		name = fmt.Sprintf("%s-%x", name[:kept], sha256.Sum256([]byte(name)))[:most]
	}
	return path.Join(dirOf(o), name+".yaml")
}

// dirOf returns the directory of an object.
func dirOf(o Kubernetes) string {
	scope := gatheredObjects[0]
	if ns := o.GetNamespace(); ns != "" {
		scope = path.Join(gatheredObjects[1], ns)
	}
	of := KindOf(o)
	return path.Join(scope, strings.ToLower(path.Join(cmp.Or(of.Group, "core"), of.Kind)))
}
