//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// values returns the values of a placeholder: the files of its pattern or, without one, the results of a function.
func (in *inputs) values(name, pattern string) ([]value, error) {
	switch {
	case pattern != "":
		return in.files(pattern)
	case name == "command" || name == "example":
		commands, err := readReference(in.root)
		if err != nil {
			return nil, err
		}
		return referenceValues(commands, name), nil
	case name == "script":
		return scriptValues(in.root)
	case name == "play":
		return in.plays()
	case name == "question":
		return in.questions()
	}
	return nil, fmt.Errorf("{%s}: no such placeholder", name)
}

// files returns the files that match a pattern, with these fields: base is the last element of a path, and parent the
// one before.
func (in *inputs) files(pattern string) ([]value, error) {
	if strings.HasPrefix(pattern, "shared/") && !in.hasData {
		return nil, errNoData
	}
	paths, err := filepath.Glob(filepath.Join(in.work, pattern))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no file matches %s", pattern))
	}
	var all []value
	for _, path := range paths {
		path, err = filepath.Rel(in.work, path)
		if err != nil {
			return nil, err
		}
		all = append(all, value{"": path, "base": filepath.Base(path), "parent": filepath.Base(filepath.Dir(path))})
	}
	return all, nil
}

// plays returns the arguments of opm simulate for the recorded clusters, with these fields: state is the file of the
// objects, and catalogs the flags with the contents of the catalogs.
func (in *inputs) plays() ([]value, error) {
	if !in.hasData {
		return nil, errNoData
	}
	var all []value
	for _, pattern := range []string{"shared/plays/*/*/play.json", "shared/more/*/*/play.json"} {
		files, err := in.files(pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			play, err := in.play(file[""])
			if err != nil {
				return nil, err
			}
			all = append(all, play)
		}
	}
	return all, nil
}

func (in *inputs) play(file string) (value, error) {
	var play struct {
		Catalogs                     map[string]string
		Down, Fail, FailUnpack       []string
		Approve                      bool
		KubeVersion, GlobalNamespace string
		Args                         []string
	}
	text, err := os.ReadFile(filepath.Join(in.work, file))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &play); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	dir := filepath.Dir(file)
	var catalogs []string
	for _, name := range slices.Sorted(maps.Keys(play.Catalogs)) {
		catalogs = append(catalogs, fmt.Sprintf("--catalog %s=%s", name, filepath.Join(dir, play.Catalogs[name])))
	}
	state := filepath.Join(dir, "state.json")
	args := []string{state, "--kube-version", play.KubeVersion, "--global-namespace", play.GlobalNamespace}
	args = append(args, catalogs...)
	for _, list := range []struct {
		flag  string
		names []string
	}{{"--catalog-down", play.Down}, {"--fail", play.Fail}, {"--fail-unpack", play.FailUnpack}} {
		for _, name := range list.names {
			args = append(args, list.flag, name)
		}
	}
	if play.Approve {
		args = append(args, "--approve")
	}
	args = append(args, play.Args...)
	return value{"": strings.Join(args, " "), "state": state, "catalogs": strings.Join(catalogs, " ")}, nil
}

// questions returns the arguments of opm resolve for the questions that OLM Classic's resolver was asked.
func (in *inputs) questions() ([]value, error) {
	if !in.hasData {
		return nil, errNoData
	}
	text, err := os.ReadFile(filepath.Join(in.data, "shared", "resolver", "expected.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []value
	for line := range bytes.Lines(text) {
		var q struct {
			Catalog                        int
			Mode, Package, Channel, Bundle string
		}
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, fmt.Errorf("the questions of the resolver: %w", err)
		}
		args := fmt.Sprintf("shared/resolver/catalogs/%d --package %s", q.Catalog, q.Package)
		if q.Channel != "" {
			args += " --channel " + q.Channel
		}
		switch q.Mode {
		case "start":
			args += " --starting " + q.Bundle
		case "classic":
			args += " --installed " + q.Bundle
		}
		all = append(all, value{"": args})
	}
	return all, nil
}
