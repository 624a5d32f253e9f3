package bundle

import (
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of [Check]. An error is a problem for which OLM or Kubernetes refuses the bundle; a warning
// is about a bundle that they accept.
//
// To add a rule, add a row here, and a call of checker.reportAt with its name. The tests check that the bad example of
// a rule breaks only this rule, and the good one none. Examples are changes to the example bundle, in txtar form: the
// first and the last line of a file are in the bundle, and the lines between them replace the lines between them there.
// A file that the bundle does not have is added, and a file without lines is removed.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules(example, fileRules, metadataRules, manifestRules, csvRules, crdRules, wholeRules,
		optionalRules)
})

// These are the first lines of the files of the example.
const (
	csvHeader         = "-- manifests/csv.yaml --\n"
	crdHeader         = "-- manifests/crd.yaml --\n"
	annotationsHeader = "-- metadata/annotations.yaml --\n"
)

const example = csvHeader + `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: oak.v1.0.0
  annotations:
    alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'
spec:
  displayName: Oak
  version: 1.0.0
  minKubeVersion: 1.20.0
  provider: {name: Wood}
  icon: [{base64data: eA==, mediatype: image/png}]
  relatedImages: [{name: oak, image: example.com/oak:1}]
  install:
    strategy: deployment
    spec:
      deployments:
      - {name: oak, spec: {template: {spec: {serviceAccountName: oak}}}}
  installModes:
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
    - {name: oaks.wood.example.com, version: v1, kind: Oak}
` + crdHeader + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: oaks.wood.example.com
spec:
  group: wood.example.com
  names: {kind: Oak, plural: oaks}
  scope: Namespaced
  versions:
  - name: v1
    storage: true
` + annotationsHeader + `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: oak
  operators.operatorframework.io.bundle.channels.v1: stable
`

var fileRules = &problem.Group{Title: "Files", Rules: []*problem.Rule{
	ruleLayout, ruleUnreadable, ruleLeftOut, ruleBundleSize,
}}

var (
	ruleLayout = &problem.Rule{Name: "layout", Severity: problem.Error,
		Summary:  "a bundle has the directories manifests/ and metadata/, and files in both",
		Reason:   "OLM reads nothing else of a bundle.",
		Abridged: "the file is missing",
		Bad:      annotationsHeader,
		Good: annotationsHeader + `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1`}
	ruleUnreadable = &problem.Rule{Name: "unreadable", Severity: problem.Error,
		Summary: "every file is one document, YAML or JSON",
		Reason:  "OLM cannot unpack a bundle with a file that it cannot read.",
		Bad: csvHeader + `apiVersion: operators.coreos.com/v1alpha1
kind: : ClusterServiceVersion
metadata:`,
		Repair: [2]string{"kind: : ClusterServiceVersion", "kind: ClusterServiceVersion"}}
	ruleLeftOut = &problem.Rule{Name: "left-out", Severity: problem.Warning,
		Summary: "no file or document is ignored",
		Reason:  "OLM reads the first document of each file that is directly in manifests/, and ignores others.",
		Bad: `-- manifests/roles/role.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: oak}`,
		Repair: [2]string{"-- manifests/roles/role.yaml --", "-- manifests/role.yaml --"}}
	ruleBundleSize = &problem.Rule{Name: "bundle-size", Severity: problem.Warning,
		Summary:  "compressed, the files fit into the ConfigMap that OLM unpacks them into",
		Reason:   "A ConfigMap holds 1 MiB. OLM cannot unpack a larger bundle.",
		Fix:      "remove descriptions from CustomResourceDefinitions, or files that are not needed",
		Abridged: "abridged",
		Bad: `-- manifests/dashboard.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: dashboard}
