package bundle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// checkedFiles is a bundle without problems.
var checkedFiles = filesOf(Rules().Example)

// filesOf returns the files in an example.
func filesOf(example string) files {
	all := files{}
	for _, f := range txtar.Parse([]byte(example)).Files {
		all[f.Name] = string(f.Data)
	}
	return all
}

// rename returns the files with one under another name.
func (f files) rename(from, to string) files {
	all := maps.Clone(f)
	all[to] = all[from]
	delete(all, from)
	return all
}

// change returns checkedFiles with the file of that name changed.
func change(name, from, to string) files { return checkedFiles.change(name, from, to) }

func (f files) change(name, from, to string) files {
	all := maps.Clone(f)
	if from != "" && !strings.Contains(all[name], from) {
		panic(name + " does not contain " + from)
	}
	if from == "" {
		all[name] += to
	} else {
		all[name] = strings.Replace(all[name], from, to, 1)
	}
	return all
}

// checkTests break every rule by a change to files, and list the resulting problems in order.
var checkTests = []struct {
	files files
	want  []string
}{
	{checkedFiles, nil},

	{files{"manifests/csv.yaml": "", "manifests/crd.yaml": "", "metadata/annotations.yaml": ""}, []string{
		"b/manifests: error: file does not exist [layout]", "b/metadata: error: file does not exist [layout]"}},
	{change("manifests/a.yaml", "", "a: b: c"), []string{"b/manifests/a.yaml:1:5: error: mapping values are not allowed"}},
	{change("manifests/csv.yaml", "kind: Cluster", "kind: : Cluster"), []string{ // and no consequences of it
		"b/manifests/csv.yaml:2:7: error: mapping values are not allowed"}},
	{change("manifests/crd.yaml", "kind: Custom", "kind: : Custom"), []string{
		"b/manifests/crd.yaml:2:7: error: mapping values are not allowed"}},
	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "+noise(1<<20)+"}\n"), []string{
		"b/manifests: error: OLM cannot unpack the bundle: when packed, it has 1029 KB of 1024 KB; the largest file is manifests/a.yaml"}},
	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "+noise(900<<10)+"}\n"), []string{
		"b/manifests: warning: near the limit of OLM: when packed, it has 9"}},
	{change("manifests/crd.yaml", "  names:", "  scope: Cluster\n  names:").change("manifests/crd.yaml", "  scope: N", "  \"scope\": N"), []string{
		`b/manifests/crd.yaml:9:3: warning: key "scope" is already defined at b/manifests/crd.yaml:7:3: the last value is used [dup`}},
	{change("metadata/annotations.yaml", "", "  a: b\n  a: c\n"), []string{
		`b/metadata/annotations.yaml:9:3: warning: key "a" is already defined at b/metadata/annotations.yaml:8:3: the last value`}},
	{change("manifests/csv.yaml", `"kind": "Oak"`, `"kind": "Elm", "kind": "Oak"`), []string{
		`b/manifests/csv.yaml:6:19: warning: metadata.annotations.alm-examples: line 1 of the JSON: key "kind" is already defined in `}},
	{change("manifests/a.yaml", "", "a: b"), []string{"b/manifests/a.yaml:1:1: error: not a manifest: the object has no kind [unreadable]"}},
	{change("manifests/crd.yaml", "", "---\nkind: A"), []string{
		"b/manifests/crd.yaml:14:1: warning: a further document: OLM Classic reads only the first one of a file, OLM v1 reads all"}},
	{change("manifests/a/b.yaml", "", "a: b"), []string{
		"b/manifests/a: warning: a directory: OLM Classic ignores it, and OLM v1 refuses the bundle [left-out]"}},
	{change("manifests/.a.yaml", "", "kind: A"), []string{
		"b/manifests/.a.yaml: warning: a hidden file: OLM Classic ignores it, and OLM v1 reads it as a manifest [left-out]"}},
	{change("manifests/.keep", "", "\n"), nil},
	{checkedFiles.rename("metadata/annotations.yaml", "metadata/annotations.yml"), []string{
		"b/metadata/annotations.yml:2:3: warning: annotations: OLM v1 does not read it here: it reads annotations from " +
			"metadata/annotations.yaml only [left-out]"}},
	{change("metadata/props.yaml", "", "properties: [{type: a, value: b}]"), []string{
		"b/metadata/props.yaml:1:13: warning: properties: OLM v1 does not read it here: it reads properties from " +
			"metadata/properties.yaml only [left-out]"}},
	{change("manifests/csv.yaml", "installModes", "InstallModes"), []string{
		`b/manifests/csv.yaml:21:3: warning: spec.InstallModes: the key is "installModes": OLM Classic reads "InstallModes" ` +
			`as well, and OLM v1 ignores it [key-case]`,
		"b/manifests/csv.yaml:21:3: warning: spec.installModes: OLM v1 refuses it: "}},
	{change("manifests/crd.yaml", "storage: true", "Storage: true"), []string{
		`b/manifests/crd.yaml:11:14: warning: spec.versions[0].Storage: the key is "storage": `}},
	{change("manifests/list.yaml", "", "apiVersion: v1\nkind: List\nitems: []"), []string{
		"b/manifests/list.yaml:2:7: error: kind: OLM Classic does not install a List, and OLM v1 installs its items: "}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: v4.18-v4.12\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: "v4.18-v4.12" is not a range of releases: it is empty, because 4.18 is after 4.12`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: v4.9-v4.10\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: "v4.9-v4.10" is outdated: the bundle is in no catalog of 4.12 or later`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: =v4.10\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: "=v4.10" is outdated`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: v4\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: "v4" is not a range of releases, such as v4.12, v4.12-v4.14 or =v4.12`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: latest\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: "latest" is not a range of releases`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: \">=v4.12\"\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: ">=v4.12" is not a range of releases`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: 4.12\n"), []string{
		`b/metadata/annotations.yaml:8:34: warning: annotations.com.redhat.openshift.versions: "4.12" is not a range of releases`}},
	{change("metadata/annotations.yaml", "", "  com.redhat.openshift.versions: v4.12 - v4.20\n"), []string{
		`b/metadata/annotations.yaml:8:34: info: annotations.com.redhat.openshift.versions: the bundle is in the catalogs of OpenShift 4.12, 4.13, 4.14, 4.15, 4.16, 4.17, 4.18, 4.19, 4.20, not of 4.21`}},
	{change("metadata/a.yaml", "", "a: b: c"), []string{"b/metadata/a.yaml:1:5: warning: mapping values are not allowed"}},
	{change("metadata/a.yaml", "", "a: b"), []string{"b/metadata/a.yaml:1:1: warning: neither annotations nor dependencies nor"}},

	{change("metadata/annotations.yaml", "annotations:\n", "more:\n"), []string{
		"b/metadata: error: no file contains the annotations of a bundle [annotations]",
		"b/metadata/annotations.yaml:1:1: warning: neither annotations nor dependencies nor properties [left-out]"}},
	{change("metadata/annotations.yaml", "package.v1: oak", "package.v1: ' '"), []string{"b/metadata/annotations.yaml:5:53: " +
		"error: annotations.operators.operatorframework.io.bundle.package.v1: the value is empty [annotations]"}},
	{change("metadata/annotations.yaml", "package.v1: oak", `package.v1: "oak "`), []string{"b/metadata/annotations.yaml:5:53: " +
		`error: annotations.operators.operatorframework.io.bundle.package.v1: invalid package name "oak ": it ends in a space (want `}},
	{change("metadata/annotations.yaml", "package.v1: oak", "package.v1: wood/oak"), []string{"b/metadata/annotations.yaml:5:53: " +
		`error: annotations.operators.operatorframework.io.bundle.package.v1: invalid package name "wood/oak": want lower-case `}},
	{change("metadata/annotations.yaml", "channels.v1: stable", `channels.v1: "alpha,,stable\t, "`), []string{
		"b/metadata/annotations.yaml:6:54: error: annotations.operators.operatorframework.io.bundle.channels.v1: " +
			`"alpha,,stable\t, ": name 2 is empty [channel-name]`,
		"b/metadata/annotations.yaml:6:54: warning: annotations.operators.operatorframework.io.bundle.channels.v1: " +
			`the name " " has white space: it is only a space [white-space]`,
		"b/metadata/annotations.yaml:6:54: warning: annotations.operators.operatorframework.io.bundle.channels.v1: " +
			`the name "stable\t" has white space: it ends in a tab [white-space]`}},
	{change("metadata/annotations.yaml", "channel.default.v1: stable", `channel.default.v1: "\u200bstable"`), []string{
		"b/metadata/annotations.yaml:7:61: warning: annotations.operators.operatorframework.io.bundle.channel.default.v1: " +
			`the name "\u200bstable" has white space: it begins with a zero-width space (U+200B) [white-space]`}},
	{change("metadata/annotations.yaml", "registry+v1", `"registry+v1 "`), []string{
		"b/metadata/annotations.yaml:2:55: error: annotations.operators.operatorframework.io.bundle.mediatype.v1: " +
			`"registry+v1 ": it ends in a space (want "registry+v1") [media-type]`}},
	{change("metadata/annotations.yaml", "channels.v1: stable", "channel.v1: stable"), []string{
		"b/metadata/annotations.yaml:2:3: error: annotations: no operators.operatorframework.io.bundle.channels.v1 [annotations]"}},
	{change("metadata/annotations.yaml", "channel.default.v1: stable", "channel.default.v1: []"), []string{
		"b/metadata/annotations.yaml:7:61: error: annotations.operators.operatorframework.io.bundle.channel.default.v1: "}},
	{change("metadata/annotations.yaml", "registry+v1", "plain"), []string{"b/metadata/annotations.yaml:2:55: error: " +
		"annotations.operators.operatorframework.io.bundle.mediatype.v1: plain, but the manifests are registry+v1 [media-type]"}},
	{change("metadata/annotations.yaml", "manifests/", "deploy/"), []string{"b/metadata/annotations.yaml:3:55: warning: " +
		`annotations.operators.operatorframework.io.bundle.manifests.v1: "deploy/": want "manifests/" [directory]`}},
	{change("metadata/annotations.yaml", "manifests/", "manifests"), nil},
	{change("manifests/csv.yaml", "kind: Cluster", "kind: Luster"), []string{
		"b/metadata/annotations.yaml:2:55: error: annotations.operators.operatorframework.io.bundle.mediatype.v1: " +
			"registry+v1, but there is no ClusterServiceVersion in manifests/ [media-type]"}},
	{change("metadata/dependencies.yaml", "", `dependencies:
- {type: a}
- {type: olm.gvk}
- {type: olm.gvk, value: {group: g, kind: k}}
- {type: olm.package, value: {packageName: a, version: b}}
- {type: olm.package, value: {packageName: a, version: '>1.0.0'}}
- {type: olm.label, value: {}}
- {type: olm.constraint, value: {cel: {}}}
- {type: olm.constraint, value: {gvk: {}, all: {}}}
- {type: olm.constraint, value: {cel: {rule: a}}}
- {type: olm.label, value: 1}
`), []string{
		`b/metadata/dependencies.yaml:2:3: error: dependencies[0]: unknown type "a", want olm.gvk, olm.package, olm.label or`,
		"b/metadata/dependencies.yaml:3:3: error: dependencies[1]: value is required [dependencies]",
		"b/metadata/dependencies.yaml:4:26: error: dependencies[2].value: version is required [dependencies]",
		"b/metadata/dependencies.yaml:5:56: error: dependencies[3].value.version: not a valid version range: ",
		"b/metadata/dependencies.yaml:7:28: error: dependencies[5].value: label is required [dependencies]",
		"b/metadata/dependencies.yaml:8:39: error: dependencies[6].value.cel: rule is required [dependencies]",
		"b/metadata/dependencies.yaml:9:33: error: dependencies[7].value: want one of cel, gvk, package, all, any or not",
		"b/metadata/dependencies.yaml:11:28: error: dependencies[9].value: want an object, found a number [dependencies]",
	}},

	{change("metadata/dependencies.yaml", "", "dependencies:\n"+
		"- {type: olm.label, value: {label: a}}\n- {type: olm.package, value: {packageName: a, version: 1.0.0}}\n").change(
		"manifests/csv.yaml", "{type: AllNamespaces, supported: true}", "{type: OwnNamespace, supported: true}"), []string{
		"b/manifests/csv.yaml:21:3: warning: spec.installModes: OLM v1 refuses it: unsupported bundle: bundle does not support " +
			"AllNamespaces install mode [olm-v1]",
		"b/metadata/dependencies.yaml:3:3: warning: dependencies[1]: OLM v1 refuses a bundle with a dependency: " +
			"its property is olm.package.required [olm-v1]",
	}},

	{change("manifests/a.yaml", "", "kind: Deployment\nmetadata: {name: a}\n"), []string{
		"b/manifests/a.yaml:1:7: error: kind: OLM does not install a Deployment [manifest-kind]"}},
	{change("manifests/a.yaml", "", "kind: Service\nmetadata: {name: a}\n"), []string{
		"b/manifests/a.yaml:1:1: warning: apiVersion: OLM v1 cannot apply it: the manifest has no apiVersion [manifest-api]"}},
	{change("manifests/a.yaml", "", "apiVersion: iam.example.com/v1\nkind: Role\nmetadata: {name: a}\n"), []string{
		"b/manifests/a.yaml:1:13: warning: apiVersion: OLM v1 cannot apply it: " +
			"it installs a Role of rbac.authorization.k8s.io, not of iam.example.com [manifest-api]"}},
	{change("manifests/a.yaml", "", "kind: ServiceAccount\nmetadata:\n  name: a\n  labels: {a: b c}\napiVersion: v1\n"), []string{
		`b/manifests/a.yaml:4:11: error: metadata.labels: Invalid value: "b c": a valid label must be`}},
	{change("manifests/a.yaml", "", "kind: ServiceAccount\nmetadata:\n  name: a\n  namespace: b\napiVersion: v1\n"), []string{
		"b/manifests/a.yaml:4:14: error: metadata.namespace: Forbidden: not allowed on this type [manifest-metadata]"}},
	{change("manifests/a.yaml", "", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"), []string{
		"b/manifests/a.yaml:1:13: warning: apiVersion: Kubernetes 1.25 removed policy/v1beta1 [removed-api]"}},
	{change("manifests/a.yaml", "", "apiVersion: rbac.authorization.k8s.io/v1beta1\nkind: Role\nmetadata: {name: a}\n").
		change("manifests/csv.yaml", "1.20.0", "1.22.0"), []string{
		"b/manifests/a.yaml:1:13: warning: apiVersion: Kubernetes 1.22 removed rbac.authorization.k8s.io/v1beta1 [removed-api]",
		"b/manifests/csv.yaml:10:19: error: spec.minKubeVersion: Kubernetes 1.22 removed rbac.authorization.k8s.io/v1beta1, "}},

	{change("manifests/d.yaml", "", "kind: ClusterServiceVersion\n"), []string{
		"b/manifests/d.yaml:1:1: error: second ClusterServiceVersion: OLM Classic uses the first, in b/manifests/csv.yaml, and OLM v1 the last"}},
	{change("manifests/csv.yaml", "version: 1.0.0", "version: banana"), []string{
		`b/manifests/csv.yaml:9:12: error: spec.version: "banana" is not a valid version: `}},
	{change("manifests/csv.yaml", "version: 1.0.0", "version: 1.0.0\n  release: a_b"), []string{
		`b/manifests/csv.yaml:10:12: error: spec.release: "a_b" is not a valid version: `}},
	{change("manifests/csv.yaml", "oak.v1.0.0", "Oak"), []string{`b/manifests/csv.yaml:4:9: error: metadata.name: "Oak": a lowercase`}},
	{change("manifests/csv.yaml", "  displayName: Oak\n", ""), []string{"b/manifests/csv.yaml:8:3: error: spec: displayName is required [csv-field-missing]"}},
	{change("manifests/csv.yaml", "supported: true", "supported: false"), []string{
		"b/manifests/csv.yaml:21:3: error: spec.installModes: no install mode is supported [csv-install-modes]"}},
	{change("manifests/csv.yaml", "supported: true}", "supported: true}\n  - {type: AllNamespaces, supported: true}"), []string{
		"b/manifests/csv.yaml:22:5: warning: spec.installModes[1]: AllNamespaces is already listed [csv-install-mode-twice]"}},
	{change("manifests/csv.yaml", "1.20.0", "'1.20'"), []string{
		`b/manifests/csv.yaml:10:19: error: spec.minKubeVersion: "1.20" is not a semantic version: `}},
	{change("manifests/csv.yaml", "  minKubeVersion: 1.20.0\n", ""), []string{
		"b/manifests/csv.yaml:8:3: warning: spec: no minKubeVersion: the operator can be installed on any cluster [csv-no-min-kube"}},
	{change("manifests/csv.yaml", `"kind": "Oak"`, `"kind": "Elm"`), []string{
		"b/manifests/csv.yaml:6:19: error: metadata.annotations.alm-examples: example 1: wood.example.com/v1 Elm is not owned [csv-exam",
		"b/manifests/csv.yaml:6:19: warning: metadata.annotations.alm-examples: no example of wood.example.com/v1 Oak [csv-no-examples]",
	}},
	{change("manifests/csv.yaml", `"}]'`, `"}'`), []string{
		"b/manifests/csv.yaml:6:19: error: metadata.annotations.alm-examples: want a list of objects as JSON: "}},
	{change("manifests/csv.yaml", "alm-examples", "olm.SkipRange: a\n    olm.properties: '[]'\n    olm.examples"), []string{
		"b/manifests/csv.yaml:6:20: error: metadata.annotations.olm.SkipRange: want olm.skipRange [csv-annotation-case]",
		"b/manifests/csv.yaml:7:21: warning: metadata.annotations.olm.properties: move the properties to metadata/properties.yaml",
	}},
	{change("manifests/csv.yaml", "  version: 1.0.0\n", "  version: 1.0.0\n  release: '2'\n"), []string{
		`b/manifests/csv.yaml:4:9: warning: metadata.name: want "oak-v1.0.0-2" because the bundle has a release [bundle-name]`}},
	{files{"manifests/csv.yaml": strings.NewReplacer("oak.v1.0.0", "oak-v1.0.0-2", "alm-examples", "olm.substitutesFor: a\n    alm-examples",
		"  version: 1.0.0\n", "  version: 1.0.0\n  release: '2'\n").Replace(checkedFiles["manifests/csv.yaml"]),
		"manifests/crd.yaml": checkedFiles["manifests/crd.yaml"], "metadata/annotations.yaml": checkedFiles["metadata/annotations.yaml"]},
		[]string{"b/manifests/csv.yaml:6:25: error: metadata.annotations.olm.substitutesFor: cannot be combined with spec.release [csv-release]"}},

	{change("manifests/csv.yaml", "    alm-examples", "    olm.examples: ''\n    alm-examples"), []string{
		"b/manifests/csv.yaml:6:19: warning: metadata.annotations.olm.examples: ignored: examples are read from alm-examples [left-out]"}},
	{change("manifests/crd.yaml", "k8s.io/v1", "com/v1"), []string{
		`b/manifests/crd.yaml:1:13: error: apiVersion: "apiextensions.com/v1": want apiextensions.k8s.io/v1 or apiext`}},
	{change("manifests/csv.yaml", "name: oaks.wood", "name: elms.wood"), []string{
		"b/manifests/csv.yaml:24:7: error: spec.customresourcedefinitions.owned[0]: no manifest defines wood.example.com/v1 Oak as " +
			`"elms": b/manifests/crd.yaml has "oaks" [crd-missing]`}},
	{change("manifests/crd.yaml", "storage: true", "storage: a"), []string{
		"b/manifests/crd.yaml:11:14: error: spec.versions[0].storage: want true or false, found a string [crd-type]"}},
	{change("manifests/crd.yaml", "storage: true", "storage: false"), []string{
		"b/manifests/crd.yaml:10:3: error: spec.versions: Invalid value: must have exactly one version marked as storage version [crd]"}},
	{change("manifests/crd.yaml", "storage: true\n", "storage: true\n    additionalPrinterColumns: [{name: a, type: text, jsonPath: .a}]\n"), []string{
		`b/manifests/crd.yaml:12:48: error: spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "text": must be one of `}},
	{change("manifests/crd.yaml", "", "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v2], clientConfig: {url: http://a}}}\n"), []string{
		"b/manifests/crd.yaml:13:71: error: spec.conversion.webhook.conversionReviewVersions: Invalid value: must include at least one of v1, v1beta1 [crd]",
		`b/manifests/crd.yaml:13:97: error: spec.conversion.webhook.clientConfig.url: Invalid value: "http": 'https' is the only allowed`}},
	{change("manifests/crd.yaml", "  scope: Namespaced\n", ""), []string{"b/manifests/crd.yaml:6:3: error: spec.scope: Required value [crd]"}},
	{change("manifests/crd.yaml", "name: oaks", "name: elms"), []string{
		`b/manifests/crd.yaml:4:9: error: metadata.name: Invalid value: "elms.wood.example.com": must be spec.names.plural+"."+spec.group [crd]`}},
	{change("manifests/csv.yaml", "version: v1, kind", "version: v2, kind"), []string{
		"b/manifests/crd.yaml:6:3: warning: spec: b/manifests/csv.yaml does not own wood.example.com/v1 Oak [crd-not-owned]",
		"b/manifests/csv.yaml:6:19: error: metadata.annotations.alm-examples: example 1: wood.example.com/v1 Oak is not owned",
		"b/manifests/csv.yaml:6:19: warning: metadata.annotations.alm-examples: no example of wood.example.com/v2 Oak",
		"b/manifests/csv.yaml:24:7: error: spec.customresourcedefinitions.owned[0]: no manifest defines wood.example.com/v2 Oak [crd-m",
	}},
	{change("manifests/crd2.yaml", "", checkedFiles["manifests/crd.yaml"]), []string{
		"b/manifests/crd2.yaml:6:3: warning: spec: wood.example.com/v1 Oak is defined in b/manifests/crd.yaml [crd-twice]"}},

	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: oak}\n"), []string{
		"b/manifests/a.yaml:3:18: warning: metadata.name: OLM creates this account for b/manifests/csv.yaml [service-account]"}},
	{change("manifests/csv.yaml", "example.com/oak:1", "Not valid"), []string{
		"b/manifests/csv.yaml:13:38: error: spec.relatedImages[0].image: \"Not valid\" is not a valid image reference: "}},
	{change("manifests/csv.yaml", "example.com/oak:1", "''"), []string{
		"b/manifests/csv.yaml:13:19: warning: spec.relatedImages[0]: no image [related-image-empty]"}},
	{change("manifests/csv.yaml", "containers: [{name: oak, image: example.com/oak:1}]", "containers: [{name: oak, image: https://b}]"), []string{
		"b/manifests/csv.yaml:18:103: error: spec.install.spec.deployments[0].spec.template.spec.containers[0].image: " +
			`"https://b" is not a valid image reference: `}},
	{change("manifests/csv.yaml", "containers: [{name: oak, image: example.com/oak:1}]", "containers: [{name: oak, image: b, env: [{name: RELATED_IMAGE_A, value: a}, "+
		"{name: RELATED_IMAGE_B, value: b}, {name: RELATED_IMAGE_OAK, value: 'example.com/oak:1'}, {name: IMAGE, value: i}]}]"), []string{
		`b/manifests/csv.yaml:18:143: warning: spec.install.spec.deployments[0].spec.template.spec.containers[0].env[0].value: ` +
			`RELATED_IMAGE_A: image "a" is not in relatedImages [related-image-env]`}},
	{change("manifests/csv.yaml", "containers: [{name: oak, image: example.com/oak:1}]", "containers: [{name: a, image: b, env: [{name: RELATED_IMAGE_A, "+
		"value: $(REGISTRY)/a}, {name: RELATED_IMAGE_B, value: ''}]}]"), []string{
		"b/manifests/csv.yaml:18:141: warning: spec.install.spec.deployments[0].spec.template.spec.containers[0].env[0].value: " +
			`RELATED_IMAGE_A: "$(REGISTRY)/a" is not a valid image reference: `}},
	{change("manifests/csv.yaml", "annotations:", "annotations:\n    containerImage: https://example.com/oak"), []string{
		`b/manifests/csv.yaml:6:21: warning: metadata.annotations.containerImage: "https://example.com/oak" is not a valid image ` +
			`reference: `}},
	{change("manifests/csv.yaml", "annotations:", "annotations:\n    bad/key/wood: x"), []string{
		`b/manifests/csv.yaml:6:5: error: metadata.annotations: Invalid value: "bad/key/wood": `}},
	{change("manifests/csv.yaml", "annotations:", "labels: {wood: a b}\n  annotations:"), []string{
		`b/manifests/csv.yaml:5:11: warning: metadata.labels: OLM Classic cannot create the ClusterServiceVersion: Invalid value: "a b": `}},
	{change("manifests/csv.yaml", "      deployments:", "      permissions: [{serviceAccountName: oak}]\n      deployments:"),
		[]string{"b/manifests/csv.yaml:17:21: warning: spec.install.spec.permissions[0].rules: OLM Classic cannot create the " +
			"ClusterServiceVersion: rules is required [csv-schema]"}},
	{change("manifests/csv.yaml", "containers: [{name: oak, image: example.com/oak:1}]", "containers: [{name: a, image: b, ports: [{containerPort: 80}, "+
		"{containerPort: 80, name: b}]}]"), []string{
		"b/manifests/csv.yaml:18:133: warning: spec.install.spec.deployments[0].spec.template.spec.containers[0].ports[1]: " +
			`OLM Classic cannot create the ClusterServiceVersion: Duplicate value: {"containerPort":80,"protocol":"TCP"}`}},
	{change("manifests/csv.yaml", "  minKubeVersion", "  release: aaaaaaaaaaaaaaaaaaaaa\n  minKubeVersion"), []string{
		"b/manifests/csv.yaml:4:9: warning: metadata.name: want \"oak-v1.0.0-aaaaaaaaaaaaaaaaaaaaa\"",
		"b/manifests/csv.yaml:10:12: warning: spec.release: OLM Classic cannot create the ClusterServiceVersion: Too long: may not be"}},

	{change("manifests/a.yaml", "", "kind: PriorityClass\nmetadata: {name: a}\nglobalDefault: true\napiVersion: scheduling.k8s.io/v1\n"), []string{
		"b/manifests/a.yaml:3:16: error: globalDefault: the class would be the default for all pods of the cluster [object]"}},
	{change("manifests/a.yaml", "", "kind: Role\nmetadata: {name: a}\nrules:\n- apiGroups: [policy]\n  resources: [poddisruptionbudgets]\n"+
		"  verbs: ['*']\napiVersion: rbac.authorization.k8s.io/v1\n"), []string{"b/manifests/a.yaml:4:3: warning: rules[0]: can change disruption budgets"}},
	{withWebhooks(`{type: ValidatingAdmissionWebhook, generateName: v.oak.example.com, deploymentName: oak, sideEffects: None,
    containerPort: 443, targetPort: webhook-server, admissionReviewVersions: [v1], webhookPath: /validate/oak, timeoutSeconds: 10,
    failurePolicy: Fail, matchPolicy: Exact, rules: [{operations: ["*"], apiGroups: [a], apiVersions: [v1], resources: [as, "as/*"]}]}`), nil},
	{withWebhooks(`{type: ValidatingAdmissionWebhook, generateName: oak, deploymentName: elm, sideEffects: Some,
    containerPort: 70000, targetPort: 0, admissionReviewVersions: [v2], webhookPath: validate, timeoutSeconds: 31,
    failurePolicy: Nay, matchPolicy: Nay, reinvocationPolicy: Nay, rules: [{operations: [GET, "*"], apiGroups: [], apiVersions: [v1], scope: Nay}]}`),
		[]string{
			hookAt + `:54: error: spec.webhookdefinitions[0].generateName: Invalid value: "oak": should be a domain with at least three`,
			hookAt + ":75: error: spec.webhookdefinitions[0].deploymentName: webhook of type 'ValidatingAdmissionWebhook' with name 'oak' " +
				"references non-existent deployment 'elm' [csv-webhook]",
			hookAt + `:93: error: spec.webhookdefinitions[0].sideEffects: "Some": want one of ["None" "NoneOnDryRun"] [csv-webhook]`,
			"b/manifests/csv.yaml:24:20: error: spec.webhookdefinitions[0].containerPort: 70000 is not a port: must be between 1 and",
			`b/manifests/csv.yaml:24:39: error: spec.webhookdefinitions[0].targetPort: "0" is not a port or the name of a port: must`,
			"b/manifests/csv.yaml:24:67: error: spec.webhookdefinitions[0].admissionReviewVersions: Kubernetes needs v1 or v1beta1",
			`b/manifests/csv.yaml:24:86: error: spec.webhookdefinitions[0].webhookPath: Invalid value: "validate": must start with`,
			"b/manifests/csv.yaml:24:112: error: spec.webhookdefinitions[0].timeoutSeconds: 31: want 1 to 30 seconds [csv-webhook]",
			`b/manifests/csv.yaml:25:20: error: spec.webhookdefinitions[0].failurePolicy: "Nay": want one of ["Fail" "Ignore"]`,
			`b/manifests/csv.yaml:25:38: error: spec.webhookdefinitions[0].matchPolicy: "Nay": want one of ["Exact" "Equivalent"]`,
			"b/manifests/csv.yaml:25:76: error: spec.webhookdefinitions[0].rules[0]: apiGroups is required [csv-webhook]",
			"b/manifests/csv.yaml:25:76: error: spec.webhookdefinitions[0].rules[0]: resources is required [csv-webhook]",
			`b/manifests/csv.yaml:25:89: error: spec.webhookdefinitions[0].rules[0].operations: * must be the only value, found [`,
			`b/manifests/csv.yaml:25:90: error: spec.webhookdefinitions[0].rules[0].operations[0]: "GET": want one of ["CREATE" `,
			`b/manifests/csv.yaml:25:142: error: spec.webhookdefinitions[0].rules[0].scope: "Nay": want one of ["Cluster" "Namespaced" `,
		}},
	{withWebhooks(`{type: ConversionWebhook, generateName: oak, deploymentName: oak, sideEffects: None, admissionReviewVersions: [v1],
    conversionCRDs: [elms.wood.example.com]}`,
		`{type: MutatingWebhook, generateName: oak, deploymentName: oak, sideEffects: None, admissionReviewVersions: [v1]}`), []string{
		"b/manifests/csv.yaml:24:22: error: spec.webhookdefinitions[0].conversionCRDs[0]: conversion webhook 'oak' references custom " +
			"resource definition 'elms.wood.example.com' not owned bundle [csv-webhook]",
		`b/manifests/csv.yaml:25:12: warning: spec.webhookdefinitions[1].type: OLM Classic refuses it, and OLM v1 ignores the webhook: `,
		"b/manifests/csv.yaml:25:43: warning: spec.webhookdefinitions[1].generateName: OLM Classic refuses it: CSV contains repeated",
	}},

	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\nspec: {ports: [{port: 80}, {port: 81, name: a}]}\n"), []string{
		`b/manifests/a.yaml:3:18: error: metadata.name: Invalid value: "1a": a DNS-1035 label must consist of`,
		"b/manifests/a.yaml:4:16: error: spec.ports[0].name: Required value [refused]"}},
	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [b]\n"), []string{
		"b/manifests/a.yaml:4:7: error: data: "}},
	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/service-account-token\n"), []string{
		"b/manifests/a.yaml:3:11: error: metadata.annotations.kubernetes.io/service-account.name: Required value [refused]"}},
	{change("manifests/a.yaml", "", "apiVersion: v1\nkind: Secret\n"), []string{
		"b/manifests/a.yaml:1:1: error: metadata.name: Required value: name or generateName is required [manifest-metadata]"}},
	{change("manifests/crd.yaml", "{type: object}", "{type: object, properties: {size: {}}}"), []string{
		"b/manifests/crd.yaml:12:65: error: spec.versions[0].schema.openAPIV3Schema.properties.size.type: Required value: must not be empty " +
			"for specified object fields [refused]"}},
	{change("manifests/csv.yaml", ", selector: {matchLabels: {app: oak}}", ""), []string{ // and not that it does not match the labels
		"b/manifests/csv.yaml:18:27: error: spec.install.spec.deployments[0].spec.selector: Required value [refused]"}},
	{change("manifests/csv.yaml", "{name: oak, spec", "{name: Oak, label: {a: b c}, spec"), []string{
		"b/manifests/csv.yaml:18:9: warning: spec.install.spec.deployments[0]: OLM v1 refuses it: ",
		`b/manifests/csv.yaml:18:16: error: spec.install.spec.deployments[0].name: Invalid value: "Oak": a lowercase RFC 1123 subdomain`,
		`b/manifests/csv.yaml:18:28: error: spec.install.spec.deployments[0].label: Invalid value: "b c": a valid label must be`}},
	{withPermissions("{serviceAccountName: Oak, rules: [{verbs: [get], nonResourceURLs: [/a]}, {resources: [pods], apiGroups: ['']}]}"), []string{
		`b/manifests/csv.yaml:21:30: error: spec.install.spec.permissions[0].serviceAccountName: Invalid value: "Oak": a lowercase `,
		"b/manifests/csv.yaml:21:75: warning: spec.install.spec.permissions[0].rules[0].nonResourceURLs: OLM Classic cannot create the " +
			"Role: Invalid value: namespaced rules cannot apply to non-resource URLs [refused-olm]",
		"b/manifests/csv.yaml:21:82: error: spec.install.spec.permissions[0].rules[1].verbs: Required value: verbs must contain at "}},
	{withPermissions("{serviceAccountName: oak, rules: [{verbs: [get], nonResourceURLs: [/a]}]}").change("manifests/csv.yaml",
		"AllNamespaces", "OwnNamespace"), []string{
		"b/manifests/csv.yaml:21:75: error: spec.install.spec.permissions[0].rules[0].nonResourceURLs: Invalid value: namespaced ",
		"b/manifests/csv.yaml:23:3: warning: spec.installModes: OLM v1 refuses it: "}},
	{withWebhooks(webhookAt(443, 1), webhookAt(443, 2)), []string{
		`b/manifests/csv.yaml:18:16: error: spec.install.spec.deployments[0].name: its Service: spec.ports[1].name: Duplicate value: "443" [refused]`,
		"b/manifests/csv.yaml:24:184: warning: spec.webhookdefinitions[1].conversionCRDs[0]: OLM v1 refuses it: conversion webhooks"}},
	{withWebhooks(webhookAt(443, 1)).change("manifests/csv.yaml", "{name: oak, spec", "{name: "+longName+", spec").change("manifests/csv.yaml",
		"deploymentName: oak", "deploymentName: "+longName), []string{
		"b/manifests/csv.yaml:18:16: warning: spec.install.spec.deployments[0].name: OLM Classic cannot create its Service: metadata.name: Invalid value: "}},

	{change("manifests/csv.yaml", "image/png", "image/bmp"), []string{`b/manifests/csv.yaml:12:40: error: spec.icon[0].mediatype: "image/bmp": `}},
	{change("manifests/csv.yaml", "  icon: [{base64data: eA==, mediatype: image/png}]\n", ""), []string{
		"b/manifests/csv.yaml:8:3: warning: spec: no icon [hub-icon]"}},
}

