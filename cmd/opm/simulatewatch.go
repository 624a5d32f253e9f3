package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/render"
)

// watch simulates a live cluster, and simulates it again after changes, until the command is interrupted.
func (f *simulateFlags) watch(cmd *cobra.Command) error {
	if err := cmp.Or(f.state.check(), f.state.live.check(f.state.paths)); err != nil {
		return err
	}
	i := slices.IndexFunc(f.state.paths, kube.IsLive)
	switch {
	case i < 0:
		return cmdline.Errorf("--watch needs kube:, the live cluster")
	case slices.Contains(f.state.paths, render.Stdin):
		return cmdline.Errorf("--watch cannot read a state from standard input again")
	}
	name, _ := kube.Context(f.state.paths[i])
	c, err := kube.Connect(name)
	if err != nil {
		return err
	}
	f.state.live.cluster = c
	contents, err := f.state.contentsReader(cmd, &f.images, warnOfInvalid)
	if err != nil {
		return err
	}
	defer contents.close()
	last := &lastAnswer{format: cmdline.Format(cmd)}
	err = c.Watch(cmd.Context(), f.state.liveOptions(cmd), func(state *kube.State) error {
		f.state.live.state = state
		return f.answer(cmd, contents, last)
	})
	if cmd.Context().Err() != nil && last.text != nil {
		return nil
	}
	return err
}

// A lastAnswer is the last answer that was printed.
type lastAnswer struct {
	format output.Format
	text   []byte // nil before the first answer
	err    string // that was printed about it
}

// answer simulates the watched cluster, and prints what differs from the last answer. Only an error that keeps it from
// answering at all is returned.
func (f *simulateFlags) answer(cmd *cobra.Command, contents *contentsReader, last *lastAnswer) error {
	state, refused, err := f.state.readChecked(cmd)
	if err != nil {
		return err
	}
	if err := f.state.readContents(cmd, contents, state); err != nil {
		return err
	}
	r, err := f.simulation(cmd, state)
	if err != nil {
		return err
	}
	var text, problems bytes.Buffer
	if err := f.result(r).Write(&text, last.format); err != nil {
		return err
	}
	if err := verdict(r, refused); err != nil {
		printError(&problems, cmd, err)
	}
	stderr, isFirst := cmd.ErrOrStderr(), last.text == nil
	if !isFirst && bytes.Equal(text.Bytes(), last.text) && problems.String() == last.err {
		return nil
	}
	if isFirst {
		warnOfTemplates(cmd, state)
	} else {
		fmt.Fprintf(stderr, "\n--- %s the answer changed ---\n", time.Now().Format(time.TimeOnly))
	}
	if _, err := cmd.OutOrStdout().Write(last.difference(text.Bytes())); err != nil {
		return err
	}
	last.text, last.err = text.Bytes(), problems.String()
	fmt.Fprintf(stderr, "%sopm: answered; waiting for changes, Ctrl-C ends\n", last.err)
	return nil
}

// difference returns what to print of an answer: all of it for programs and for the first time, or else the difference
// from the last one.
func (l *lastAnswer) difference(text []byte) []byte {
	switch {
	case l.text != nil && bytes.Equal(text, l.text):
		return nil
	case l.text == nil, l.format == prometheusFormat:
		return text
	case l.format == output.YAML:
		return append([]byte("---\n"), text...)
	case l.format.IsData():
		return text
	}
	return edit.Diff("before", l.text, "now", text)
}
