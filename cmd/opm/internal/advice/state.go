package advice

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/render"
)

// stateAdvice returns a hint for a catalog in place of the objects of a cluster, or "".
func stateAdvice(cmd *cobra.Command, opts render.Options) string {
	states, flag := cmd.Flags().Args(), cmd.Flag("state")
	switch {
	case flag != nil:
		if paths, ok := flag.Value.(pflag.SliceValue); ok {
			states = paths.GetSlice()
		}
		if catalogs := cmd.Flags().Args(); len(catalogs) > 0 && flag.Changed {
			return contentsAdvice(cmd, opts, catalogs[0], nil, states)
		}
	case !strings.Contains(cmd.Use, "STATE"):
		return ""
	}
	i := slices.IndexFunc(states, func(state string) bool { return input.Of(cmd.Context(), state) == input.Catalog })
	if i < 0 {
		return ""
	}
	others := slices.Delete(slices.Clone(states), i, i+1)
	if flag != nil { // the line would have the catalog in --state, too
		return contentsAdvice(cmd, opts, states[i], nil, nil)
	}
	return contentsAdvice(cmd, opts, states[i], others, others)
}

// contentsAdvice returns the hint to give a catalog by --catalog: the command with other arguments, if the states have
// only one catalog.
func contentsAdvice(cmd *cobra.Command, opts render.Options, catalog string, args, states []string) string {
	if name := onlyCatalog(cmd, opts, states); name != "" && !cmd.Flags().Changed("catalog") {
		return "a catalog is the contents of a CatalogSource; " + runHint(cmd, args, "--catalog="+name+"="+catalog)
	}
	return "a catalog is the contents of a CatalogSource, given by --catalog=[NAMESPACE/]NAME=" + shell.Quote(catalog)
}

// onlyCatalog returns the name of the only CatalogSource or ClusterCatalog in files of a cluster, ignoring objects that
// cannot be read. It is "" if there are none or several, or for states that are not files.
func onlyCatalog(cmd *cobra.Command, opts render.Options, states []string) string {
	if len(states) == 0 || slices.Contains(states, reference.Stdin) || slices.ContainsFunc(states, kube.IsLive) {
		return ""
	}
	opts.AnyDirectory = true
	files, err := render.Open(cmd.Context(), states, opts)
	if err != nil {
		return ""
	}
	defer files.Close()
	state, _ := cluster.Load(cmd.Context(), nil, files.Sources...)
	if state == nil || state.CatalogSources.Len()+state.ClusterCatalogs.Len() != 1 {
		return ""
	}
	for o := range state.CatalogSources.All() {
		return o.Value.Name
	}
	for o := range state.ClusterCatalogs.All() {
		return o.Value.Name
	}
	return ""
}
