// Package installmode checks which namespaces OLM v1 lets an operator watch, by the install modes of its bundle. Its
// errors have the wording of OLM.
package installmode

import "errors"

// Modes are the install modes that a bundle supports. OLM v1 ignores MultiNamespace.
type Modes struct{ All, Own, Single bool }

// Of returns the modes with these names. Other names are ignored.
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

// Check returns the error with which OLM refuses to install a bundle with these modes, or nil. singleOwn is the feature
// gate SingleOwnNamespaceInstallSupport: without it, as by default, every operator watches all namespaces.
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
