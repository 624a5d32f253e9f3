package web

import (
	"net/url"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// The memory of a view in bytes, from the sizes of the objects that it reads, as measured with objects of 20 MB.
// Nothing is read to find it.
const (
	viewBytes     = 1 << 20 // of any view
	objectFactor  = 6       // times the size of an object that is decoded and shown, or the largest that is only read
	channelFactor = 80      // times the size of channels whose bundles are shown or drawn, with their updates
)

// packageMemory returns the memory of the views of a package.
func packageMemory(c *Catalog, params url.Values) int {
	name := params.Get("package")
	if name == "" {
		return 0
	}
	size := func(q store.Query) int { return int(c.Objects.Query(q).Size()) }
	all := c.Objects.Query(store.Query{Package: name})
	return iconMemory(c, params) + objectFactor*(all.FrameSize()+
		size(store.Query{Package: name, Schema: declcfg.SchemaDeprecations})) +
		channelFactor*size(store.Query{Package: name, Schema: declcfg.SchemaChannel})
}

// iconMemory returns the memory of the view of the icon of a package.
func iconMemory(c *Catalog, params url.Values) int {
	name := params.Get("package")
	if name == "" {
		return 0
	}
	return objectFactor * int(c.Objects.Query(store.Query{Schema: declcfg.SchemaPackage, Name: name}).Size())
}

// bundleMemory returns the memory of the view of a bundle. To find its dependencies, any object may be read.
func bundleMemory(c *Catalog, params url.Values) int {
	pkg, name := params.Get("package"), params.Get("name")
	if pkg == "" || name == "" {
		return 0
	}
	bundle := c.Objects.Query(store.Query{Schema: declcfg.SchemaBundle, Package: pkg, Name: name})
	return objectFactor * (int(bundle.Size()) + c.Objects.FrameSize())
}

// readMemory returns the memory of reading all objects, one after the other.
func (c *Catalog) readMemory() int { return objectFactor * c.Objects.FrameSize() }
