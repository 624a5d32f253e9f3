package resolve

import (
	"errors"
	"fmt"

	"github.com/opm-toolchain/opm/internal/installmode"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An applyError is why OLM cannot install the bundle that it resolved.
type applyError struct {
	bundle, version string
	err             error
	terminal        bool // OLM does not try again: the configuration has to change
}

func (e *applyError) Error() string {
	return fmt.Sprintf("error for resolved bundle %q with version %q: %v", e.bundle, e.version, e.err)
}

func (e *applyError) Unwrap() error { return e.err }

// A statusError is why a cluster does not record the bundle that OLM resolved and applied.
type statusError struct {
	bundle string
	err    error
}

func (e *statusError) Error() string {
	const refused = "bundle %q is applied, but the API server refuses its name in the status of the ClusterExtension: %v"
	return fmt.Sprintf(refused, e.bundle, e.err)
}

func (e *statusError) Unwrap() error { return e.err }

// checkBundle returns why OLM cannot install the bundle that it resolved, as far as the metadata in the catalog shows.
func (r *v1Resolver) checkBundle(best *offer) error {
	if r.Namespace == "" {
		return nil
	}
	b := best.bundle(best.pkg.Name, best.steps[0].To.Name)
	v, _ := b.Meta.Decode() // nil if it can no longer be read
	read, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	failed := &applyError{bundle: b.Value.Name, version: best.steps[0].To.Version.String()}
	csv := read.CSVMetadata()
	modes := installModes(csv)
	if len(csv.APIServiceDefinitions.Owned) > 0 {
		failed.err = errors.New("unsupported bundle: apiServiceDefintions are not supported") // as OLM spells it
	} else if failed.err = modes.Check(r.SingleOwnNamespace); failed.err == nil {
		failed.err = modes.CheckConfig(r.Config, r.Namespace)
		failed.terminal = failed.err != nil
	}
	if failed.err != nil {
		return failed
	}
	if err := k8sname.Subdomain(b.Value.Name); err != nil {
		return &statusError{b.Value.Name, err}
	}
	return nil
}

// installModes returns the install modes that a bundle supports: all of them if the catalog has none, since the bundle
// has some.
func installModes(csv *declcfg.CSVMetadata) installmode.Modes {
	if len(csv.InstallModes) == 0 {
		return installmode.Modes{All: true, Own: true, Single: true}
	}
	var names []string
	for _, m := range csv.InstallModes {
		if m.Supported {
			names = append(names, m.Type)
		}
	}
	return installmode.Of(names...)
}
