package manifests

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/format"
)

// A Format is an output format of a [Set].
type Format string

// The formats. Kustomize and Helm need several files, so Text does not support them.
const (
	YAML      Format = "yaml"
	JSON      Format = "json" // Text returns a List
	Kustomize Format = "kustomize"
	Helm      Format = "helm" // a chart
)

// A File is one file of a Set.
type File struct {
	Name string // slash-separated
	Text []byte
}

// WriteFiles writes files to a directory, which it creates if it does not exist. It overwrites existing files of the
// same names, once all new files are on disk; see [atomicfile.Merge] for failures after that.
func WriteFiles(dir string, files []File) error {
	return atomicfile.InDir(dir, func(root *os.Root) error {
		return atomicfile.Merge(root, func(stage *os.Root) error {
			for _, file := range files {
				name := filepath.FromSlash(file.Name)
				if err := stage.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					return err
				}
				if err := stage.WriteFile(name, file.Text, 0o666); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Text returns all objects as one text, in YAML or JSON.
func (s *Set) Text(f Format) ([]byte, error) { return Encode(s.trees, f) }

// Encode returns Kubernetes objects as one text: a stream of YAML documents, or a List in JSON.
func Encode(objects []map[string]any, f Format) (text []byte, err error) {
	if f == JSON {
		if objects == nil {
			objects = []map[string]any{}
		}
		return encode(tree{"apiVersion": "v1", "kind": "List", "items": objects}, f)
	}
	for i, o := range objects {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		if text, err = appendYAML(text, o); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Files returns a file for each object, and the additional files of Kustomize or Helm. The chart of a Deployment has a
// template for each object that its values can ask for.
func (s *Set) Files(f Format) ([]File, error) {
	if f == Helm && s.opts.Kind == Deployment {
		files, err := s.chart()
		if err != nil {
			return nil, err
		}
		text, err := encode(s.chartMetadata(), f)
		return append(files, File{chartFile, text}), err
	}
	var files []File
	var names []string
	add := func(name string, t tree) error {
		text, err := encode(t, f)
		if f == Helm && strings.HasPrefix(name, templates) {
			text, err = t.template()
		}
		files = append(files, File{name, text})
		return err
	}
	extension, dir := ".yaml", ""
	switch f {
	case JSON:
		extension = ".json"
	case Helm:
		dir = templates
	}
	for _, t := range s.trees {
		name := dir + strings.ToLower(t["kind"].(string)) + extension
		names = append(names, name)
		if err := add(name, t); err != nil {
			return nil, err
		}
	}
	var err error
	switch f {
	case Kustomize:
		err = add("kustomization.yaml", tree{
			"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": names,
		})
	case Helm:
		if err = add(chartFile, s.chartMetadata()); err == nil {
			err = add("values.yaml", s.values())
		}
	}
	return files, err
}

const chartFile = "Chart.yaml"

// chartMetadata returns the metadata of the chart.
func (s *Set) chartMetadata() tree {
	return tree{
		"apiVersion": "v2", "name": s.opts.Name, "version": "0.1.0", "type": "application",
		"description": "The catalog " + s.opts.Name,
	}
}

// A tree is an object, or another JSON value, by key.
type tree map[string]any

// treeOf returns an object without its status and without the empty icon of a CatalogSource.
func treeOf(object any) (tree, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var t tree
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	delete(t, "status")
	if spec, ok := t["spec"].(map[string]any); ok {
		if icon, ok := spec["icon"].(map[string]any); ok && icon["base64data"] == "" {
			delete(spec, "icon")
		}
	}
	return t, nil
}

func encode(t tree, f Format) ([]byte, error) {
	if f != JSON {
		return appendYAML(nil, t)
	}
	text, err := json.MarshalIndent(t, "", "  ")
	return append(text, '\n'), err
}

func appendYAML(dst []byte, t tree) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(t); err != nil {
		return nil, err
	}
	return format.AppendYAML(dst, text.Bytes()), nil
}
