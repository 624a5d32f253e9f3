package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/installmode"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An applyError is the reason why OLM cannot install the bundle that it resolved.
type applyError struct {
	bundle, version string
	err             error
	terminal        bool   // OLM does not retry until the configuration changes
	fix             string // "" for none

	place place
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

// checkBundle returns the error if OLM cannot install a resolved bundle of the catalog, as far as the catalog metadata
// shows it: an [*applyError] or a [*statusError].
func (e *V1Request) checkBundle(c *Catalog, resolved *graph.Bundle) error {
	b := c.bundle(e.Package, resolved.Name)
	v, _ := b.Meta.Decode() // nil if it can no longer be read
	read, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	csv := read.CSVMetadata()
	if err := e.checkFeatures(csv); err != nil {
		err.bundle, err.version, err.place.meta = resolved.Name, resolved.Version.String(), b.Meta
		isMetadata := func(p declcfg.Property) bool { return p.Type == declcfg.PropertyCSVMetadata }
		if i := slices.IndexFunc(read.Properties, isMetadata); i >= 0 {
			err.place.pointer = "/properties/" + jsontext.Pointer(strconv.Itoa(i)) + "/value" + err.place.pointer
		} else {
			err.place.pointer = ""
		}
		return err
	}
	if err := k8sname.Subdomain(resolved.Name); err != nil {
		return &statusError{resolved.Name, err}
	}
	return nil
}

// checkFeatures checks the APIs and the install modes of a bundle, and the configuration if the namespace is known. The
// error has a place in the metadata, without a bundle.
func (e *V1Request) checkFeatures(csv *declcfg.CSVMetadata) *applyError {
	atModes := place{pointer: "/installModes"}
	if len(csv.APIServiceDefinitions.Owned) > 0 {
		err := errors.New("unsupported bundle: apiServiceDefintions are not supported") // OLM's spelling
		return &applyError{
			err: err, place: place{pointer: "/apiServiceDefinitions/owned"}, fix: "use OLM Classic, or remove the APIServices",
		}
	}
	modes := installModes(csv)
	if err := modes.Check(e.SingleOwnNamespace); err != nil {
		return &applyError{err: err, place: atModes, fix: "use OLM Classic, or support the install mode AllNamespaces"}
	}
	if e.Namespace == "" {
		return nil
	}
	if err := modes.CheckConfig(e.Config, e.Namespace); err != nil {
		return &applyError{err: err, place: atModes, terminal: true}
	}
	return nil
}

// installModes returns the supported install modes of a bundle. If the catalog lists none, it returns all of them,
// because the bundle itself has some.
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
