// Package resolve answers which operators the Operator Lifecycle Manager installs, and why not others: OLM Classic for
// the Subscriptions of a namespace, OLM v1 for a ClusterExtension.
//
// It is a pure function of catalogs, installed operators and requests. Nothing is asked of a cluster.
package resolve
