package bundle

import (
	"embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of [Check]. An error is a problem for which OLM or Kubernetes refuses the bundle; a warning
// is about a bundle that they accept.
//
// To add a rule, add a variable here, its examples in rules/NAME.txtar, and a call of checker.reportAt. The tests check
// that the bad example of a rule breaks only this rule, and the good one none. Examples are changes to the bundle in
// example.txtar: the first and the last line of a file are in the bundle, and the lines between them replace the lines
// between them there. A file that the bundle does not have is added, and a file without lines is removed.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules(example, ruleFiles, fileRules, metadataRules, manifestRules, csvRules, crdRules, wholeRules,
		optionalRules)
})

//go:embed example.txtar
var example string

//go:embed rules/*.txtar
var ruleFiles embed.FS

var fileRules = &problem.Group{Title: "Files", Rules: []*problem.Rule{
	ruleLayout, ruleUnreadable, ruleLeftOut, ruleDuplicateKey, ruleKeyCase, ruleBundleSize,
	ruleBundleSizeNear,
}}

var (
	ruleLayout = &problem.Rule{Name: "layout", Severity: problem.Error,
		Summary: "a bundle has the directories manifests/ and metadata/, and files in both",
		Reason:  "OLM reads nothing else of a bundle."}
	ruleUnreadable = &problem.Rule{Name: "unreadable", Severity: problem.Error,
		Summary: "every file is one document, YAML or JSON",
		Reason:  "OLM cannot unpack a bundle with a file that it cannot read."}
	ruleLeftOut = &problem.Rule{Name: "left-out", Severity: problem.Warning,
		Summary: "no file or document is ignored",
		Reason: "OLM Classic reads the first document of each file directly in manifests/ that is not hidden. OLM v1 reads " +
			"all documents, and hidden files, and refuses a directory. It reads annotations and properties from " +
			"annotations.yaml and properties.yaml only, OLM Classic from any file in metadata/.",
		Fix: "put each manifest into a file of its own"}
	ruleDuplicateKey = &problem.Rule{Name: "duplicate-key", Severity: problem.Warning,
		Summary: "keys of an object are unique, in files and in annotations with JSON",
		Reason:  "OLM silently uses the last value of a duplicate key; the other values are lost.",
		Fix:     "remove one of them, or merge the two"}
	ruleKeyCase = &problem.Rule{Name: "key-case", Severity: problem.Warning,
		Summary: "the keys of ClusterServiceVersions and CustomResourceDefinitions have the right case",
		Reason:  "OLM Classic ignores the case of a key. OLM v1 ignores a key with the wrong case, without an error.",
		Fix:     "write the key as the message says"}
	ruleBundleSize = &problem.Rule{Name: "bundle-size", Severity: problem.Error,
		Summary: "compressed, the files fit into the ConfigMap that OLM unpacks them into",
		Reason:  "A ConfigMap holds 1 MiB. OLM cannot unpack a larger bundle.",
		Fix:     "remove descriptions from CustomResourceDefinitions, or files that are not needed"}
	ruleBundleSizeNear = &problem.Rule{Name: "bundle-size-near", Severity: problem.Warning,
		Summary: "compressed, the files have at most 85% of the size that OLM can unpack",
		Reason:  "A ConfigMap holds 1 MiB. The next version of the bundle may be too large.",
		Fix:     "remove descriptions from CustomResourceDefinitions, or files that are not needed"}
)

var metadataRules = &problem.Group{Title: "Metadata", Rules: []*problem.Rule{
	ruleAnnotations, rulePackageName, ruleChannelName, ruleWhiteSpace, ruleMediaType, ruleDirectory,
	ruleOpenShiftVersions, ruleOpenShiftReleases, ruleLabel, ruleDependencies,
}}

