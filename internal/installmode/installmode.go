// Package installmode says which namespaces OLM v1 lets an operator watch, by the install modes of its bundle. Its
// errors are those of OLM.
package installmode

import (
	"errors"
	"fmt"
)

// Modes are the install modes that a bundle supports. OLM v1 has no use for MultiNamespace.
type Modes struct{ All, Own, Single bool }

// Of returns the modes of these names.
func Of(names ...string) Modes {
	var m Modes
	for _, name := range names {
		switch name {
		case "AllNamespaces":
			m.All = true
		case "OwnNamespace":
			m.Own = true
		case "SingleNamespace":
			m.Single = true
		}
	}
	return m
}

// Check returns why OLM does not install such a bundle. Only with a configuration can it watch a single namespace.
func (m Modes) Check(configured bool) error {
	switch {
	case m.All:
	case !configured:
		return errors.New("unsupported bundle: bundle does not support AllNamespaces install mode")
	case !m.Own && !m.Single:
		return errors.New("unsupported bundle: bundle must support at least one of " +
			"[AllNamespaces SingleNamespace OwnNamespace] install modes")
	}
	return nil
}

// CheckWatch returns why an operator in the namespace installed cannot be configured to watch the namespace watch.
func (m Modes) CheckWatch(watch, installed string) error {
	switch {
	case !m.Own && !m.Single:
		return errors.New(`unknown field "watchNamespace"`)
	case !m.Single && watch != installed:
		return fmt.Errorf("invalid value %q: watchNamespace must be %q (the namespace where the operator is installed) "+
			"because this operator only supports OwnNamespace install mode", watch, installed)
	case !m.Own && watch == installed:
		return fmt.Errorf("invalid value %q: watchNamespace must be different from %q (the install namespace) "+
			"because this operator uses SingleNamespace install mode to watch a different namespace", watch, installed)
	}
	return nil
}

// InvalidConfig returns the error of OLM about a configuration that is not valid because of err.
func InvalidConfig(err error) error {
	return fmt.Errorf("invalid ClusterExtension configuration: invalid configuration: %w", err)
}
