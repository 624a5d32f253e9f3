package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// An object is a catalog object and its schema.
type object struct {
	schema string
	raw    jsontext.Value
	file   string
}

func newChecker(t testing.TB, extra ...File) *Checker {
	t.Helper()
	c, err := NewChecker(extra...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check returns the findings of an object as lines of text.
func check(t testing.TB, c *Checker, raw string) []string {
	t.Helper()
	var lines []string
	for _, f := range c.object(schemaOf(jsontext.Value(raw)), jsontext.Value(raw)) {
		line := strings.TrimSpace(fmt.Sprintf("%s %s", f.Pointer, f.Message))
		lines = append(lines, line)
	}
	return lines
}

func schemaOf(raw jsontext.Value) string {
	fields, _ := decode(raw, view{depth: 1}).(map[string]any)
	schema, _ := fields["schema"].(string)
	return schema
}

// publishedCatalogs returns the objects of the real catalogs in the shared data.
func publishedCatalogs(t testing.TB) []object {
	t.Helper()
	var objects []object
	for _, dir := range shared.Catalogs(t) {
		objects = append(objects, readCatalog(t, dir)...)
	}
	return objects
}

// bigCatalog returns the objects of a large catalog in JSON.
func bigCatalog(t testing.TB) []object {
	t.Helper()
	dir := os.Getenv("OPM_BIG_CATALOG")
	if dir == "" {
		t.Skip("OPM_BIG_CATALOG names no directory")
	}
	return readCatalog(t, dir)
}

func readCatalog(t testing.TB, dir string) []object {
	t.Helper()
	var objects []object
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		values, err := split(path, data)
		for _, value := range values {
			objects = append(objects, object{schemaOf(value), value, path})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// split returns the objects of a file as JSON.
func split(path string, data []byte) (values []jsontext.Value, err error) {
	if filepath.Ext(path) != ".json" {
		return splitYAML(path, data)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		value, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		values = append(values, value.Clone())
	}
}

func splitYAML(path string, data []byte) (values []jsontext.Value, err error) {
	for document := range bytes.SplitSeq(append([]byte("\n"), data...), []byte("\n---\n")) {
		value, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if string(value) != "null" {
			values = append(values, value)
		}
	}
	return values, nil
}
