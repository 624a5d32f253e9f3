package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func (c *checker) reportCSV(rule *problem.Rule, ptr jsontext.Pointer, format string, args ...any) {
	c.reportAt(rule, c.csvFile.document, ptr, format, args...)
}

func (c *checker) checkCSV() {
	c.checkCSVName("/metadata/name", c.csv.Name)
	if replaces := c.csv.Spec.Replaces; replaces != "" {
		c.checkCSVName("/spec/replaces", replaces)
	}
	if c.csvFile.version() == "" {
		c.reportCSV(ruleCSVFieldMissing, "", "apiVersion is required")
	}
	c.checkRequired()
	c.checkInstallModes()
	version := c.csv.Spec.MinKubeVersion
	if strings.TrimSpace(version) == "" {
		c.reportCSV(ruleCSVNoMinKubeVersion, "/spec",
			"no minKubeVersion: the operator can be installed on any cluster")
	} else if _, err := semver.Parse(version); err != nil {
		c.reportCSV(ruleCSVMinKubeVersion, "/spec/minKubeVersion", "%q is not a semantic version: %w", version,
			legible.ExplainWhiteSpace(err, version, ""))
	}
	for key := range c.csv.Annotations {
		ptr := atAnnotations.AppendToken(key)
		if key == annotationProperties {
			c.reportCSV(ruleCSVProperties, ptr, "move the properties to metadata/properties.yaml")
		}
		for _, known := range caseSensitiveAnnotations {
			if strings.EqualFold(key, known) && key != known {
				c.reportCSV(ruleCSVAnnotationCase, ptr, "want %s", known)
			}
		}
	}
	c.checkKeysInAnnotations()
	c.checkExamples()
	c.checkRelease()
}

// checkKeysInAnnotations reports the keys that an object in an annotation with JSON, such as alm-examples, has twice.
// It ignores annotations that are not valid JSON.
func (c *checker) checkKeysInAnnotations() {
	for _, key := range slices.Sorted(maps.Keys(c.csv.Annotations)) {
		// A list is not a document in JSON, so it becomes a value of an object. This keeps the lines.
		doc, err := readDocument("", []byte(`{"":`+c.csv.Annotations[key]+"}"), nil)
		if err != nil || doc.YAML || !doc.Repaired {
			continue
		}
		for k := range doc.Duplicates() {
			c.reportCSV(ruleDuplicateKey, atAnnotations.AppendToken(key),
				"line %d of the JSON: key %q is already defined in line %d: the last value is used",
				k.Repeat.Line, k.Key, k.First.Line)
		}
	}
}

// checkCSVName checks that the name is valid as an object name and as a label value, since OLM uses it as both.
func (c *checker) checkCSVName(ptr jsontext.Pointer, name string) {
	problems := slices.Concat(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name))
	if len(problems) > 0 {
		c.reportCSV(ruleCSVName, ptr, "%q: %w", name, legible.ExplainWhiteSpace(errors.New(problems[0]), name, ""))
	}
}

// checkRequired reports required fields without a value. It does not report fields of a missing object.
func (c *checker) checkRequired() {
	spec := &c.csv.Spec
	strategy := &spec.InstallStrategy
	required := func(parent jsontext.Pointer, key string, value any) bool {
		if reflect.ValueOf(value).Elem().IsZero() {
			c.reportCSV(ruleCSVFieldMissing, parent, "%s is required", key)
			return false
		}
		return true
	}
	required("", "metadata", &c.csv.ObjectMeta)
	if !required("", "spec", spec) {
		return
	}
	required("/spec", "displayName", &spec.DisplayName)
	if !required("/spec", "install", strategy) {
		return
	}
	required("/spec/install", "strategy", &strategy.StrategyName)
	if !reflect.ValueOf(strategy.StrategySpec).IsZero() {
		required("/spec/install/spec", "deployments", &strategy.StrategySpec.DeploymentSpecs)
	}
}

// checkVersion reports that neither the ClusterServiceVersion nor a property in its annotation has a version. The
// requirements of OperatorHub.io include it.
func (c *checker) checkVersion() {
	var raw csv
	if _, err := decode(c.csvFile.printed, &raw); err != nil || raw.Spec == nil || raw.Spec.Version != "" ||
		c.opts.OperatorHub {
		return
	}
	var properties []declcfg.Property
	_ = json.Unmarshal([]byte(c.csv.Annotations[annotationProperties]), &properties) // what cannot be read has no version
	if !slices.ContainsFunc(properties, hasVersion) {
		c.reportCSV(ruleCSVFieldMissing, "/spec", "version is required: no catalog with the bundle is valid otherwise")
	}
}

