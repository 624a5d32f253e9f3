package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/plain"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

func bundleManifestsCmd(path string) *cobra.Command {
	var f bundleManifestsFlags
	return command{
		Use:   "manifests BUNDLE",
		Short: "Print the manifests that OLM v1 applies for a bundle",
		Long: `Print what a bundle of type registry+v1 becomes when OLM v1 installs it, in the order of kubectl
apply: service accounts, roles, CustomResourceDefinitions, deployments, webhooks and their
certificates. The namespace has to exist. A bundle that OLM v1 refuses is an error. It is read as
OLM v1 reads it: every document of every file in manifests/, also of hidden files, the items of
lists, and only keys with the right case. opm bundle validate warns if OLM Classic reads it
differently.

The operator watches all namespaces, or that of --watch-namespace, for which OLM v1 needs its
feature SingleOwnNamespaceInstallSupport. With --target, a bundle that would keep that version of
OpenShift from its next minor version is reported on standard error.

A BUNDLE is a directory with manifests/ and metadata/, an image in a registry, in an OCI layout
(oci:DIRECTORY[:TAG]) or in an archive.`,
		Example: "  " + path + ` manifests loom --namespace looms
  ` + path + ` manifests registry.example/weavers/loom-bundle:v0.6.0 -n looms --certificates service-ca -o json`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVarP(&f.options.Namespace, "namespace", "n", "", "install the operator in `NAMESPACE`")
			flags.StringVar(&f.options.Watch, "watch-namespace", "", "let the operator watch `NAMESPACE` only")
			cmdline.ChoiceVar(cmd, &f.options.Certificates, "certificates", "", plain.CertManager,
				"who makes certificates of webhooks", plain.CertManager, plain.ServiceCA, noCertificates)
			flags.StringVar(&f.target, "target", "", "warn if the bundle keeps OpenShift from updates: `ocp=X.Y`")
			flags.StringVar(&f.openShift, "openshift-version", "", "warn if the bundle keeps OpenShift `X.Y` from updates")
			cmdline.RenameFlag(flags, "openshift-version", "--target ocp=X.Y")
			cmdline.Exclude(cmd, "target", "openshift-version")
			cmdline.ChoiceVar(cmd, &f.format, "output", "o", manifests.YAML, "output format", manifests.YAML, manifests.JSON)
			f.images.add(cmd)
		},
		run: f.run,
	}.cobra()
}

// noCertificates is the value of --certificates for a cluster without webhooks.
const noCertificates = "none"

// bundleManifestsFlags are the flags of bundle manifests.
type bundleManifestsFlags struct {
	options   plain.Options
	target    string
	openShift string
	format    manifests.Format
	images    imageFlags

	openShiftVersion *platform.Version // nil if the flag is not given
}

func (f *bundleManifestsFlags) run(cmd *cobra.Command, args []string) (*output.Result, error) {
	if err := f.check(); err != nil {
		return nil, cmdline.Invalid(err)
	}
	opts, err := new(bundleFlags).options(cmd)
	if err != nil {
		return nil, err
	}
	b, err := f.images.openBundle(cmd, args[0])
	if err != nil {
		return nil, err
	}
	contents, err := bundle.ReadContents(b.files, b.name, *opts)
	if err := errors.Join(err, b.close()); err != nil {
		return nil, err
	}
	if err := plain.CheckDependencies(contents); err != nil {
		return nil, err
	}
	objects, err := plain.Objects(contents, f.options)
	if err != nil {
		return nil, err
	}
	if f.openShiftVersion != nil {
		if e := plain.BlocksOpenShift(contents, *f.openShiftVersion); e != nil {
			warnAt(cmd, e.Pos, e.Message())
		}
	}
	var trees []map[string]any
	for _, o := range objects {
		trees = append(trees, o.Object)
	}
	return output.Bytes(manifests.Encode(trees, f.format))
}

func (f *bundleManifestsFlags) check() error {
	if f.options.Namespace == "" {
		return errors.New("--namespace is missing")
	}
	for _, flag := range []struct{ name, value string }{
		{"namespace", f.options.Namespace}, {"watch-namespace", f.options.Watch},
	} {
		if err := k8sname.Label(flag.value); flag.value != "" && err != nil {
			return fmt.Errorf("--%s: %q is not a valid name: %w", flag.name, flag.value, err)
		}
	}
	if f.target != "" {
		p, err := platform.ParseTarget(f.target)
		switch {
		case err != nil:
			return fmt.Errorf("--target: %w", err)
		case p.OpenShift == (platform.Version{}):
			return fmt.Errorf("--target %q: want ocp=X.Y, a version of OpenShift", f.target)
		}
		f.openShiftVersion = &p.OpenShift
	}
	if f.openShift != "" {
		version, err := platform.ParseVersion(f.openShift)
		if err != nil {
			return fmt.Errorf("--openshift-version: %w", err)
		}
		f.openShiftVersion = &version
	}
	if f.options.Certificates == noCertificates {
		f.options.Certificates = ""
	}
	return nil
}