var (
	ruleAnnotations = &problem.Rule{Name: "annotations", Severity: problem.Error,
		Summary: "a file in metadata/ has the annotations of a bundle, and none is empty",
		Reason:  "They name the package of the bundle, its channels, and where its files are."}
	rulePackageName = &problem.Rule{Name: "package-name", Severity: problem.Error,
		Summary: "the name of the package is a DNS label",
		Reason: "No catalog with such a package is valid. Upstream accepts the bundle, and rejects the catalog. A name has " +
			"1 to 63 lower-case letters, digits and inner hyphens.",
		Fix: "rename the package"}
	ruleChannelName = &problem.Rule{Name: "channel-name", Severity: problem.Error,
		Summary: "no name in the list of channels is empty",
		Reason:  "No catalog with such a channel is valid. Upstream accepts the bundle, and rejects the catalog.",
		Fix:     "separate the names by single commas"}
	ruleWhiteSpace = &problem.Rule{Name: "white-space", Severity: problem.Warning,
		Summary: "names of channels have no white space and no invisible characters",
		Reason: "A name with them is another name: after \"alpha, beta\", the second channel is \" beta\". OLM v1 accepts " +
			"no such names.",
		Fix: "remove it"}
	ruleMediaType = &problem.Rule{Name: "media-type", Severity: problem.Error,
		Summary: "the media type annotation matches the manifests",
		Reason:  "It is registry+v1 for a bundle with a ClusterServiceVersion, and what OLM goes by."}
	ruleDirectory = &problem.Rule{Name: "directory", Severity: problem.Warning,
		Summary: "the directory annotations are manifests/ and metadata/",
		Reason:  "Most tools, this one included, look there whatever the annotations say."}
	ruleOpenShiftVersions = &problem.Rule{Name: "openshift-versions", Severity: problem.Warning,
		Summary: "com.redhat.openshift.versions names releases of OpenShift that have a catalog",
		Reason: "Pipelines put the bundle into the catalogs of these releases: v4.12 is 4.12 and later, v4.12-v4.14 a " +
			"range, =v4.12 this one only, and v4.8,v4.9 the first and later. Any other value means no catalog, or all of them.",
		Fix: "name the first release that the bundle supports, such as v4.12, or a range"}
	ruleOpenShiftReleases = &problem.Rule{Name: "openshift-releases", Severity: problem.Info,
		Summary: "com.redhat.openshift.versions leaves out no release of OpenShift",
		Reason:  "The bundle is not in the catalogs of the other releases."}
	ruleLabel = &problem.Rule{Name: "label", Severity: problem.Warning,
		Summary: "the image of a bundle has its annotations as labels",
		Reason:  "Some tools read the labels, others the file. They should not disagree."}
	ruleDependencies = &problem.Rule{Name: "dependencies", Severity: problem.Error,
		Summary: "dependencies are of a known type, and complete",
		Reason:  "OLM cannot install what a bundle requires if it does not understand it."}
)

var manifestRules = &problem.Group{Title: "Manifests", Rules: []*problem.Rule{
	ruleManifestKind, ruleManifestAPI, ruleManifestMetadata, ruleRemovedAPI, ruleOLMv1,
}}

var (
	ruleManifestKind = &problem.Rule{Name: "manifest-kind", Severity: problem.Error,
		Summary: "a manifest is of a kind that OLM installs",
		Reason:  "OLM refuses a bundle with any other kind. What runs is part of the ClusterServiceVersion."}
	ruleManifestAPI = &problem.Rule{Name: "manifest-api", Severity: problem.Warning,
		Summary: "the cluster has the API of a manifest",
		Reason: "OLM goes by the kind. OLM v1 then finds no resource for an object without apiVersion, or of a kind of the " +
			"same name in another group. Examples of custom resources belong into the annotation alm-examples."}
	ruleManifestMetadata = &problem.Rule{Name: "manifest-metadata", Severity: problem.Error,
		Summary: "the metadata of a manifest is valid in Kubernetes",
		Reason:  "The API server would refuse the object. OLM sets the namespace itself."}
	ruleRemovedAPI = &problem.Rule{Name: "removed-api", Severity: problem.Warning,
		Summary: "current versions of Kubernetes serve the API of a manifest",
		Reason:  "The bundle cannot be installed on a cluster without the API."}
	ruleOLMv1 = &problem.Rule{Name: "olm-v1", Severity: problem.Warning,
		Summary: "OLM v1 can install the bundle",
		Reason: "OLM v1 refuses a bundle that does not support the install mode AllNamespaces, that has dependencies " +
			"or that owns APIServices. OLM Classic may install it."}
)

var csvRules = &problem.Group{Title: "The ClusterServiceVersion", Rules: []*problem.Rule{
	ruleCSVCount, ruleCSVType, ruleCSVName, ruleCSVFieldMissing, ruleCSVInstallModes, ruleCSVInstallModeTwice,
	ruleCSVMinKubeVersion, ruleCSVNoMinKubeVersion, ruleCSVExamples, ruleCSVNoExamples, ruleCSVAnnotationCase,
	ruleCSVProperties, ruleCSVRelease, ruleCSVWebhook, ruleCSVWebhookOLM, ruleCSVSchema,
}}