// hasVersion reports whether a property is an olm.package with a version.
func hasVersion(p declcfg.Property) bool {
	var pkg declcfg.PackageProperty
	return p.Type == declcfg.PropertyPackage && p.Unmarshal(&pkg) == nil && pkg.Version != ""
}

func (c *checker) checkInstallModes() {
	modes := c.csv.Spec.InstallModes
	if len(modes) == 0 {
		c.reportCSV(ruleCSVInstallModes, "/spec", "installModes is required")
		return
	}
	supported := make(map[v1alpha1.InstallModeType]bool)
	for i, mode := range modes {
		if _, ok := supported[mode.Type]; ok {
			c.reportCSV(ruleCSVInstallModeTwice, place.Item("/spec/installModes", i), "%s is already listed", mode.Type)
		}
		supported[mode.Type] = supported[mode.Type] || mode.Supported
	}
	if !slices.Contains(slices.Collect(maps.Values(supported)), true) {
		c.reportCSV(ruleCSVInstallModes, "/spec/installModes", "no install mode is supported")
	}
	if !slices.ContainsFunc(modes, func(m v1alpha1.InstallMode) bool {
		return m.Supported != (m.Type == v1alpha1.InstallModeTypeAllNamespaces)
	}) {
		return
	}
	// A conversion webhook serves a CustomResourceDefinition, which belongs to the whole cluster.
	for i, webhook := range c.csv.Spec.WebhookDefinitions {
		if len(webhook.ConversionCRDs) > 0 {
			ptr := place.Item("/spec/webhookdefinitions", i)
			c.reportCSV(ruleCSVInstallModes, ptr, "with conversionCRDs, AllNamespaces must be the only supported mode")
		}
	}
}

// caseSensitiveAnnotations are the annotations whose letter case is checked.
var caseSensitiveAnnotations = []string{
	"olm.operatorGroup", "olm.operatorNamespace", "olm.targetNamespaces", "olm.providedAPIs", "olm.skipRange",
}

const annotationSubstitutes = "olm.substitutesFor"

// checkRelease checks the release, which replaces build metadata and the annotation olm.substitutesFor.
func (c *checker) checkRelease() {
	release := c.csv.Spec.Release.String()
	if release == "" {
		return
	}
	if c.csv.Annotations[annotationSubstitutes] != "" {
		ptr := atAnnotations.AppendToken(annotationSubstitutes)
		c.reportCSV(ruleCSVRelease, ptr, "cannot be combined with spec.release")
	}
	want := fmt.Sprintf("%s-v%s-%s", c.pkg, c.csv.Spec.Version.String(), release)
	if c.pkg != "" && c.csv.Name != want {
		c.reportCSV(ruleBundleName, "/metadata/name", "want %q because the bundle has a release", want)
	}
}

// checkExamples compares the examples of custom resources with the kinds that the operator owns.
func (c *checker) checkExamples() {
	key := annotationExamples
	if _, ok := c.csv.Annotations[key]; !ok {
		key = annotationOldExamples
	}
	examples, ok := c.csv.Annotations[key]
	if !ok {
		c.reportCSV(ruleCSVNoExamples, "/metadata", "no annotation %s", annotationExamples)
		return
	}
	ptr := atAnnotations.AppendToken(key)
	if _, both := c.csv.Annotations[annotationOldExamples]; both && key != annotationOldExamples {
		old := atAnnotations.AppendToken(annotationOldExamples)
		c.reportCSV(ruleLeftOut, old, "ignored: examples are read from %s", key)
	}
	kinds, err := exampleKinds(examples)
	if err != nil {
		c.reportCSV(ruleCSVExamples, ptr, "want a list of objects as JSON: %w", err)
		return
	}
	owned := c.ownedKinds()
	for i, kind := range kinds {
		if !slices.Contains(owned, kind) {
			c.reportCSV(ruleCSVExamples, ptr, "example %d: %s is not owned", i+1, kindText(kind))
		}
	}
	for _, kind := range owned {
		if !slices.Contains(kinds, kind) {
			c.reportCSV(ruleCSVNoExamples, ptr, "no example of %s", kindText(kind))
		}
	}
}