// hookAt is the line of the first webhook of withWebhooks.
const hookAt = "b/manifests/csv.yaml:23"

// withWebhooks returns checkedFiles with webhook definitions, each in YAML of the flow style.
func withWebhooks(definitions ...string) files {
	const next = "  customresourcedefinitions:"
	return change("manifests/csv.yaml", next, "  webhookdefinitions:\n  - "+strings.Join(definitions, "\n  - ")+"\n"+next)
}

// webhookAt returns the definition of a valid webhook.
func webhookAt(port, target int) string {
	return fmt.Sprintf("{type: ConversionWebhook, generateName: c%d.oak.example, deploymentName: oak, sideEffects: None, "+
		"containerPort: %d, targetPort: %d, admissionReviewVersions: [v1], conversionCRDs: [oaks.wood.example.com]}", target, port, target)
}

// longName is the name of a Deployment whose Service in OLM Classic has too long a name.
var longName = strings.Repeat("oak", 20)

// withPermissions returns checkedFiles with permissions of the operator, in YAML of the flow style.
func withPermissions(permissions string) files {
	const next = "  installModes:"
	return change("manifests/csv.yaml", next, "      permissions:\n      - "+permissions+"\n"+next)
}

// noise returns size bytes of text that gzip cannot compress: after gzip and base64 they have about the same size.
func noise(size int) string {
	raw := make([]byte, base64.StdEncoding.DecodedLen(size))
	_, _ = rand.NewChaCha8([32]byte{}).Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

func TestCheck(t *testing.T) {
	broken := map[string]bool{"label": true} // TestCheckLabels breaks it
	for _, test := range checkTests {
		fsys := test.files.fs()
		for name := range fsys {
			if test.files[name] == "" {
				delete(fsys, name) // it is in goodFiles
			}
		}
		findings := Check(fsys, "b", CheckOptions{OperatorHub: true, BundleObjects: true})
		var got []string
		for _, f := range findings {
			got = append(got, f.String())
			broken[f.Rule] = true
		}
		if !prefixes(got, test.want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
	for _, rule := range Rules().All() {
		if !broken[rule.Name] {
			t.Errorf("no test breaks %s", rule.Name)
		}
	}
}

func TestCheckLabels(t *testing.T) {
	labels := map[string]string{
		AnnotationMediaType: MediaTypeRegistry, AnnotationManifests: "manifests/", AnnotationMetadata: "metadata/",
		AnnotationPackage: "elm", AnnotationDefaultChannel: "stable", "vendor": "Wood",
	}
	var got []string
	for _, f := range Check(checkedFiles.fs(), "", CheckOptions{Labels: labels}) {
		if f.Severity == problem.Warning {
			got = append(got, f.String())
		}
	}
	want := []string{
		`metadata/annotations.yaml:5:53: warning: annotations.` + AnnotationPackage + `: "oak", but the label of the image is "elm"`,
		`metadata/annotations.yaml:6:54: warning: annotations.` + AnnotationChannels + `: "stable", but the label of the image is ""`,
	}
	if !prefixes(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCheckVersion checks that a version is required, unless a property has it. OperatorHub.io requires it, too.
func TestCheckVersion(t *testing.T) {
	none := change("manifests/csv.yaml", "  version: 1.0.0\n", "")
	property := func(typ, value string) files {
		return none.change("manifests/csv.yaml", "annotations:",
			`annotations:`+"\n"+`    olm.properties: '[{"type": "`+typ+`", "value": `+value+`}]'`)
	}
	const message = "error: spec: version is required: no catalog with the bundle is valid otherwise"
	want, below := "b/manifests/csv.yaml:8:3: "+message, "b/manifests/csv.yaml:9:3: "+message
	for i, tt := range []struct {
		files files
		want  []string
	}{
		{none, []string{want}},
		{property("olm.package", `{"packageName": "oak", "version": "1.0.0"}`), nil},
		{property("olm.package", `{"packageName": "oak"}`), []string{below}},
		{property("other", `{"olm.package": "1.0.0"}`), []string{below}},
	} {
		var got []string
		for _, f := range Check(tt.files.fs(), "b", CheckOptions{}) {
			if f.Severity == problem.Error {
				got = append(got, f.String())
			}
		}
		if !prefixes(got, tt.want) {
			t.Errorf("%d: got %q, want %q", i, got, tt.want)
		}
	}
}

func TestCheckMediaTypes(t *testing.T) {
	annotations := func(mediaType string) string {
		return strings.Replace(checkedFiles["metadata/annotations.yaml"], "registry+v1", mediaType, 1)
	}
	plain := mapFS("manifests/a.yaml", "kind: Deployment\nmetadata: {name: a}\n", "metadata/annotations.yaml", annotations("plain"))
	if findings := Check(plain, "b", CheckOptions{}); len(findings) > 0 {
		t.Errorf("plain: got %v", findings)
	}
	helm := mapFS("manifests/Chart.yaml", "name: oak\n", "manifests/README.md", "a: b: c\n", "manifests/templates/a.yaml", "{{a}}",
		"metadata/annotations.yaml", annotations("helm"))
	if findings := Check(helm, "b", CheckOptions{}); len(findings) > 0 {
		t.Errorf("helm: got %v", findings)
	}
}

// TestCheckRealBundles checks that the only errors of published bundles are image references that make every catalog
// with them invalid.
func TestCheckRealBundles(t *testing.T) {
	for _, dir := range realBundles(t) {
		for _, f := range Check(os.DirFS(dir), dir, CheckOptions{}) {
			if f.Severity == problem.Error && f.Rule != "image-reference" || f.Pos.Line == 0 {
				t.Error(f)
			}
		}
	}
}

// FuzzCheck checks that no bundle makes the checks panic, and that repeated checks report the same problems.
func FuzzCheck(f *testing.F) {
	for _, test := range checkTests {
		if len(test.files["manifests/a.yaml"]) > 1<<16 {
			continue // mutating a large file takes long
		}
		f.Add(test.files["manifests/csv.yaml"], test.files["manifests/crd.yaml"], test.files["manifests/a.yaml"],
			test.files["metadata/annotations.yaml"]+test.files["metadata/dependencies.yaml"])
	}
	f.Add(richCSV, richCRD, richBeta, "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		fsys := mapFS("manifests/csv.yaml", a, "manifests/crd.yaml", b, "manifests/a.yaml", c, "metadata/annotations.yaml", d)
		opts := CheckOptions{OperatorHub: true, BundleObjects: true}
		first, again := Check(fsys, "b", opts), Check(fsys, "b", opts)
		if !reflect.DeepEqual(first, again) {
			t.Errorf("got %v, then %v", first, again)
		}
	})
}
