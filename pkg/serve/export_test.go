package serve

// StoreName is the name of the store in a cache directory.
const StoreName = "catalog" + storeSuffix