data: {dashboard.json: "… more than 1 MiB"}`,
		Repair: [2]string{`"… more than 1 MiB"`, `"{}"`}}
)

var metadataRules = &problem.Group{Title: "Metadata", Rules: []*problem.Rule{
	ruleAnnotations, ruleMediaType, ruleDirectory, ruleLabel, ruleDependencies,
}}

var (
	ruleAnnotations = &problem.Rule{Name: "annotations", Severity: problem.Error,
		Summary: "a file in metadata/ has the annotations of a bundle, and none is empty",
		Reason:  "They name the package of the bundle, its channels, and where its files are.",
		Bad: annotationsHeader + `  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.channels.v1: stable`,
		Good: annotationsHeader + `  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: oak
  operators.operatorframework.io.bundle.channels.v1: stable`}
	ruleMediaType = &problem.Rule{Name: "media-type", Severity: problem.Error,
		Summary: "the media type annotation matches the manifests",
		Reason:  "It is registry+v1 for a bundle with a ClusterServiceVersion, and what OLM goes by.",
		Bad: annotationsHeader + `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: plain
  operators.operatorframework.io.bundle.manifests.v1: manifests/`,
		Repair: [2]string{"plain", "registry+v1"}}
	ruleDirectory = &problem.Rule{Name: "directory", Severity: problem.Warning,
		Summary: "the directory annotations are manifests/ and metadata/",
		Reason:  "Most tools, this one included, look there whatever the annotations say.",
		Bad: annotationsHeader + `  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: deploy/
  operators.operatorframework.io.bundle.metadata.v1: metadata/`,
		Repair: [2]string{"deploy/", "manifests/"}}
	ruleLabel = &problem.Rule{Name: "label", Severity: problem.Warning,
		Summary:  "the image of a bundle has its annotations as labels",
		Reason:   "Some tools read the labels, others the file. They should not disagree.",
		Abridged: "the annotation says oak",
		Bad: `-- Dockerfile --
LABEL operators.operatorframework.io.bundle.package.v1=elm`,
		Good: `-- Dockerfile --
LABEL operators.operatorframework.io.bundle.package.v1=oak`}
	ruleDependencies = &problem.Rule{Name: "dependencies", Severity: problem.Error,
		Summary: "dependencies are of a known type, and complete",
		Reason:  "OLM cannot install what a bundle requires if it does not understand it.",
		Bad: `-- metadata/dependencies.yaml --
dependencies:
- {type: olm.package, value: {packageName: elm}}`,
		Repair: [2]string{"elm", `elm, version: ">=1.0.0"`}}
)

var manifestRules = &problem.Group{Title: "Manifests", Rules: []*problem.Rule{
	ruleManifestKind, ruleManifestAPI, ruleManifestMetadata, ruleRemovedAPI,
}}

var (
	ruleManifestKind = &problem.Rule{Name: "manifest-kind", Severity: problem.Error,
		Summary: "a manifest is of a kind that OLM installs",
		Reason:  "OLM refuses a bundle with any other kind. What runs is part of the ClusterServiceVersion.",
		Bad: `-- manifests/metrics.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: oak-metrics}`,
		Good: `-- manifests/metrics.yaml --
apiVersion: v1
kind: Service
metadata: {name: oak-metrics}`}
	ruleManifestAPI = &problem.Rule{Name: "manifest-api", Severity: problem.Warning,
		Summary: "the cluster has the API of a manifest",
		Reason: "OLM goes by the kind. OLM v1 then finds no resource for an object without apiVersion, or of a kind of the " +
			"same name in another group. Examples of custom resources belong into the annotation alm-examples.",
		Bad: `-- manifests/account.yaml --
kind: ServiceAccount
metadata: {name: oak-metrics}`,
		Repair: [2]string{"kind: ServiceAccount", "apiVersion: v1\nkind: ServiceAccount"}}
	ruleManifestMetadata = &problem.Rule{Name: "manifest-metadata", Severity: problem.Error,
		Summary: "the metadata of a manifest is valid in Kubernetes",
		Reason:  "The API server would refuse the object. OLM sets the namespace itself.",
		Bad: `-- manifests/metrics.yaml --
