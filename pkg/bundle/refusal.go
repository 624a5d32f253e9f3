package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/installmode"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// V1Options describe an OLM v1. The zero value has the default feature gates and accepts webhooks.
type V1Options struct {
	SingleOwnNamespace bool // the feature gate SingleOwnNamespaceInstallSupport
	NoWebhooks         bool // without a provider of certificates, it refuses webhooks

	// Kubernetes is the version of the cluster, which may have removed APIs of manifests; zero if it is not known.
	Kubernetes platform.Version
}

// A RefusalKind is the part of a bundle for which OLM v1 refuses it.
type RefusalKind string

// The kinds of refusals, in the order in which OLM v1 checks the parts.
const (
	RefusedDependency   RefusalKind = "dependency"
	RefusedManifest     RefusalKind = "manifest" // it cannot be decoded, OLM v1 does not apply it, or no package is named
	RefusedAPIService   RefusalKind = "api-service"
	RefusedWebhook      RefusalKind = "webhook"
	RefusedInstallModes RefusalKind = "install-modes"
	RefusedDeployment   RefusalKind = "deployment"
	RefusedDefinition   RefusalKind = "definition"
)

// A Refusal is a reason why OLM v1 does not install a bundle.
type Refusal struct {
	Kind RefusalKind
	Err  error // in the words of OLM

	// Pointer leads to the value: in its file or, for a bundle of a catalog, in the object of the catalog.
	Pointer jsontext.Pointer

	doc   placer // nil for a bundle of a catalog
	stage int    // OLM v1 reports the refusals of one stage only
}

// At returns the error about the value, with its place. It must not be called for a bundle of a catalog.
func (r Refusal) At() *declcfg.Error { return r.doc.errorIn(r.Pointer, r.Err) }

// The stages in which OLM v1 checks a bundle.
const (
	stageResolve  = iota // before it reads the image
	stageRead            // when it decodes the manifests
	stageSupport         // when it looks for features that it does not have
	stageValidate        // when it validates the bundle
	stageApply           // by the API server
)

// Reported returns the refusals that OLM v1 reports: those of the first stage with any.
func Reported(all []Refusal) []Refusal {
	isLater := func(r Refusal) bool { return r.stage != all[0].stage }
	return slices.DeleteFunc(slices.Clone(all), isLater)
}

// Refusals returns every reason why an OLM v1 does not install the bundle, in the order of its checks, as far as the
// contents show it; see Partial. They do not depend on the configuration of a ClusterExtension.
func (c *Contents) Refusals(o V1Options) []Refusal {
	j := &judge{Contents: c, V1Options: o}
	for stage, checks := range [][]func(){
		stageResolve:  {j.checkDependencies},
		stageRead:     {j.checkRead},
		stageSupport:  {j.checkAPIServices, j.checkWebhookSupport, j.checkModes},
		stageValidate: {j.checkDeployments, j.checkDefinitions, j.checkPackage, j.checkWebhooks, j.checkKinds},
		stageApply:    {j.checkRemovedAPIs},
	} {
		j.stage = stage
		for _, check := range checks {
			check()
		}
		if stage == stageRead && j.unreadableCSV || stage == stageSupport && j.unreadable != nil {
			break // the rest is not known
		}
	}
	return j.refusals
}

// A judge collects the refusals of a bundle.
type judge struct {
	*Contents
	V1Options
	stage    int
	refusals []Refusal
}

// refuse adds a refusal for the value at ptr of the ClusterServiceVersion.
func (j *judge) refuse(kind RefusalKind, ptr jsontext.Pointer, format string, args ...any) {
	j.refuseObject(kind, j.CSV, ptr, format, args...)
}

func (j *judge) refuseObject(kind RefusalKind, object any, ptr jsontext.Pointer, format string, args ...any) {
	r := Refusal{Kind: kind, Err: fmt.Errorf(format, args...), Pointer: ptr, stage: j.stage}
	switch m := j.files[object]; {
	case object == nil:
		r.doc = j.annotations
	case m != nil:
		r.doc = m
	default:
		r.Pointer = j.properties[object].pointer(ptr)
	}
	j.refusals = append(j.refusals, r)
}

// The places of lists in a ClusterServiceVersion.
const (
	atModes       = jsontext.Pointer("/spec/installModes")
	atAPIServices = jsontext.Pointer("/spec/apiservicedefinitions/owned")
	atOwned       = jsontext.Pointer("/spec/customresourcedefinitions/owned")
	atWebhooks    = jsontext.Pointer("/spec/webhookdefinitions")
	atDeployments = jsontext.Pointer("/spec/install/spec/deployments")
)

func (j *judge) checkDependencies() {
	for _, d := range j.Dependencies {
		j.refusals = append(j.refusals, Refusal{
			Kind: RefusedDependency, Pointer: d.ptr, doc: d.doc, stage: j.stage,
			Err: &graph.RefusalError{Bundle: &graph.Bundle{Name: j.CSV.Name, Dependency: d.Property}},
		})
	}
}

func (j *judge) checkRead() {
	for _, r := range j.unreadable {
		r.stage = j.stage
		j.refusals = append(j.refusals, r)
	}
}

