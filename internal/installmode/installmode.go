// Package installmode says which namespaces OLM v1 lets an operator watch, by the install modes of its bundle. Its
// errors have OLM's words.
package installmode

import "errors"

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

// Check returns why OLM does not install such a bundle. Without the feature gate SingleOwnNamespaceInstallSupport,
// which is off by default, every operator watches all namespaces.
func (m Modes) Check(singleOwn bool) error {
	switch {
	case m.All:
	case !singleOwn:
		return errors.New("unsupported bundle: bundle does not support AllNamespaces install mode")
	case !m.Own && !m.Single:
		return errors.New("unsupported bundle: bundle must support at least one of " +
			"[AllNamespaces SingleNamespace OwnNamespace] install modes")
	}
	return nil
}
