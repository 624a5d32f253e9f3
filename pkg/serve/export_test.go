package serve

import "time"

// WithStall returns o with the time within which a client has to take what is sent to it.
func (o ServerOptions) WithStall(limit time.Duration) ServerOptions {
	o.stall = limit
	return o
}

// StoreName is the name of the store in a cache directory.
const StoreName = "catalog" + storeSuffix