// annotationImage names the image of the operator, for consoles.
const annotationImage = "containerImage"

const (
	annotationExamples    = "alm-examples"
	annotationOldExamples = "olm.examples"
)

func exampleKinds(examples string) ([]declcfg.GVK, error) {
	if examples == "" {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(examples), &list); err != nil {
		return nil, err
	}
	var kinds []declcfg.GVK
	for i, example := range list {
		if jsontext.Value(bytes.TrimSpace(example)).Kind() != jsontext.KindBeginObject {
			return nil, fmt.Errorf("example %d is not an object", i+1)
		}
		apiVersion, kind := typeOf(new(parser).printManifest(jsontext.Value(example)))
		if kind == "" {
			return nil, fmt.Errorf("example %d has no kind", i+1)
		}
		group, version, ok := strings.Cut(apiVersion, "/")
		if !ok {
			group, version = "", apiVersion
		}
		kinds = append(kinds, declcfg.GVK{Group: group, Version: version, Kind: kind})
	}
	return kinds, nil
}

// ownedKinds returns the owned kinds: of custom resources with valid names, and of API services.
func (c *checker) ownedKinds() []declcfg.GVK {
	var kinds []declcfg.GVK
	for i, owned := range c.csv.Spec.CustomResourceDefinitions.Owned {
		_, group, ok := strings.Cut(owned.Name, ".")
		if !ok {
			c.reportCSV(ruleCSVExamples, crdPointer("owned", i), "name %q: want PLURAL.GROUP", owned.Name)
			continue
		}
		kinds = append(kinds, declcfg.GVK{Group: group, Version: owned.Version, Kind: owned.Kind})
	}
	for _, owned := range c.csv.Spec.APIServiceDefinitions.Owned {
		kinds = append(kinds, declcfg.GVK{Group: owned.Group, Version: owned.Version, Kind: owned.Kind})
	}
	return kinds
}

func kindText(k declcfg.GVK) string {
	if k.Group == "" {
		return k.Version + " " + k.Kind
	}
	return k.Group + "/" + k.Version + " " + k.Kind
}

// checkRelatedImages checks the related images and the images of the containers of the operator, which also become
// related images. It reports images that the operator starts but that are not related images, so that no tool mirrors
// them.
func (c *checker) checkRelatedImages() {
	known := map[string]bool{}
	for i, image := range c.csv.Spec.RelatedImages {
		known[image.Image] = true
		ptr := place.Item("/spec/relatedImages", i)
		if image.Image == "" {
			c.reportCSV(ruleRelatedImageEmpty, ptr, "no image")
			continue
		}
		c.checkReference(ptr.AppendToken("image"), image.Image)
	}
	if image := c.csv.Annotations[annotationImage]; image != "" {
		if _, err := reference.CheckImage(image); err != nil {
			ptr := atAnnotations.AppendToken(annotationImage)
			c.reportCSV(ruleImageMention, ptr, "%q is not a valid image reference: %w", image, err)
		}
	}
	deployments := c.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		pod := &deployments[i].Spec.Template.Spec
		for _, container := range slices.Concat(pod.Containers, pod.InitContainers) {
			known[container.Image] = true
		}
	}
	for i := range deployments {
		ptr := place.Item("/spec/install/spec/deployments", i) + "/spec/template/spec"
		pod := &deployments[i].Spec.Template.Spec
		c.checkImages(ptr+"/containers", pod.Containers, known)
		c.checkImages(ptr+"/initContainers", pod.InitContainers, known)
	}
}

// checkReference checks an image that becomes a related image of the rendered bundle.
func (c *checker) checkReference(ptr jsontext.Pointer, image string) {
	if _, err := reference.CheckImage(image); err != nil {
		c.reportCSV(ruleImageReference, ptr, "%q is not a valid image reference: %w", image, err)
	}
}

func (c *checker) checkImages(ptr jsontext.Pointer, containers []corev1.Container, known map[string]bool) {
	for i := range containers {
		if image := containers[i].Image; image != "" {
			c.checkReference(place.Item(ptr, i)+"/image", image)
		}
		for j, v := range containers[i].Env {
			if !strings.HasPrefix(v.Name, envImagePrefix) || v.Value == "" || known[v.Value] {
				continue
			}
			at := place.Item(place.Item(ptr, i)+"/env", j) + "/value"
			if _, err := reference.CheckImage(v.Value); err != nil {
				c.reportCSV(ruleImageMention, at, "%s: %q is not a valid image reference: %w", v.Name, v.Value, err)
				continue
			}
			c.reportCSV(ruleRelatedImageEnv, at, "%s: image %q is not in relatedImages", v.Name, v.Value)
		}
	}
}

