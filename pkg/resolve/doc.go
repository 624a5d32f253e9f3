// Package resolve answers which operators the Operator Lifecycle Manager installs, and why not others: OLM Classic for
// the Subscriptions of a namespace, OLM v1 for a ClusterExtension.
//
// It is a pure function of catalogs, installed operators and requests. Nothing is asked of a cluster.
//
//	catalog, err := resolve.ReadCatalog(ctx, declcfg.Source{Name: "catalog", FS: os.DirFS("catalog")})
//	...
//	catalog.Name, catalog.Namespace = "operators", "olm"
//	namespace := &resolve.Namespace{
//		Name:     "default",
//		Global:   "olm",
//		Catalogs: []*resolve.Catalog{catalog},
//		Subscriptions: []resolve.Subscription{
//			{Name: "etcd", Package: "etcd", Catalog: "operators", CatalogNamespace: "olm"},
//		},
//	}
//	answer, err := namespace.Classic(ctx, resolve.Options{})
package resolve
