// Package advice says how to correct a command line that failed.
package advice

import (
	"cmp"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// For returns a hint to fix the error of a command, or "" if there is none. It opens the catalogs and files of the
// arguments with the options.
func For(cmd *cobra.Command, err error, opts render.Options) string {
	if b, ok := errors.AsType[*render.BundleError](err); ok && !strings.Contains(cmd.Use, "|BUNDLE") {
		ref := b.Ref
		if parent := input.BundleAround(ref); parent != "" && reference.Of(ref).Kind == reference.Directory {
			ref = parent
		}
		if cmd.Name() == "validate" {
			return "run: " + shell.Line("opm bundle validate", ref)
		}
		return "run: " + shell.Line("opm render", ref)
	}
	e, ok := errors.AsType[*declcfg.Error](err)
	if ok && errors.Is(err, bundle.ErrNoImage) && bundle.Is(os.DirFS(e.Pos.File)) {
		return "name it with --alpha-image-ref-template 'registry.example/{{.Package}}-bundle:v{{.Version}}'"
	}
	return cmp.Or(flagAdvice(cmd, err), fileAdvice(cmd, err), missingAdvice(cmd, err), digestAdvice(cmd),
		stateAdvice(cmd, opts), argumentAdvice(cmd, err))
}
