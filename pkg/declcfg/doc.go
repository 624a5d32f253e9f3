// Package declcfg reads and writes file-based catalogs: trees of JSON and YAML files that hold packages, their
// channels, the bundles in them and the updates between bundles.
package declcfg
