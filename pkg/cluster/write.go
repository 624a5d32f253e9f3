package cluster

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/format"
)

// Write writes each object to a YAML file of its own. Directories are those of a must-gather:
// namespaces/NAMESPACE/GROUP/KIND/NAME.yaml and cluster-scoped-resources/GROUP/KIND/NAME.yaml, in lower case, where the
// group of Kubernetes itself is core. [Load] reads them again.
func (s *State) Write(root *os.Root) error {
	var text []byte
	for o := range s.All() {
		name := fileOf(o.Value)
		raw, err := json.Marshal(o.Value, options)
		if err != nil {
			return fmt.Errorf("%s: %w", nameOf(o.Value), err)
		}
		if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		text = format.AppendYAML(text[:0], raw)
		if err := root.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// fileOf returns the file of an object.
func fileOf(o Kubernetes) string {
	of := o.GetObjectKind().GroupVersionKind().GroupKind()
	scope := gatheredObjects[0]
	if ns := o.GetNamespace(); ns != "" {
		scope = path.Join(gatheredObjects[1], ns)
	}
	return path.Join(scope, dirOf(of), shorten(o.GetName())+".yaml")
}

func dirOf(of schema.GroupKind) string {
	return strings.ToLower(path.Join(cmp.Or(of.Group, "core"), of.Kind))
}

// shorten returns a name that fits into that of a file, which has 255 characters: that of an object has up to 253.
func shorten(name string) string {
	const most, kept = 240, 200
	if len(name) <= most {
		return name
	}
	return fmt.Sprintf("%s-%x", name[:kept], sha256.Sum256([]byte(name)))[:most]
}
