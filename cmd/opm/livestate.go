package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// stateNote is the paragraph of help texts that defines STATE.
const stateNote = `STATE is a directory, a file or "-" with manifests as "kubectl get ... -o yaml" prints them, or
kube:[CONTEXT] for the live cluster of a context of kubectl (default: the current one), which is
only read. --save writes the objects that were read to a file; as STATE, it gives the same answer.`

// liveFlags are the flags about the live cluster among the states.
type liveFlags struct {
	save       string
	namespaces []string
	state      *kube.State   // of a cluster that is watched; nil to read the cluster
	cluster    *kube.Cluster // from which the state is, once it is read or watched
	saved      bool          // the file of save is ours, of an earlier state of the watched cluster
}

// liveModes are the names of the flags, for modes.
const liveModes = " save namespace"

func (f *liveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.save, "save", "", "write the objects that were read from kube: to this `FILE`")
	flags.StringArrayVar(&f.namespaces, "namespace", nil,
		"read only this `NAMESPACE` from kube:, and objects without a namespace; repeatable")
}

// check returns an error about references to clusters.
func (f *liveFlags) check(paths []string) error {
	live := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !kube.IsLive(path) })
	switch {
	case len(live) > 1:
		return cmdline.Errorf("%s and %s cannot be combined: a state is of one cluster", live[0], live[1])
	case len(live) == 0 && f.save != "":
		return cmdline.Errorf("--save needs kube:, the live cluster")
	case len(live) == 0 && f.namespaces != nil:
		return cmdline.Errorf("--namespace needs kube:, the live cluster")
	}
	return nil
}

// readState reads the objects of the cluster. It warns about the objects that could not be read, unless the answer has
// them as assumptions.
func (f *stateFlags) readState(cmd *cobra.Command) (*cluster.State, error) {
	if err := f.live.check(f.paths); err != nil {
		return nil, err
	}
	for _, path := range f.paths {
		if input.Of(cmd.Context(), path) == input.Catalog {
			return nil, fmt.Errorf("%s: a catalog, not the objects of a cluster", path)
		}
	}
	opts := openOptions(cmd)
	opts.AnyDirectory = true
	var paths []string
	var sources []declcfg.Source
	for _, path := range f.paths {
		if !kube.IsLive(path) {
			paths = append(paths, path)
			continue
		}
		live, err := f.readLive(cmd, path)
		if err != nil {
			return nil, err
		}
		defer live.Close()
		name := cmp.Or(f.live.save, path)
		if f.live.state != nil {
			name = path // the lines of the file change
		}
		sources = append(sources, render.ReaderAt(name, live, live.Size()))
	}
	files, err := render.Open(cmd.Context(), paths, opts)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	state, err := cluster.Load(cmd.Context(), warnOnce(cmd), append(sources, files.Sources...)...)
	if state != nil && !slices.Contains(withAssumptions, f.questionOf(cmd)) {
		for _, gap := range state.Gaps() {
			warn(cmd, "%s", gap)
		}
	}
	return state, cmp.Or(files.Unchanged(), err)
}

// withAssumptions are the questions whose answers list assumptions.
var withAssumptions = []string{"diagnose", "resolve", "simulate"}

// questionOf returns the question of a command to a live cluster.
func (f *stateFlags) questionOf(cmd *cobra.Command) string { return cmp.Or(f.question, cmd.Name()) }

// liveOptions returns the options for reading a live cluster.
func (f *stateFlags) liveOptions(cmd *cobra.Command) kube.Options {
	return kube.Options{
		Question:   kube.Question{Command: f.questionOf(cmd), Pull: f.contents.pull, Forward: f.contents.forward},
		Namespaces: f.live.namespaces, Spool: spoolOptions(cmd), MaxObject: cmdline.Size(cmd, maxObjectSize),
	}
}

// readLive reads a live cluster unless it is watched, and saves what was read.
func (f *stateFlags) readLive(cmd *cobra.Command, ref string) (state *kube.State, err error) {
	if state = f.live.state; state == nil {
		name, _ := kube.Context(ref)
		c, err := kube.Connect(name)
		if err != nil {
			return nil, err
		}
		f.live.cluster = c
		state, err = c.Read(cmd.Context(), f.liveOptions(cmd))
		if err != nil {
			return nil, err
		}
	}
	if f.live.save == "" {
		return state, nil
	}
	write := func(w io.Writer) error {
		_, err := state.WriteTo(w)
		return err
	}
	if err := atomicfile.Write(f.live.save, atomicfile.Options{Replace: f.live.saved}, write); err != nil {
		state.Close()
		return nil, fmt.Errorf("--save: %w", err)
	}
	f.live.saved = f.live.state != nil
	return state, nil
}
