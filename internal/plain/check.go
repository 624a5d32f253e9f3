package plain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/installmode"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// check returns an error with the reasons for which OLM refuses a bundle. It checks the features that the bundle uses
// first, and the options last.
func check(b *bundle.Contents, opts Options) error {
	c := &checker{Contents: b}
	for _, checks := range [][]func(){
		{func() { c.checkSupported(opts) }},
		{
			c.checkDeployments, c.checkDefinitions, c.checkWebhooks, c.checkOthers,
		},
		{func() { c.checkWatchNamespace(opts) }},
	} {
		for _, check := range checks {
			check()
		}
		if c.errs != nil {
			return declcfg.JoinErrors(c.errs)
		}
	}
	return nil
}

// CheckDependencies returns an error that joins a [*declcfg.Error] for each dependency of a bundle. OLM v1 refuses a
// bundle with a dependency after it has resolved to it, before it generates any object.
func CheckDependencies(b *bundle.Contents) error {
	var errs []error
	for _, d := range b.Dependencies {
		errs = append(errs, d.Error(fmt.Errorf("validating bundle %q: bundle %[1]q has a dependency declared via "+
			"property %q which is currently not supported", b.CSV.Name, d.Property)))
	}
	return declcfg.JoinErrors(errs)
}

// A checker collects the reasons why OLM refuses a bundle, in the words of OLM.
type checker struct {
	*bundle.Contents
	errs []error
}

// refuse adds a reason, which is about the value at ptr of the ClusterServiceVersion.
func (c *checker) refuse(ptr jsontext.Pointer, format string, args ...any) {
	c.refuseObject(c.CSV, ptr, format, args...)
}

func (c *checker) refuseObject(object any, ptr jsontext.Pointer, format string, args ...any) {
	c.errs = append(c.errs, c.ErrorIn(object, ptr, fmt.Errorf(format, args...)))
}

// The places of lists in a ClusterServiceVersion.
const (
	atModes       = jsontext.Pointer("/spec/installModes")
	atAPIServices = jsontext.Pointer("/spec/apiservicedefinitions/owned")
	atOwned       = jsontext.Pointer("/spec/customresourcedefinitions/owned")
	atWebhooks    = jsontext.Pointer("/spec/webhookdefinitions")
	atDeployments = jsontext.Pointer("/spec/install/spec/deployments")
)

func element(list jsontext.Pointer, i int) jsontext.Pointer { return list.AppendToken(strconv.Itoa(i)) }

// modes returns the install modes that a bundle supports, in the order of OLM's messages.
func (c *checker) modes() []string {
	var modes []string
	for _, m := range c.CSV.Spec.InstallModes {
		if m.Supported {
			modes = append(modes, string(m.Type))
		}
	}
	slices.Sort(modes)
	return slices.Compact(modes)
}

// checkSupported checks that OLM v1 supports the features of the bundle.
func (c *checker) checkSupported(opts Options) {
	if len(c.CSV.Spec.APIServiceDefinitions.Owned) > 0 {
		c.refuse(atAPIServices, "unsupported bundle: apiServiceDefintions are not supported")
	}
	if len(c.CSV.Spec.WebhookDefinitions) > 0 && opts.Certificates == "" {
		c.refuse(atWebhooks, "unsupported bundle: webhookDefinitions are not supported: certificate provider is nil")
	}
	if err := installmode.Of(c.modes()...).Check(opts.Watch != ""); err != nil {
		c.refuse(atModes, "%w", err)
	}
}

func (c *checker) checkWatchNamespace(opts Options) {
	if opts.Watch == "" {
		return
	}
	config, err := json.Marshal(map[string]string{"watchNamespace": opts.Watch})
	if err == nil {
		err = installmode.Of(c.modes()...).CheckConfig(config, opts.Namespace)
	}
	if err != nil {
		c.refuse(atModes, "%w", err)
	}
}

