// Command outputs generates the JSON Schemas of the output of commands with -o json, from the Go types of the output:
// keys from tags, descriptions from comments, and enums from constants.
//
//	go -C tools run ./outputs ../schemas/outputs.txt ../schemas/output
//
// The first argument is a table of names and types. Lines without a type are skipped.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	module  = "github.com/opm-toolchain/opm"
	version = ".v1.json"
	address = "https://raw.githubusercontent.com/opm-toolchain/opm/main/schemas/output/"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: outputs TABLE DIRECTORY")
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func generate(table, dir string) error {
	outputs, err := readTable(table)
	if err != nil {
		return err
	}
	source, err := load(outputs)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, o := range outputs {
		schema, err := source.document(o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return err
		}
		files[o.name+version] = append(text, '\n')
	}
	if err := os.RemoveAll(dir); err != nil { // with schemas that are no longer in the table
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// An output is the output of a command: a value of a type, or a list of values.
type output struct {
	name     string
	list     bool
	pkg, typ string
}

func readTable(file string) ([]output, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []output
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0] == "#" {
			continue
		}
		element, list := strings.CutPrefix(fields[1], "[]")
		if dir, base := path.Split(element); dir != "" {
			name, typ, _ := strings.Cut(base, ".")
			all = append(all, output{fields[0], list, module + "/" + dir + name, typ})
		}
	}
	return all, nil
}