// checkServiceAccounts reports manifests of service accounts that OLM itself creates for the deployments of the
// operator.
func (c *checker) checkServiceAccounts() {
	made := make(map[string]bool)
	for i := range c.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		made[c.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[i].Spec.Template.Spec.ServiceAccountName] = true
	}
	for _, m := range c.manifests {
		if m.kind != "ServiceAccount" || m.apiVersion != "v1" {
			continue
		}
		var account struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if _, err := decode(m.printed, &account); err == nil && made[account.Metadata.Name] {
			c.reportAt(ruleServiceAccount, m.document, "/metadata/name",
				"OLM creates this account for %s", c.csvFile.file)
		}
	}
}

// The values by which users can filter on OperatorHub.io.
var (
	hubCapabilities = []string{"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}
	hubCategories   = []string{
		"AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Database", "Developer Tools",
		"Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring", "Networking",
		"Observability", "OpenShift Optional", "Security", "Storage", "Streaming & Messaging",
	}
	hubIcons = []string{"image/gif", "image/jpeg", "image/png", "image/svg+xml"}
)

// checkHub checks the fields that OperatorHub.io shows.
func (c *checker) checkHub() {
	spec := &c.csv.Spec
	if strings.TrimSpace(spec.Provider.Name) == "" {
		c.reportCSV(ruleHub, "/spec", "provider.name is required")
	}
	validAddress := func(text string) error {
		_, err := mail.ParseAddress(text)
		return err
	}
	for i, maintainer := range spec.Maintainers {
		c.checkContact(place.Item("/spec/maintainers", i), maintainer.Name, "email", maintainer.Email, validAddress)
	}
	validURL := func(text string) error {
		_, err := url.ParseRequestURI(text)
		return err
	}
	for i, link := range spec.Links {
		c.checkContact(place.Item("/spec/links", i), link.Name, "url", link.URL, validURL)
	}
	if spec.Version.Equals(semver.Version{}) {
		c.reportCSV(ruleHub, "/spec", "version is required")
	}
	c.checkIcon()
	c.checkHubAnnotations()
	c.checkHubAPIs()
}

func (c *checker) checkContact(ptr jsontext.Pointer, name, key, value string, valid func(string) error) {
	if name == "" || value == "" {
		c.reportCSV(ruleHub, ptr, "name and %s are required", key)
	}
	if value == "" {
		return
	}
	if err := valid(value); err != nil {
		c.reportCSV(ruleHub, ptr.AppendToken(key), "%w", err)
	}
}

func (c *checker) checkIcon() {
	icons := c.csv.Spec.Icon
	if icons == nil {
		c.reportCSV(ruleHubIcon, "/spec", "no icon")
		return
	}
	if len(icons) != 1 {
		c.reportCSV(ruleHub, "/spec/icon", "want one icon, found %d", len(icons))
		return
	}
	icon := icons[0]
	if icon.MediaType == "" || icon.Data == "" {
		c.reportCSV(ruleHub, "/spec/icon/0", "base64data and mediatype are required")
	}
	if icon.MediaType != "" && !slices.Contains(hubIcons, icon.MediaType) {
		c.reportCSV(ruleHub, "/spec/icon/0/mediatype", "%q: want one of %q", icon.MediaType, hubIcons)
	}
}

func (c *checker) checkHubAnnotations() {
	if level, ok := c.csv.Annotations["capabilities"]; ok && !slices.Contains(hubCapabilities, level) {
		c.reportCSV(ruleHub, "/metadata/annotations/capabilities", "%q: want one of %q", level, hubCapabilities)
	}
	known := hubCategories
	if c.opts.Categories != nil {
		known = c.opts.Categories
	}
	list, ok := c.csv.Annotations["categories"]
	if !ok {
		return
	}
	for category := range strings.SplitSeq(list, ",") {
		if category = strings.TrimSpace(category); !slices.Contains(known, category) {
			c.reportCSV(ruleHub, "/metadata/annotations/categories", "%q: want one of %q", category, known)
		}
	}
}