func (c *checker) checkDeployments() {
	seen := map[string]bool{}
	for i, d := range c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if seen[d.Name] {
			c.refuse(element(atDeployments, i),
				"cluster service version contains duplicate strategy deployment spec '%s'", d.Name)
		}
		seen[d.Name] = true
		if errs := validation.IsDNS1123Subdomain(d.Name); len(errs) > 0 {
			c.refuse(element(atDeployments, i), "invalid cluster service version strategy deployment name '%s': %s",
				d.Name, strings.Join(errs, ", "))
		}
	}
}

func (c *checker) checkDefinitions() {
	seen := map[string]bool{}
	for _, crd := range c.CRDs {
		if seen[crd.Name] {
			c.refuseObject(crd, "", "bundle contains duplicate custom resource definition '%s'", crd.Name)
		}
		seen[crd.Name] = true
	}
	for i, owned := range c.CSV.Spec.CustomResourceDefinitions.Owned {
		if !seen[owned.Name] {
			c.refuse(element(atOwned, i),
				"cluster service definition references owned custom resource definition '%s' not found in bundle", owned.Name)
		}
	}
}

// checkWebhooks checks the install modes of conversion webhooks, every webhook, and the definitions that they convert.
func (c *checker) checkWebhooks() {
	converted := map[string]bool{}
	modes := c.modes()
	for i, w := range c.CSV.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook {
			continue
		}
		if !slices.Equal(modes, []string{string(v1alpha1.InstallModeTypeAllNamespaces)}) {
			c.refuse(element(atWebhooks, i), "bundle contains conversion webhook %q and supports install modes %v - conversion "+
				"webhooks are only supported for bundles that only support AllNamespaces install mode", w.GenerateName, modes)
		}
		for _, name := range w.ConversionCRDs {
			converted[name] = true
		}
	}
	for _, err := range operator.CheckWebhooksV1(c.CSV) {
		c.refuse(element(atWebhooks, err.Index), "%w", err.Err)
	}
	for _, crd := range c.CRDs {
		if converted[crd.Name] && crd.Spec.PreserveUnknownFields {
			c.refuseObject(crd, "/spec/preserveUnknownFields", "custom resource definition '%s' must have "+
				".spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion", crd.Name)
		}
	}
}

func (c *checker) checkOthers() {
	for _, o := range c.Others {
		if _, ok := bundle.Installable(o.GetKind()); !ok {
			c.refuseObject(o, "/kind", "bundle contains unsupported resource: Name: %s, Kind: %s", o.GetName(), o.GetKind())
		}
		if err := bundle.CheckAPIVersion(o.GetAPIVersion(), o.GetKind()); err != nil {
			c.refuseObject(o, "/apiVersion", "%w", err)
		}
	}
}

// BlocksOpenShift returns the reason why OpenShift cannot be updated from the current version to the next minor version
// while the bundle is installed, nil if it can be updated. The reason is the property olm.maxOpenShiftVersion, which
// may be invalid.
func BlocksOpenShift(c *bundle.Contents, current platform.Version) *declcfg.Error {
	const annotation = "olm.properties"
	var properties []struct {
		Type  string         `json:"type"`
		Value jsontext.Value `json:"value"`
	}
	blocks := func(format string, args ...any) *declcfg.Error {
		at := jsontext.Pointer("/metadata/annotations").AppendToken(annotation)
		return c.ErrorIn(c.CSV, at, fmt.Errorf("OpenShift %s cannot be updated to the next minor version: %w",
			current, fmt.Errorf(format, args...)))
	}
	if text := c.CSV.Annotations[annotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &properties); err != nil {
			return blocks("%w", err)
		}
	}
	var values []jsontext.Value
	for _, p := range properties {
		if p.Type == declcfg.PropertyMaxOpenShiftVersion {
			values = append(values, p.Value)
		}
	}
	switch last, err := platform.MaxOpenShiftV1(values); {
	case err != nil:
		return blocks("%w", err)
	case last != nil && !last.After(current):
		return blocks("the %s is %s", declcfg.PropertyMaxOpenShiftVersion, last)
	}
	return nil
}