func (j *judge) checkAPIServices() {
	if len(j.CSV.Spec.APIServiceDefinitions.Owned) > 0 {
		const message = "unsupported bundle: apiServiceDefintions are not supported" // OLM's spelling
		j.refuse(RefusedAPIService, atAPIServices, message)
	}
}

func (j *judge) checkWebhookSupport() {
	if len(j.CSV.Spec.WebhookDefinitions) > 0 && j.NoWebhooks {
		j.refuse(RefusedWebhook, atWebhooks,
			"unsupported bundle: webhookDefinitions are not supported: certificate provider is nil")
	}
}

func (j *judge) checkModes() {
	if j.Partial && len(j.CSV.Spec.InstallModes) == 0 {
		return // a bundle has some
	}
	if err := j.InstallModes().Check(j.SingleOwnNamespace); err != nil {
		j.refuse(RefusedInstallModes, atModes, "%w", err)
	}
}

// modes returns the supported install modes, in the order of OLM's messages.
func (c *Contents) modes() []string {
	var modes []string
	for _, m := range c.CSV.Spec.InstallModes {
		if m.Supported {
			modes = append(modes, string(m.Type))
		}
	}
	slices.Sort(modes)
	return slices.Compact(modes)
}

// InstallModes returns the supported install modes, all of them for a bundle of a catalog that lists none.
func (c *Contents) InstallModes() installmode.Modes {
	if c.Partial && len(c.CSV.Spec.InstallModes) == 0 {
		return installmode.Modes{All: true, Own: true, Single: true}
	}
	return installmode.Of(c.modes()...)
}

func (j *judge) checkDeployments() {
	seen := map[string]bool{}
	for i, d := range j.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if seen[d.Name] {
			j.refuse(RefusedDeployment, place.Item(atDeployments, i),
				"cluster service version contains duplicate strategy deployment spec '%s'", d.Name)
		}
		seen[d.Name] = true
		if errs := validation.IsDNS1123Subdomain(d.Name); len(errs) > 0 {
			j.refuse(RefusedDeployment, place.Item(atDeployments, i),
				"invalid cluster service version strategy deployment name '%s': %s", d.Name, strings.Join(errs, ", "))
		}
	}
}

func (j *judge) checkDefinitions() {
	if j.Partial {
		return
	}
	seen := map[string]bool{}
	for _, crd := range j.CRDs {
		if seen[crd.Name] {
			j.refuseObject(RefusedDefinition, crd, "",
				"bundle contains duplicate custom resource definition '%s'", crd.Name)
		}
		seen[crd.Name] = true
	}
	for i, owned := range j.CSV.Spec.CustomResourceDefinitions.Owned {
		if !seen[owned.Name] {
			j.refuse(RefusedDefinition, place.Item(atOwned, i), "cluster service definition references owned custom "+
				"resource definition '%s' not found in bundle", owned.Name)
		}
	}
}

// checkPackage checks that the annotations name a package. A bundle of a catalog has one.
func (j *judge) checkPackage() {
	if j.annotations != nil && j.Package == "" {
		j.refuseObject(RefusedManifest, nil, "/annotations", "package name is empty")
	}
}

// checkWebhooks checks the install modes of conversion webhooks, every webhook, and the definitions that they convert.
func (j *judge) checkWebhooks() {
	converted := map[string]bool{}
	modes := j.modes()
	for i, w := range j.CSV.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook {
			continue
		}
		if !slices.Equal(modes, []string{string(v1alpha1.InstallModeTypeAllNamespaces)}) {
			j.refuse(RefusedWebhook, place.Item(atWebhooks, i),
				"bundle contains conversion webhook %q and supports install modes %v - conversion webhooks are only "+
					"supported for bundles that only support AllNamespaces install mode", w.GenerateName, modes)
		}
		for _, name := range w.ConversionCRDs {
			converted[name] = true
		}
	}
	for _, err := range operator.CheckWebhooksV1(j.CSV) {
		j.refuse(RefusedWebhook, place.Item(atWebhooks, err.Index), "%w", err.Err)
	}
	for _, crd := range j.CRDs {
		if converted[crd.Name] && crd.Spec.PreserveUnknownFields {
			j.refuseObject(RefusedDefinition, crd, "/spec/preserveUnknownFields", "custom resource definition '%s' "+
				"must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the "+
				"conversion", crd.Name)
		}
	}
}

func (j *judge) checkKinds() {
	for _, o := range j.Others {
		if _, ok := Installable(o.GetKind()); !ok {
			j.refuseObject(RefusedManifest, o, "/kind",
				"unsupported resource %q with kind %q", o.GetName(), o.GetKind())
		}
		if err := checkAPIVersion(o.GetAPIVersion(), o.GetKind()); err != nil {
			j.refuseObject(RefusedManifest, o, "/apiVersion", "%w", err)
		}
	}
}

// checkRemovedAPIs checks that the cluster still serves the APIs of the manifests.
func (j *judge) checkRemovedAPIs() {
	if j.Kubernetes == (platform.Version{}) {
		return
	}
	for _, o := range j.Others {
		removed, ok := platform.RemovedIn(o.GetAPIVersion(), o.GetKind())
		if ok && !removed.After(j.Kubernetes) {
			j.refuseObject(RefusedManifest, o, "/apiVersion", "no matches for kind %q in version %q: Kubernetes %s "+
				"removed it", o.GetKind(), o.GetAPIVersion(), removed)
		}
	}
}