var (
	ruleCSVCount = &problem.Rule{Name: "csv-count", Severity: problem.Error,
		Summary: "there is one ClusterServiceVersion",
		Reason:  "A bundle is one version of an operator."}
	ruleCSVType = &problem.Rule{Name: "csv-type", Severity: problem.Error,
		Summary: "the ClusterServiceVersion matches the API of OLM",
		Reason:  "OLM cannot decode it otherwise."}
	ruleCSVName = &problem.Rule{Name: "csv-name", Severity: problem.Error,
		Summary: "the name is a valid object name and label value",
		Reason:  "It becomes the name of the ClusterServiceVersion on the cluster, and a label of what belongs to it."}
	ruleCSVFieldMissing = &problem.Rule{Name: "csv-field-missing", Severity: problem.Error,
		Summary: "required fields have a value",
		Reason:  "OLM or the consoles that show operators need them."}
	ruleCSVInstallModes = &problem.Rule{Name: "csv-install-modes", Severity: problem.Error,
		Summary: "an install mode is supported; with conversion webhooks, AllNamespaces only",
		Reason:  "OLM Classic installs an operator only into an OperatorGroup that a supported mode fits."}
	ruleCSVInstallModeTwice = &problem.Rule{Name: "csv-install-mode-twice", Severity: problem.Warning,
		Summary: "an install mode is listed once",
		Reason:  "If the two disagree, it is not clear which one counts.",
		Fix:     "remove one of them"}
	ruleCSVMinKubeVersion = &problem.Rule{Name: "csv-min-kube-version", Severity: problem.Error,
		Summary: "minKubeVersion is a semantic version",
		Reason:  "OLM compares it with the version of the cluster."}
	ruleCSVNoMinKubeVersion = &problem.Rule{Name: "csv-no-min-kube-version", Severity: problem.Warning,
		Summary: "minKubeVersion is set",
		Reason:  "Without it, the operator is installed on clusters for which it was never tested."}
	ruleCSVExamples = &problem.Rule{Name: "csv-examples", Severity: problem.Error,
		Summary: "alm-examples is a JSON list of objects of owned kinds",
		Reason:  "Consoles offer the examples to users who create such an object."}
	ruleCSVNoExamples = &problem.Rule{Name: "csv-no-examples", Severity: problem.Warning,
		Summary: "every owned kind has an example in alm-examples",
		Reason:  "Without one, users of a console start with an empty object."}
	ruleCSVAnnotationCase = &problem.Rule{Name: "csv-annotation-case", Severity: problem.Error,
		Summary: "annotations of OLM are in the right letter case",
		Reason:  "OLM ignores an annotation with another letter case."}
	ruleCSVProperties = &problem.Rule{Name: "csv-properties", Severity: problem.Warning,
		Summary: "properties are in metadata/, not in the annotation olm.properties",
		Reason:  "There they are read by all tools, and next to the dependencies."}
	ruleCSVRelease = &problem.Rule{Name: "csv-release", Severity: problem.Error,
		Summary: "a release is not used together with the annotation olm.substitutesFor",
		Reason:  "Both say that a bundle is a rebuild of another one. The release is the newer way."}
	ruleCSVWebhook = &problem.Rule{Name: "csv-webhook", Severity: problem.Error,
		Summary: "webhooks belong to deployments and owned kinds, and Kubernetes accepts them",
		Reason: "OLM v1 refuses the bundle, and OLM Classic tries to install the operator again and again. Upstream " +
			"accepts the bundle."}
	ruleCSVWebhookOLM = &problem.Rule{Name: "csv-webhook-olm", Severity: problem.Warning,
		Summary: "both OLM Classic and OLM v1 accept the webhooks",
		Reason:  "Their rules differ. The operator cannot be installed with the OLM that refuses a webhook."}
	ruleCSVSchema = &problem.Rule{Name: "csv-schema", Severity: problem.Warning,
		Summary: "an API server accepts the ClusterServiceVersion",
		Reason: "OLM Classic creates it on the cluster, where its definition has a schema. OLM v1 creates only the objects " +
			"in it."}
)

var crdRules = &problem.Group{Title: "CustomResourceDefinitions", Rules: []*problem.Rule{
	ruleCRDType, ruleCRD, ruleCRDMissing, ruleCRDNotOwned, ruleCRDTwice,
}}

var (
	ruleCRDType = &problem.Rule{Name: "crd-type", Severity: problem.Error,
		Summary: "a CustomResourceDefinition matches the API of Kubernetes",
		Reason:  "The API server would refuse it."}
	ruleCRD = &problem.Rule{Name: "crd", Severity: problem.Error,
		Summary: "Kubernetes accepts a CustomResourceDefinition, its schema aside",
		Reason:  "The API server would refuse it. The checks are those of Kubernetes."}
	ruleCRDMissing = &problem.Rule{Name: "crd-missing", Severity: problem.Error,
		Summary: "every owned kind is defined by a manifest",
		Reason:  "OLM waits until the kind is on the cluster, and does not install the operator before."}
	ruleCRDNotOwned = &problem.Rule{Name: "crd-not-owned", Severity: problem.Warning,
		Summary: "every kind that a manifest defines is owned",
		Reason:  "OLM lets others depend on an owned kind, and keeps a second operator from owning it.",
		Fix:     "own it, or remove the manifest"}
	ruleCRDTwice = &problem.Rule{Name: "crd-twice", Severity: problem.Warning,
		Summary: "a kind is defined once",
		Reason:  "Which of the two ends up on the cluster is not certain.",
		Fix:     "remove one of them"}
)

