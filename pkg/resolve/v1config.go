package resolve

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/installmode"
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
// known of its manifests. The feature gate SingleOwnNamespaceInstallSupport counts as on if there is a configuration,
// which needs it, and as off if there is none.
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
	var names []string
	for _, m := range csv.InstallModes {
		if m.Supported {
			names = append(names, m.Type)
		}
	}
	modes := installmode.Of(names...)
	switch {
	case len(csv.APIServiceDefinitions.Owned) > 0:
		failed.err = errors.New("unsupported bundle: apiServiceDefintions are not supported") // as OLM spells it
	case len(csv.InstallModes) == 0: // it has no metadata
	default:
		failed.err = modes.Check(r.Config != nil)
		if failed.err != nil || r.Config == nil {
			break
		}
		if err := checkConfig(modes, r.Config, r.Namespace); err != nil {
			failed.err, failed.terminal = installmode.InvalidConfig(err), true
		}
	}
	if failed.err == nil {
		return nil
	}
	return failed
}

// checkConfig returns why a bundle with these modes cannot be configured so, in a namespace.
func checkConfig(modes installmode.Modes, config jsontext.Value, namespace string) error {
	const watch = "watchNamespace"
	var fields map[string]any
	if err := json.Unmarshal(config, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != watch || !modes.Own && !modes.Single {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	switch value := fields[watch].(type) {
	case nil:
		if modes.All {
			return nil
		}
		return fmt.Errorf("required field %q is missing", watch)
	case string:
		return modes.CheckWatch(value, namespace)
	}
	return fmt.Errorf("invalid type for field %q: want string", watch)
}
