package cluster

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/internal/format"
)

// Write writes each object to a YAML file of its own. Directories are those of a must-gather:
// namespaces/NAMESPACE/GROUP/KIND/NAME.yaml and cluster-scoped-resources/GROUP/KIND/NAME.yaml, in lower case, where the
// group of Kubernetes itself is core. [Load] reads them again.
func (s *State) Write(root *os.Root) error {
	w := writer{root: root}
	defer w.close()
	for o := range s.All() {
		if err := w.write(o.Value); err != nil {
			return fmt.Errorf("%s: %w", nameOf(o.Value), err)
		}
	}
	return w.close()
}

// A writer writes objects. Those of one directory come one after the other, so that it is opened once.
type writer struct {
	root *os.Root
	name string   // of dir
	dir  *os.Root // that of the last object; nil before the first
	text []byte
}

func (w *writer) write(o Kubernetes) error {
	raw, err := json.Marshal(o, options)
	if err != nil {
		return err
	}
	of := kindAndGroup(o)
	for _, part := range []string{o.GetNamespace(), of.Group, of.Kind, o.GetName()} {
		if err := pathSegment(part); err != nil {
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
	return w.dir.WriteFile(shorten(o.GetName())+".yaml", w.text, 0o666)
}

func (w *writer) close() error {
	if w.dir == nil {
		return nil
	}
	dir := w.dir
	w.name, w.dir = "", nil
	return dir.Close()
}

// dirOf returns the directory of an object.
func dirOf(o Kubernetes) string {
	scope := gatheredObjects[0]
	if ns := o.GetNamespace(); ns != "" {
		scope = path.Join(gatheredObjects[1], ns)
	}
	of := kindAndGroup(o)
	return path.Join(scope, strings.ToLower(path.Join(cmp.Or(of.Group, "core"), of.Kind)))
}

// shorten returns a name that fits into that of a file, which has 255 characters: that of an object has up to 253.
func shorten(name string) string {
	const most, kept = 240, 200
	if len(name) <= most {
		return name
	}
	return fmt.Sprintf("%s-%x", name[:kept], sha256.Sum256([]byte(name)))[:most]
}
