package resolve

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/k8sname"
	manifests "github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An applyError is the reason why OLM cannot install the bundle that it resolved.
type applyError struct {
	bundle, version string
	err             error
	terminal        bool // OLM does not retry until the configuration changes
}

func (e *applyError) Error() string {
	return fmt.Sprintf("error for resolved bundle %q with version %q: %v", e.bundle, e.version, e.err)
}

func (e *applyError) Unwrap() error { return e.err }

// A statusError is the reason why the status of a ClusterExtension does not show the bundle that OLM resolved and
// applied.
type statusError struct {
	bundle string
	err    error
}

func (e *statusError) Error() string {
	const refused = "bundle %q is applied, but the API server refuses its name in the status of the ClusterExtension: %v"
	return fmt.Sprintf(refused, e.bundle, e.err)
}

func (e *statusError) Unwrap() error { return e.err }

// checkResolved returns the error that OLM reports for the best candidate before it reads the bundle, or nil.
func checkResolved(b *graph.Bundle) error {
	if b.Version == nil {
		return fmt.Errorf("error getting resolved bundle version for bundle %q: no package property found in bundle %q",
			b.Name, b.Name)
	}
	return b.Refusal()
}

// checkBundle returns the error if OLM cannot install a resolved bundle of the catalog, as far as the catalog shows it:
// an [*applyError] or a [*statusError].
func (e *V1Request) checkBundle(c *Catalog, resolved *graph.Bundle) error {
	contents := c.contents(e.Package, resolved.Name)
	if contents == nil {
		return nil
	}
	// checkResolved has looked for dependencies.
	isDependency := func(r manifests.Refusal) bool { return r.Kind == manifests.RefusedDependency }
	err := &applyError{
		bundle: resolved.Name, version: newInstalledBundle("", "", resolved.Version, e.Releases).Version,
	}
	err.err = joined(manifests.Reported(slices.DeleteFunc(contents.Refusals(e.options()), isDependency)))
	if err.err == nil && e.Namespace != "" {
		err.err = contents.InstallModes().CheckConfig(e.Config, e.Namespace)
		err.terminal = true
	}
	if err.err != nil {
		return err
	}
	return checkStatus(resolved)
}

// checkStatus returns a [*statusError] if the API server refuses the name of a bundle.
func checkStatus(b *graph.Bundle) error {
	if err := k8sname.Subdomain(b.Name); err != nil {
		return &statusError{b.Name, err}
	}
	return nil
}

// joined returns an error with the reasons, nil if there are none. Reasons that several manifests have are in it once.
func joined(refusals []manifests.Refusal) error {
	var errs []error
	for _, r := range refusals {
		isSame := func(err error) bool { return err.Error() == r.Err.Error() }
		if !slices.ContainsFunc(errs, isSame) {
			errs = append(errs, r.Err)
		}
	}
	return errors.Join(errs...)
}

// options returns the options of the OLM v1 that is asked.
func (e *V1Request) options() manifests.V1Options {
	return manifests.V1Options{
		SingleOwnNamespace: e.SingleOwnNamespace, NoWebhooks: e.Target.LacksWebhooksV1(), Kubernetes: e.Target.Kubernetes,
	}
}

// contents returns the contents of a bundle as far as the catalog has them, nil if it can no longer be read.
func (c *Catalog) contents(pkg, name string) *manifests.Contents {
	v, _ := c.bundle(pkg, name).Meta.Decode()
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	return manifests.ContentsOf(b)
}