var wholeRules = &problem.Group{Title: "The bundle as a whole", Rules: []*problem.Rule{
	ruleBundleName, ruleServiceAccount, ruleImageReference, ruleImageMention, ruleRelatedImageEmpty, ruleRelatedImageEnv,
	ruleRefused, ruleRefusedOLM,
}}

var (
	ruleBundleName = &problem.Rule{Name: "bundle-name", Severity: problem.Warning,
		Summary: "the name of a bundle with a release is PACKAGE-vVERSION-RELEASE",
		Reason:  "A catalog with the bundle is not valid otherwise."}
	ruleServiceAccount = &problem.Rule{Name: "service-account", Severity: problem.Warning,
		Summary: "no manifest is a service account that OLM creates for the ClusterServiceVersion",
		Reason:  "OLM and the manifest would overwrite each other's account."}
	ruleImageReference = &problem.Rule{Name: "image-reference", Severity: problem.Error,
		Summary: "related images and images of containers are valid image references",
		Reason: "No catalog with the bundle is valid otherwise, since these images become related images of the rendered " +
			"bundle. Upstream accepts the bundle, and rejects the catalog.",
		Fix: "write it like registry.example/name@sha256:…"}
	ruleImageMention = &problem.Rule{Name: "image-mention", Severity: problem.Warning,
		Summary: "the annotation containerImage and the variables RELATED_IMAGE_* are valid image references",
		Reason: "The operator cannot run such an image. Rendered with --env-related-images, the variables make the catalog " +
			"invalid.",
		Fix: "write it like registry.example/name@sha256:…"}
	ruleRelatedImageEmpty = &problem.Rule{Name: "related-image-empty", Severity: problem.Warning,
		Summary: "related images are not empty",
		Reason:  "Tools that mirror the operator cannot copy the image otherwise.",
		Fix:     "name the image, or remove the entry"}
	ruleRelatedImageEnv = &problem.Rule{Name: "related-image-env", Severity: problem.Warning,
		Summary: "images in environment variables RELATED_IMAGE_* are related images",
		Reason: "The operator runs these images later. If they are not mirrored, it fails on a cluster without access to " +
			"the internet.",
		Fix: "list them in relatedImages, or render the bundle with --env-related-images"}
	ruleRefused = &problem.Rule{Name: "refused", Severity: problem.Error,
		Summary: "an API server accepts the manifests, and the objects that OLM makes from the ClusterServiceVersion",
		Reason: "OLM cannot install the operator otherwise. The messages are those of Kubernetes. Upstream accepts the " +
			"bundle.",
		Fix: "set required fields, and give fields the values that Kubernetes allows"}
	ruleRefusedOLM = &problem.Rule{Name: "refused-olm", Severity: problem.Warning,
		Summary: "an API server accepts what OLM Classic makes from the ClusterServiceVersion, not only what OLM v1 makes",
		Reason:  "OLM Classic cannot install the operator; OLM v1 makes other objects for it."}
)

var optionalRules = &problem.Group{Title: "Optional validators", Rules: []*problem.Rule{
	ruleObject, ruleObjectPermission, ruleHub, ruleHubIcon,
}}

var (
	ruleObject = &problem.Rule{Name: "object", Severity: problem.Error,
		Summary: "manifests do not endanger the cluster: disruption budgets, priorities, permissions",
		Reason:  "Such an object affects what other people run on the cluster."}
	ruleObjectPermission = &problem.Rule{Name: "object-permission", Severity: problem.Warning,
		Summary: "no role may change disruption budgets",
		Reason:  "With it, the operator could keep nodes from being drained."}
	ruleHub = &problem.Rule{Name: "hub", Severity: problem.Error,
		Summary: "the ClusterServiceVersion meets the requirements of OperatorHub.io",
		Reason:  "OperatorHub.io does not list the operator otherwise."}
	ruleHubIcon = &problem.Rule{Name: "hub-icon", Severity: problem.Warning,
		Summary: "the ClusterServiceVersion has an icon",
		Reason:  "OperatorHub.io shows it."}
)
