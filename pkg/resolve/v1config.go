package resolve

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// checkBundle returns why OLM cannot install the bundle that it resolved, as far as its metadata says: nothing else is
// known of its manifests. The feature gate SingleOwnNamespaceInstallSupport counts as on where there is a configuration,
// which needs it, and as off elsewhere.
func (r *v1Resolver) checkBundle(best *offer) error {
	if r.Namespace == "" {
		return nil
	}
	b := best.bundle(best.pkg.Name, best.steps[0].To.Name)
	v, _ := b.Meta.Decode() // what cannot be read any more says nothing
	read, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	failed := &applyError{bundle: b.Value.Name, version: best.steps[0].To.Version.String()}
	csv := read.CSVMetadata()
	modes := installModes{}
	for _, m := range csv.InstallModes {
		modes[m.Type] = m.Supported
	}
	switch {
	case len(csv.APIServiceDefinitions.Owned) > 0:
		failed.err = errors.New("unsupported bundle: apiServiceDefintions are not supported") // as OLM spells it
	case len(modes) == 0: // it has no metadata
	case r.Config == nil && !modes["AllNamespaces"]:
		failed.err = errors.New("unsupported bundle: bundle does not support AllNamespaces install mode")
	case !modes["AllNamespaces"] && !modes.watchOne():
		failed.err = errors.New("unsupported bundle: bundle must support at least one of " +
			"[AllNamespaces SingleNamespace OwnNamespace] install modes")
	case r.Config != nil:
		if err := modes.checkConfig(r.Config, r.Namespace); err != nil {
			failed.err = fmt.Errorf("invalid ClusterExtension configuration: invalid configuration: %w", err)
			failed.terminal = true
		}
	}
	if failed.err == nil {
		return nil
	}
	return failed
}

// installModes are those that a bundle supports.
type installModes map[string]bool

// watchOne reports whether the operator can watch a single namespace.
func (m installModes) watchOne() bool { return m["OwnNamespace"] || m["SingleNamespace"] }

// checkConfig returns why a bundle with these modes cannot be configured so, in a namespace.
func (m installModes) checkConfig(config jsontext.Value, namespace string) error {
	const watch = "watchNamespace"
	var fields map[string]any
	if err := json.Unmarshal(config, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != watch || !m.watchOne() {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	text, isText := fields[watch].(string)
	switch {
	case fields[watch] == nil && m["AllNamespaces"]:
	case fields[watch] == nil:
		return fmt.Errorf("required field %q is missing", watch)
	case !isText:
		return fmt.Errorf("invalid type for field %q: want string", watch)
	case !m["SingleNamespace"] && text != namespace:
		return fmt.Errorf("invalid value %q: %s must be %q (the namespace where the operator is installed) "+
			"because this operator only supports OwnNamespace install mode", text, watch, namespace)
	case !m["OwnNamespace"] && text == namespace:
		return fmt.Errorf("invalid value %q: %s must be different from %q (the install namespace) "+
			"because this operator uses SingleNamespace install mode to watch a different namespace", text, watch, namespace)
	}
	return nil
}
