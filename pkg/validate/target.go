package validate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// v1Rules are the rules about OLM v1 only.
var v1Rules = []*problem.Rule{ruleV1Dependency, rulePrereleaseWinner, ruleUpdateV1, ruleUpdatesDiffer}

// fitTarget disables the rules about OLM v1 if the target does not have it. It resets a target that no enabled rule
// needs.
func (v *validator) fitTarget() {
	if v.opts.Target.OLMv1 == platform.OLMv1Absent {
		for _, r := range v1Rules {
			v.off[r.Name] = true
		}
	}
	if !slices.ContainsFunc(targetRules.Rules, func(r *problem.Rule) bool { return !v.isOff(r) }) {
		v.opts.Target = platform.Platform{}
	}
}

// needs are the requirements of a bundle on a platform. They do not depend on the target, so that catalogs for several
// platforms can share them.
type needs struct {
	objects, metadata bool              // the forms of its metadata
	last              *platform.Version // olm.maxOpenShiftVersion; nil if it has none or is invalid
	releases          string            // the annotation [platform.AnnotationVersions]
	releasesAt        jsontext.Pointer  // to the value of the property that it is in
	removed           []manifestAPI     // manifests of APIs that a version of Kubernetes removed

	partlyRead map[string]jsontext.Pointer // places of the parts that not every OLM reads; see [platform.Platform.Unread]
}

// A manifestAPI is the API of a manifest.
type manifestAPI struct {
	at            jsontext.Pointer // to the value of the property
	version, kind string
}

// needsOf reads the requirements of a bundle. It ignores invalid properties, which other rules report.
func needsOf(b *declcfg.Bundle) *needs {
	n := new(needs)
	for i := range b.Properties {
		p, at := &b.Properties[i], place.Item("/properties", i)
		switch p.Type {
		case declcfg.PropertyCSVMetadata:
			n.metadata = true
			c := skim.New(p.Value)
			n.releases, n.releasesAt = releasesIn(&c), at+"/value"
		case declcfg.PropertyBundleObject:
			n.objects = true
			n.manifest(at+"/value", p)
		case declcfg.PropertyMaxOpenShiftVersion:
			n.last, _ = platform.MaxOpenShift([]jsontext.Value{p.Value})
		case declcfg.PropertyPackage:
			var value declcfg.PackageProperty
			if p.Unmarshal(&value) == nil && value.Release != "" {
				n.addPartlyRead(platform.BundleRelease, at+"/value/release")
			}
		}
		if platform.PartlyRead(p.Type) {
			n.addPartlyRead(p.Type, at+"/type")
		}
	}
	return n
}

func (n *needs) addPartlyRead(name string, at jsontext.Pointer) {
	if n.partlyRead == nil {
		n.partlyRead = map[string]jsontext.Pointer{}
	}
	n.partlyRead[strings.Clone(name)] = at
}

func (n *needs) manifest(at jsontext.Pointer, p *declcfg.Property) {
	var object declcfg.BundleObject
	if p.Unmarshal(&object) != nil {
		return
	}
	manifest, err := object.JSON()
	if err != nil {
		return
	}
	api, releases, c := manifestAPI{at: at}, "", skim.New(manifest)
	eachMember(&c, func(name []byte) bool {
		switch string(name) {
		case "apiVersion":
			api.version = text(&c)
		case "kind":
			api.kind = text(&c)
		case "metadata":
			metadata := skim.New(c.Value())
			releases = releasesIn(&metadata)
		}
		return true
	})
	if _, removed := platform.RemovedIn(api.version, api.kind); removed {
		n.removed = append(n.removed, api)
	}
	if api.kind == declcfg.KindCSV {
		n.releases, n.releasesAt = releases, at
	}
}

// releasesIn returns the annotation [platform.AnnotationVersions] in the next object of c: olm.csv.metadata, or the
// metadata of a ClusterServiceVersion. It does not read the members after the annotations, which are usually the first
// of very many.
func releasesIn(c *skim.Cursor) (releases string) {
	eachMember(c, func(name []byte) bool {
		if string(name) != "annotations" {
			return true
		}
		eachMember(c, func(name []byte) bool {
			if string(name) == platform.AnnotationVersions {
				releases = text(c)
			}
			return true
		})
		return false
	})
	return releases
}

// eachMember calls visit for each member of the next object of c, with the cursor before its value, until visit returns
// false. It skips a value that visit does not read, and a value that is not an object.
func eachMember(c *skim.Cursor, visit func(name []byte) bool) {
	if c.Kind() != '{' {
		c.Skip()
		return
	}
	for c.Enter(); c.More(); {
		name := skim.Unquote(c.Value())
		c.Kind()
		start := c.Offset()
		if !visit(name) {
			return
		}
		if c.Offset() == start {
			c.Skip()
		}
	}
}

