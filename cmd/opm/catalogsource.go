package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/render"
)

func catalogSourceCmd() *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:     "catalogsource",
		Short:   "Show what OLM makes of CatalogSources",
		Example: "  opm catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2",
	}, resolveImageCmd())
}

func resolveImageCmd() *cobra.Command {
	var kubeVersion, target string
	return command{
		Use:   "resolve-image FILE",
		Short: "Expand the image templates of CatalogSources",
		Long: `Expand the annotation olm.catalogImageTemplate of the CatalogSources in a file, or "-" for
standard input, as OLM does in a cluster of --target, and print the image of each with the
conditions that OLM sets. Without a version, OLM inserts "missing".

OLM keeps spec.image if a template cannot be resolved; the exit status is then 1.`,
		Example: `  opm catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2
  opm catalogsource resolve-image - --target kubernetes=1.33.2 -o json < catalogsource.yaml`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVar(&target, "target", "", "version of Kubernetes, as kubectl version prints it: `kubernetes=VERSION`")
			flags.StringVar(&kubeVersion, "kube-version", "", "`VERSION` of Kubernetes, as kubectl version prints it")
			cmdline.RenameFlag(flags, "kube-version", "--target kubernetes=VERSION")
			cmdline.Exclude(cmd, "target", "kube-version")
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML},
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			version, err := parseKubeVersion(kubeVersion)
			if target != "" {
				var t platform.Cluster
				if t, err = platform.ParseCluster(target); err != nil || !t.IsKubernetes() {
					err = cmdline.Errorf("--target %q: want kubernetes=VERSION, such as kubernetes=1.33.2", target)
				}
				version = t.Patched
			}
			if err != nil {
				return nil, err
			}
			return resolveImages(cmd, args[0], version)
		},
	}.cobra()
}

// A resolvedImage is the image of a CatalogSource.
type resolvedImage struct {
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Template   string   `json:"template,omitempty"`
	Image      string   `json:"image"`                // spec.image, once OLM has seen the template
	Unresolved []string `json:"unresolved,omitempty"` // tokens

	// Conditions are the status conditions that OLM sets.
	Conditions []imageCondition `json:"conditions,omitempty"`
}

type imageCondition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// resolveImages returns the images of the CatalogSources in a file. The error is about templates without a value.
func resolveImages(cmd *cobra.Command, file string, v *kube.Version) (*output.Result, error) {
	input, err := render.Open(cmd.Context(), []string{file}, openOptions(cmd))
	if err != nil {
		return nil, err
	}
	defer input.Close()
	state, err := cluster.Load(cmd.Context(), warnOnce(cmd), input.Sources...)
	if err := cmp.Or(input.Unchanged(), err); err != nil {
		return nil, err
	}
	if state.CatalogSources.Len() == 0 {
		return nil, fmt.Errorf("%s: no CatalogSource", file)
	}
	images, resolved := []resolvedImage{}, true
	for s := range state.CatalogSources.All() {
		image := resolvedImage{
			Namespace: s.Value.Namespace, Name: s.Value.Name, Image: s.Value.Spec.Image,
			Template: s.Value.Annotations[catalogsource.TemplateAnnotation],
		}
		if image.Template != "" {
			resolved = image.resolve(v) && resolved
		}
		images = append(images, image)
	}
	if !resolved {
		err = failed("an image template has no value: see the output")
	}
	return output.InText(images, func(w io.Writer) error { return writeImages(w, images) }), err
}

// resolve expands the template, and reports whether OLM could.
func (i *resolvedImage) resolve(v *kube.Version) bool {
	r := catalogsource.ResolveImage(i.Template, v)
	if r.Resolved {
		i.Image = r.Image
	}
	i.Unresolved = r.Unresolved
	for _, c := range r.Conditions {
		i.Conditions = append(i.Conditions, imageCondition{c.Type, c.Status, c.Reason, c.Message})
	}
	return r.Resolved
}

func writeImages(w io.Writer, images []resolvedImage) error {
	var text strings.Builder
	for _, i := range images {
		fmt.Fprintf(&text, "%s/%s: %s\n", i.Namespace, i.Name, cmp.Or(legible.Message(i.Image), "no image"))
		for _, c := range i.Conditions {
			fmt.Fprintf(&text, "  %s: %s, %s: %s\n", c.Type, c.Status, c.Reason, legible.Message(c.Message))
		}
		for _, token := range i.Unresolved {
			fmt.Fprintf(&text, "  unresolved: %s\n", legible.Message(token))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