apiVersion: v1
kind: Service
metadata: {name: oak-metrics, namespace: oak}`,
		Repair: [2]string{"oak-metrics, namespace: oak", "oak-metrics"}}
	ruleRemovedAPI = &problem.Rule{Name: "removed-api", Severity: problem.Warning,
		Summary: "current versions of Kubernetes serve the API of a manifest",
		Reason:  "The bundle cannot be installed on a cluster without the API.",
		Bad: `-- manifests/budget.yaml --
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: oak}`,
		Repair: [2]string{"apiVersion: policy/v1beta1", "apiVersion: policy/v1"}}
)

var csvRules = &problem.Group{Title: "The ClusterServiceVersion", Rules: []*problem.Rule{
	ruleCSVCount, ruleCSVType, ruleCSVName, ruleCSVFieldMissing, ruleCSVInstallModes, ruleCSVInstallModeTwice,
	ruleCSVMinKubeVersion, ruleCSVNoMinKubeVersion, ruleCSVExamples, ruleCSVNoExamples, ruleCSVAnnotationCase,
	ruleCSVProperties, ruleCSVRelease,
}}

var (
	ruleCSVCount = &problem.Rule{Name: "csv-count", Severity: problem.Error,
		Summary: "there is one ClusterServiceVersion",
		Reason:  "A bundle is one version of an operator.",
		Bad: `-- manifests/old.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: oak.v0.9.0}`,
		Good: "-- manifests/old.yaml --"}
	ruleCSVType = &problem.Rule{Name: "csv-type", Severity: problem.Error,
		Summary: "the ClusterServiceVersion matches the API of OLM",
		Reason:  "OLM cannot decode it otherwise.",
		Bad: csvHeader + `  displayName: Oak
  version: "1.0 beta"
  minKubeVersion: 1.20.0`,
		Repair: [2]string{`version: "1.0 beta"`, "version: 1.0.0"}}
	ruleCSVName = &problem.Rule{Name: "csv-name", Severity: problem.Error,
		Summary: "the name is a valid object name and label value",
		Reason:  "It becomes the name of the ClusterServiceVersion on the cluster, and a label of what belongs to it.",
		Bad: csvHeader + `metadata:
  name: Oak_1.0.0
  annotations:`,
		Repair: [2]string{"name: Oak_1.0.0", "name: oak.v1.0.0"}}
	ruleCSVFieldMissing = &problem.Rule{Name: "csv-field-missing", Severity: problem.Error,
		Summary: "required fields have a value",
		Reason:  "OLM or the consoles that show operators need them.",
		Bad: csvHeader + `spec:
  version: 1.0.0`,
		Good: csvHeader + `spec:
  displayName: Oak
  version: 1.0.0`}
	ruleCSVInstallModes = &problem.Rule{Name: "csv-install-modes", Severity: problem.Error,
		Summary: "an install mode is supported; with conversion webhooks, AllNamespaces only",
		Reason:  "OLM Classic installs an operator only into an OperatorGroup that a supported mode fits.",
		Bad: csvHeader + `  installModes:
  - {type: AllNamespaces, supported: false}
  customresourcedefinitions:`,
		Repair: [2]string{"- {type: AllNamespaces, supported: false}", "- {type: AllNamespaces, supported: true}"}}
	ruleCSVInstallModeTwice = &problem.Rule{Name: "csv-install-mode-twice", Severity: problem.Warning,
		Summary: "an install mode is listed once",
		Reason:  "If the two disagree, it is not clear which one counts.",
		Fix:     "remove one of them",
		Bad: csvHeader + `  installModes:
  - {type: AllNamespaces, supported: true}
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:`,
		Good: csvHeader + `  installModes:
  - {type: AllNamespaces, supported: true}
  customresourcedefinitions:`}
	ruleCSVMinKubeVersion = &problem.Rule{Name: "csv-min-kube-version", Severity: problem.Error,
		Summary: "minKubeVersion is a semantic version",
		Reason:  "OLM compares it with the version of the cluster.",
		Bad: csvHeader + `  version: 1.0.0
  minKubeVersion: "1.20"
  provider: {name: Wood}`,
		Repair: [2]string{`minKubeVersion: "1.20"`, "minKubeVersion: 1.20.0"}}
	ruleCSVNoMinKubeVersion = &problem.Rule{Name: "csv-no-min-kube-version", Severity: problem.Warning,
		Summary: "minKubeVersion is set",
		Reason:  "Without it, the operator is installed on clusters for which it was never tested.",
		Bad: csvHeader + `  version: 1.0.0
  provider: {name: Wood}`,
		Good: csvHeader + `  version: 1.0.0
  minKubeVersion: 1.20.0
  provider: {name: Wood}`}
	ruleCSVExamples = &problem.Rule{Name: "csv-examples", Severity: problem.Error,
		Summary: "alm-examples is a JSON list of objects of owned kinds",
		Reason:  "Consoles offer the examples to users who create such an object.",
		Bad: csvHeader + `  annotations:
    alm-examples: '{"apiVersion": "wood.example.com/v1", "kind": "Oak"}'
spec:`,
		Repair: [2]string{
			`'{"apiVersion": "wood.example.com/v1", "kind": "Oak"}'`, `'[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'`,
		}}
	ruleCSVNoExamples = &problem.Rule{Name: "csv-no-examples", Severity: problem.Warning,
		Summary: "every owned kind has an example in alm-examples",
		Reason:  "Without one, users of a console start with an empty object.",
		Bad: csvHeader + `  annotations:
    alm-examples: '[]'