// text reads a string. It returns "" for any other value.
func text(c *skim.Cursor) string {
	if value := c.Value(); value.Kind() == jsontext.KindString {
		return string(skim.Unquote(value))
	}
	return ""
}

func (r *relations) target(p *declcfg.PackageIndex) {
	target := r.validator.opts.Target
	if target == (platform.Platform{}) {
		return
	}
	var form []*declcfg.Meta
	ignored := map[string][]*declcfg.Meta{} // by what is not read
	for _, b := range p.Bundles {
		n := r.needs[b.Meta.Key()]
		if n == nil { // it could not be decoded
			continue
		}
		if target.Metadata == declcfg.PropertyBundleObject && n.metadata && !n.objects ||
			target.Metadata == declcfg.PropertyCSVMetadata && n.objects && !n.metadata {
			form = append(form, b.Meta)
		}
		for name := range n.partlyRead {
			if target.Unread(name) != "" {
				ignored[name] = append(ignored[name], b.Meta)
			}
		}
		r.bundleTarget(b.Meta, n)
	}
	if len(form) > 0 {
		r.of(form[0]).add(ruleTargetForm, "/properties", "%d of %d bundles do not have %s, which %s reads, first %q",
			len(form), len(p.Bundles), target.Metadata, target, form[0].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(ignored)) {
		all := ignored[name]
		at := r.needs[all[0].Key()].partlyRead[name]
		r.of(all[0]).add(ruleTargetIgnored, at, "%d of %d bundles have %s, which %s, first %q",
			len(all), len(p.Bundles), name, target.Unread(name), all[0].Name)
	}
	for _, d := range p.Deprecations {
		if target.Unread(declcfg.SchemaDeprecations) != "" {
			r.of(d.Meta).add(ruleTargetIgnored, "/schema", "the OLM of %s does not read %s",
				target, declcfg.SchemaDeprecations)
		}
	}
}

// bundleTarget checks the requirements of a bundle, whether or not it is a head.
func (r *relations) bundleTarget(m *declcfg.Meta, n *needs) {
	target := r.validator.opts.Target
	for _, api := range n.removed {
		if removed, _ := platform.RemovedIn(api.version, api.kind); !removed.After(target.Kubernetes) {
			r.of(m).add(ruleTargetAPI, api.at, "a manifest is a %s of %s, which Kubernetes %s removed; %s",
				api.kind, api.version, removed, kubernetesOf(target))
		}
	}
	if n.releases == "" || target.OpenShift == (platform.Version{}) {
		return
	}
	const name = platform.AnnotationVersions
	switch supported, err := platform.ParseSupported(n.releases); {
	case err != nil:
		r.of(m).add(ruleTargetReleases, n.releasesAt, "the annotation %s is invalid: %v", name, err)
	case !supported.Contains(target.OpenShift):
		r.of(m).add(ruleTargetReleases, n.releasesAt, "the annotation %s is %q, so the bundle is not for %s",
			name, n.releases, target)
	}
}

// A head is a bundle that new users of a channel install.
type head struct {
	channel *declcfg.Meta
	at      jsontext.Pointer // to its name in the channel
	bundle  *declcfg.Meta
}

// heads checks the heads of all channels. Their bundles are read again, because looking for the minKubeVersion of every
// bundle would take a fifth of the time of a whole validation.
func (r *relations) heads(ctx context.Context) {
	if r.validator.opts.Target == (platform.Platform{}) {
		return
	}
	var heads []head
	for p := range r.index.Each() {
		heads = append(heads, headsOf(p)...)
	}
	minimum := func(h head) string {
		if b, err := h.bundle.Decode(); err == nil { // it was decoded before
			return minKubeVersion(b.(*declcfg.Bundle))
		}
		return ""
	}
	i := 0
	for kubernetes := range parallel.Map(ctx, 0, slices.Values(heads), minimum) {
		r.head(heads[i], kubernetes)
		i++
	}
}

// minKubeVersion returns the minKubeVersion of a bundle, or "" if it has none.
func minKubeVersion(b *declcfg.Bundle) (version string) {
	i := slices.IndexFunc(b.Properties, func(p declcfg.Property) bool { return p.Type == declcfg.PropertyCSVMetadata })
	if i < 0 {
		return b.CSVMetadata().MinKubeVersion
	}
	c := skim.New(b.Properties[i].Value)
	eachMember(&c, func(name []byte) bool {
		if string(name) == "minKubeVersion" {
			version = text(&c)
		}
		return version == ""
	})
	return version
}

func headsOf(p *declcfg.PackageIndex) (heads []head) {
	bundles := make(map[string]*declcfg.Meta, len(p.Bundles))
	for _, b := range p.Bundles {
		if b.Value != nil {
			bundles[b.Meta.Name] = b.Meta
		}
	}
	for _, c := range p.Channels {
		if c.Value == nil {
			continue
		}
		g := graph.New(c.Value.Entries)
		for _, name := range g.Heads() {
			if b := bundles[name]; b != nil {
				heads = append(heads, head{c.Meta, place.Item("/entries", g.Index(name)) + "/name", b})
			}
		}
	}
	return heads
}

// head checks a head with a minKubeVersion, which may be "".
func (r *relations) head(h head, kubernetes string) {
	target := r.validator.opts.Target
	if n := r.needs[h.bundle.Key()]; n != nil && n.last != nil && target.OpenShift.After(*n.last) {
		r.of(h.channel).add(ruleTargetMaxOpenShift, h.at, "the head %q is for OpenShift up to %s (%s), not for %s",
			h.bundle.Name, n.last, declcfg.PropertyMaxOpenShiftVersion, target)
	}
	if kubernetes == "" {
		return
	}
	rule := ruleTargetMinKubernetes
	least, err := declcfg.ParseVersion(strings.TrimPrefix(kubernetes, "v"), "")
	if err != nil {
		r.of(h.channel).add(rule, h.at, "the minKubeVersion %q of the head %q is not a version", kubernetes, h.bundle.Name)
		return
	}
	minor := platform.Version{Major: least.Semver.Major, Minor: least.Semver.Minor}
	if minor.After(target.Kubernetes) {
		r.of(h.channel).add(rule, h.at, "the head %q needs Kubernetes %s (minKubeVersion); %s",
			h.bundle.Name, kubernetes, kubernetesOf(target))
	}
}

// kubernetesOf describes the Kubernetes version of a platform.
func kubernetesOf(p platform.Platform) string {
	if p.OpenShift == (platform.Version{}) {
		return fmt.Sprintf("the target is %s", p)
	}
	return fmt.Sprintf("%s has Kubernetes %s", p, p.Kubernetes)
}

var targetRules = &problem.Group{Title: "Target platform", Rules: []*problem.Rule{
	ruleTargetForm, ruleTargetAPI, ruleTargetMinKubernetes, ruleTargetMaxOpenShift, ruleTargetReleases,
	ruleTargetIgnored,
}}

var (
	ruleTargetForm = &problem.Rule{Name: "target-form", Severity: problem.Warning,
		Summary: "bundles have their metadata in the form that the target reads",
		Reason: "Registries of OpenShift before 4.17 read olm.bundle.object only, so consoles show nothing about a bundle " +
			"without it. Catalogs for later releases have olm.csv.metadata, which is much smaller.",
		Fix: "render the bundles again with --target"}
	ruleTargetAPI = &problem.Rule{Name: "target-api", Severity: problem.Warning,
		Summary: "the target has the APIs of manifests",
		Reason: "The installation of a bundle fails if Kubernetes removed the API of one of its manifests. Only manifests " +
			"in olm.bundle.object are in a catalog; opm bundle validate checks all.",
		Fix: "do not offer the bundle on this platform, or release one with newer APIs"}
	ruleTargetMinKubernetes = &problem.Rule{Name: "target-min-kubernetes", Severity: problem.Warning,
		Summary: "heads of channels can be installed on the Kubernetes of the target",
		Reason:  "OLM Classic does not install a ClusterServiceVersion whose minKubeVersion is higher, or not a version.",
		Fix:     "do not offer the bundle on this platform"}
	ruleTargetMaxOpenShift = &problem.Rule{Name: "target-max-openshift", Severity: problem.Warning,
		Summary: "heads of channels support the release of OpenShift",
		Reason: "The property olm.maxOpenShiftVersion names the last release that the bundle supports. Clusters with the " +
			"bundle cannot be upgraded to later ones.",
		Fix: "add a release that supports it, or remove the channel from the catalog"}
	ruleTargetReleases = &problem.Rule{Name: "target-releases", Severity: problem.Warning,
		Summary: "bundles are in the catalogs of the releases that they name",
		Reason: "The annotation com.redhat.openshift.versions names the releases of OpenShift that the bundle supports. " +
			"Pipelines choose its catalogs by it. It is in a catalog only if the ClusterServiceVersion has it.",
		Fix: "remove the bundle from this catalog, or correct the annotation"}
	ruleTargetIgnored = &problem.Rule{Name: "target-ignored", Severity: problem.Info,
		Summary: "the OLM of the target reads all properties and deprecations",
		Reason: "OLM reads olm.deprecations since OpenShift 4.15, olm.maxOpenShiftVersion on OpenShift only, a release in " +
			"olm.package only with a feature gate that is off, and olm.deprecated and olm.label.required in OLM Classic " +
			"only. What it ignores has no effect."}
)
