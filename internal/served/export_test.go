package served

// WriteWithin is [Write] with a client of the registry, and with a limit on the bytes of its list of bundles.
var WriteWithin = write