spec:`,
		Repair: [2]string{"alm-examples: '[]'", `alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'`}}
	ruleCSVAnnotationCase = &problem.Rule{Name: "csv-annotation-case", Severity: problem.Error,
		Summary: "annotations of OLM are in the right letter case",
		Reason:  "OLM ignores an annotation with another letter case.",
		Bad: csvHeader + `  annotations:
    olm.SkipRange: <1.0.0
    alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'`,
		Repair: [2]string{"olm.SkipRange: <1.0.0", "olm.skipRange: <1.0.0"}}
	ruleCSVProperties = &problem.Rule{Name: "csv-properties", Severity: problem.Warning,
		Summary: "properties are in metadata/, not in the annotation olm.properties",
		Reason:  "There they are read by all tools, and next to the dependencies.",
		Bad: csvHeader + `  annotations:
    olm.properties: '[{"type": "wood.example.com/hardness", "value": 4}]'
    alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'`,
		Good: csvHeader + `  annotations:
    alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'
-- metadata/properties.yaml --
properties:
- {type: wood.example.com/hardness, value: 4}`}
	ruleCSVRelease = &problem.Rule{Name: "csv-release", Severity: problem.Error,
		Summary: "a release is not used together with the annotation olm.substitutesFor",
		Reason:  "Both say that a bundle is a rebuild of another one. The release is the newer way.",
		Bad: csvHeader + `metadata:
  name: oak-v1.0.0-2
  annotations:
    olm.substitutesFor: oak.v1.0.0
    alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'
spec:
  displayName: Oak
  version: 1.0.0
  release: "2"
  minKubeVersion: 1.20.0`,
		Repair: [2]string{"olm.substitutesFor: oak.v1.0.0\n    alm-examples:", "alm-examples:"}}
)

var crdRules = &problem.Group{Title: "CustomResourceDefinitions", Rules: []*problem.Rule{
	ruleCRDType, ruleCRD, ruleCRDMissing, ruleCRDNotOwned, ruleCRDTwice,
}}

var (
	ruleCRDType = &problem.Rule{Name: "crd-type", Severity: problem.Error,
		Summary: "a CustomResourceDefinition matches the API of Kubernetes",
		Reason:  "The API server would refuse it.",
		Bad: crdHeader + `  names: {kind: Oak, plural: oaks}
  scope: [Namespaced]
  versions:`,
		Repair: [2]string{"scope: [Namespaced]", "scope: Namespaced"}}
	ruleCRD = &problem.Rule{Name: "crd", Severity: problem.Error,
		Summary: "Kubernetes accepts a CustomResourceDefinition, its schema aside",
		Reason:  "The API server would refuse it. The checks are those of Kubernetes.",
		Bad: crdHeader + `  names: {kind: Oak, plural: oaks}
  versions:`,
		Good: crdHeader + `  names: {kind: Oak, plural: oaks}
  scope: Namespaced
  versions:`}
	ruleCRDMissing = &problem.Rule{Name: "crd-missing", Severity: problem.Error,
		Summary:  "every owned kind is defined by a manifest",
		Reason:   "OLM waits until the kind is on the cluster, and does not install the operator before.",
		Abridged: "the file is missing",
		Bad:      crdHeader,
		Good: crdHeader + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition`}
	ruleCRDNotOwned = &problem.Rule{Name: "crd-not-owned", Severity: problem.Warning,
		Summary: "every kind that a manifest defines is owned",
		Reason:  "OLM lets others depend on an owned kind, and keeps a second operator from owning it.",
		Fix:     "own it, or remove the manifest",
		Bad: `-- manifests/elms.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: elms.wood.example.com}
spec:
  group: wood.example.com
  names: {kind: Elm, plural: elms}
  scope: Namespaced
  versions: [{name: v1, storage: true}]`,
		Good: "-- manifests/elms.yaml --"}
	ruleCRDTwice = &problem.Rule{Name: "crd-twice", Severity: problem.Warning,
		Summary: "a kind is defined once",
		Reason:  "Which of the two ends up on the cluster is not certain.",
		Fix:     "remove one of them",
		Bad: `-- manifests/oaks.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oaks.wood.example.com}
spec:
  group: wood.example.com
  names: {kind: Oak, plural: oaks}
  scope: Namespaced
  versions: [{name: v1, storage: true}]`,
		Good: "-- manifests/oaks.yaml --"}
)

var wholeRules = &problem.Group{Title: "The bundle as a whole", Rules: []*problem.Rule{
	ruleBundleName, ruleServiceAccount, ruleImageReference, ruleRelatedImageEmpty, ruleRelatedImageEnv,
}}

var (
	ruleBundleName = &problem.Rule{Name: "bundle-name", Severity: problem.Warning,
		Summary: "the name of a bundle with a release is PACKAGE-vVERSION-RELEASE",
		Reason:  "A catalog with the bundle is not valid otherwise.",
		Bad: csvHeader + `metadata:
  name: oak.v1.0.0
  annotations:
    alm-examples: '[{"apiVersion": "wood.example.com/v1", "kind": "Oak"}]'
