package graphtest

import "fmt"

// YAML returns a valid catalog, in YAML: a package with one channel and one bundle.
func YAML(pkg, version string) string {
	return fmt.Sprintf(`---
schema: olm.package
name: %[1]s
defaultChannel: stable
---
schema: olm.channel
package: %[1]s
name: stable
entries: [{name: %[1]s.v%[2]s}]
---
schema: olm.bundle
package: %[1]s
name: %[1]s.v%[2]s
image: registry.example/%[1]s:v%[2]s
properties: [{type: olm.package, value: {packageName: %[1]s, version: %[2]s}}]
`, pkg, version)
}
