//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// A program is one of the two programs.
type program struct {
	file string            // a copy, so that make may replace the program meanwhile
	hide *strings.Replacer // replaces the version, the commit and the date of the build
}

// A build is the output of version -o json about the build of a program.
type build struct {
	GitCommit, BuildDate, Version string
}

// newProgram copies a program to a new file.
func newProgram(name, file string) (program, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return program{}, err
	}
	p := program{file: file}
	if err := os.WriteFile(file, content, 0o755); err != nil {
		return p, err
	}
	var b build
	if text, err := exec.Command(file, "version", "-o", "json").Output(); err == nil {
		_ = json.Unmarshal(text, &b) // a program without this command has the zero value
	}
	p.hide = b.replacer()
	return p, nil
}

// replacer replaces the version, the commit and the date of a build by words: the version only in output about opm, as
// a bundle may have the same one.
func (b build) replacer() *strings.Replacer {
	var pairs []string
	if b.Version != "" {
		for _, place := range []string{"opm %s\n", "version %s,", `"version": "%s"`, `"version":"%s"`, "version: %s\n"} {
			pairs = append(pairs, fmt.Sprintf(place, b.Version), fmt.Sprintf(place, "VERSION"))
		}
	}
	if b.GitCommit != "" {
		pairs = append(pairs, b.GitCommit, "COMMIT")
	}
	if b.BuildDate != "" {
		pairs = append(pairs, b.BuildDate, "DATE")
	}
	return strings.NewReplacer(pairs...)
}