spec:
  displayName: Oak
  version: 1.0.0
  release: "2"
  minKubeVersion: 1.20.0`,
		Repair: [2]string{"name: oak.v1.0.0", "name: oak-v1.0.0-2"}}
	ruleServiceAccount = &problem.Rule{Name: "service-account", Severity: problem.Warning,
		Summary: "no manifest is a service account that OLM creates for the ClusterServiceVersion",
		Reason:  "OLM and the manifest would overwrite each other's account.",
		Bad: `-- manifests/account.yaml --
apiVersion: v1
kind: ServiceAccount
metadata: {name: oak}`,
		Repair: [2]string{"metadata: {name: oak}", "metadata: {name: oak-metrics}"}}
	ruleImageReference = &problem.Rule{Name: "image-reference", Severity: problem.Error,
		Summary: "related images and images of containers are valid image references",
		Reason: "No catalog with the bundle is valid otherwise, since these images become related images of the rendered " +
			"bundle. Upstream accepts the bundle, and rejects the catalog.",
		Fix: "write it like registry.example/name@sha256:…",
		Bad: csvHeader + `  icon: [{base64data: eA==, mediatype: image/png}]
  relatedImages: [{name: oak, image: Wood/Oak}]
  install:`,
		Repair: [2]string{"Wood/Oak", "example.com/oak:1"}}
	ruleRelatedImageEmpty = &problem.Rule{Name: "related-image-empty", Severity: problem.Warning,
		Summary: "related images are not empty",
		Reason:  "Tools that mirror the operator cannot copy the image otherwise.",
		Fix:     "name the image, or remove the entry",
		Bad: csvHeader + `  icon: [{base64data: eA==, mediatype: image/png}]
  relatedImages: [{name: oak}]
  install:`,
		Repair: [2]string{"relatedImages: [{name: oak}]", "relatedImages: [{name: oak, image: example.com/oak:1}]"}}
	ruleRelatedImageEnv = &problem.Rule{Name: "related-image-env", Severity: problem.Warning,
		Summary: "images in environment variables RELATED_IMAGE_* are related images",
		Reason: "The operator runs these images later. If they are not mirrored, it fails on a cluster without access to " +
			"the internet.",
		Fix: "list them in relatedImages, or render the bundle with --env-related-images",
		Bad: csvHeader + `      deployments:
      - name: oak
        spec:
          template:
            spec:
              containers:
              - name: oak
                env:
                - {name: RELATED_IMAGE_SAW, value: example.com/saw:1}
  installModes:`,
		Repair: [2]string{"RELATED_IMAGE_SAW, value: example.com/saw:1", "RELATED_IMAGE_OAK, value: example.com/oak:1"}}
)

var optionalRules = &problem.Group{Title: "Optional validators", Rules: []*problem.Rule{
	ruleObject, ruleObjectPermission, ruleHub, ruleHubIcon,
}}

var (
	ruleObject = &problem.Rule{Name: "object", Severity: problem.Error,
		Summary: "manifests do not endanger the cluster: disruption budgets, priorities, permissions",
		Reason:  "Such an object affects what other people run on the cluster.",
		Bad: `-- manifests/priority.yaml --
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: oak}
globalDefault: true`,
		Repair: [2]string{"globalDefault: true", "globalDefault: false"}}
	ruleObjectPermission = &problem.Rule{Name: "object-permission", Severity: problem.Warning,
		Summary: "no role may change disruption budgets",
		Reason:  "With it, the operator could keep nodes from being drained.",
		Bad: `-- manifests/role.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: oak}
rules:
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [update]`,
		Repair: [2]string{"verbs: [update]", "verbs: [get]"}}
	ruleHub = &problem.Rule{Name: "hub", Severity: problem.Error,
		Summary: "the ClusterServiceVersion meets the requirements of OperatorHub.io",
		Reason:  "OperatorHub.io does not list the operator otherwise.",
		Bad: csvHeader + `  provider: {name: Wood}
  icon: [{base64data: eA==, mediatype: image/bmp}]
  relatedImages: [{name: oak, image: example.com/oak:1}]`,
		Repair: [2]string{"image/bmp", "image/png"}}
	ruleHubIcon = &problem.Rule{Name: "hub-icon", Severity: problem.Warning,
		Summary: "the ClusterServiceVersion has an icon",
		Reason:  "OperatorHub.io shows it.",
		Bad: csvHeader + `  provider: {name: Wood}
  relatedImages: [{name: oak, image: example.com/oak:1}]`,
		Good: csvHeader + `  provider: {name: Wood}
  icon: [{base64data: eA==, mediatype: image/png}]
  relatedImages: [{name: oak, image: example.com/oak:1}]`}
)
