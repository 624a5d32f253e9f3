package render

import "fmt"

// A BundleError is the error of opening a bundle where only catalogs are accepted.
type BundleError struct {
	Ref  string
	What string // such as "a bundle directory"
}

func (e *BundleError) Error() string {
	return fmt.Sprintf("open catalog %q: not a catalog: it is %s", e.Ref, e.What)
}
