package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
)

// textOutput returns standard output for people and for logs, as a [legible.Writer].
func textOutput(cmd *cobra.Command) io.Writer { return legible.NewWriter(cmd.OutOrStdout()) }

// dataOutput returns standard output for programs, without escaping.
func dataOutput(cmd *cobra.Command) io.Writer { return cmd.OutOrStdout() }

// display returns the display of a command's progress.
func display(cmd *cobra.Command) console.Display { return console.Display{Stderr: cmd.ErrOrStderr()} }

// writeDiff prints a unified diff. It is data for programs such as patch, except on a terminal.
func writeDiff(cmd *cobra.Command, text []byte) error {
	w := dataOutput(cmd)
	if console.IsTerminal(w) {
		w, text = textOutput(cmd), console.Abbreviate(text)
	}
	_, err := w.Write(text)
	return err
}

// printResult prints the answer of a command.
func printResult(cmd *cobra.Command, r *output.Result) error {
	return r.Write(cmd.OutOrStdout(), cmdline.Format(cmd))
}
