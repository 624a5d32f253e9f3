package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A signal while updates are being found ends the command, with no output that looks complete.
func TestUpdatesEndsWithItsContext(t *testing.T) {
	const catalog = `
{schema: olm.package, name: kiln, defaultChannel: stable}
---
{schema: olm.channel, package: kiln, name: stable, entries: [{name: kiln.v1, replaces: kiln.v1}]}
---
schema: olm.bundle
package: kiln
name: kiln.v1
image: i
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
`
	for _, form := range []string{"text", "json"} {
		var outline resolve.Outline
		source := declcfg.Source{FS: fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}}
		index, err := outline.ReadIndex(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var text strings.Builder
		cmd := new(cobra.Command)
		cmdline.AddOutput(cmd, updatesFormats...)
		cmd.SetContext(ctx)
		cmd.SetOut(&text)
		cmd.SetErr(writerFunc(func(p []byte) (int, error) { // the first warning
			cancel()
			return len(p), nil
		}))
		cmdline.Must(cmd.Flags().Set("output", form))
		f := updatesFlags{planFlags: planFlags{all: true}}
		if err := f.print(cmd, index.Each(), &outline, index); !errors.Is(err, context.Canceled) || text.Len() > 0 {
			t.Errorf("%s: got %v and %q", form, err, text.String())
		}
		cancel()
	}
}

// A writerFunc is a function that implements [io.Writer].
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
