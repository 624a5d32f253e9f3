package bundle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/skim"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A csv has the fields of a ClusterServiceVersion that a bundle is built from.
type csv struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec *struct {
		Version       string         `json:"version"`
		Release       release        `json:"release"`
		CRDs          apiLists       `json:"customresourcedefinitions"`
		APIServices   apiLists       `json:"apiservicedefinitions"`
		RelatedImages []relatedImage `json:"relatedImages"`
		Install       struct {
			Strategy string `json:"strategy"`
			Spec     struct {
				Deployments []struct {
					Spec appsv1.DeploymentSpec `json:"spec"`
				} `json:"deployments"`
			} `json:"spec"`
		} `json:"install"`
	} `json:"spec"`
}

// apiLists are the kinds of objects that an operator provides, and the kinds that it requires.
type apiLists struct {
	Owned    []apiReference `json:"owned"`
	Required []apiReference `json:"required"`
}

// An apiReference names a kind of object. Custom resources have no group but the one in their name, PLURAL.GROUP.
type apiReference struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func (r apiReference) gvk() declcfg.GVK {
	return declcfg.GVK{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

type relatedImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// A release is a string that authors may write as a number.
type release string

// UnmarshalJSON prints a number as upstream does.
func (r *release) UnmarshalJSON(value []byte) error {
	switch jsontext.Value(value).Kind() {
	case jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, value)
		*r = release(text)
		return err
	case jsontext.KindNumber:
		*r = release(numberText(string(value), 64))
		return nil
	case jsontext.KindNull:
		return nil
	}
	return errors.New("want text or a number")
}

// numberText formats a number as upstream does if it decodes the number into a string: as a float of that many bits.
func numberText(number string, bits int) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.ContainsAny(number, ".eE") {
		return number
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// decodeCSV decodes the fields of a ClusterServiceVersion. After an error it returns nil.
func (p *parser) decodeCSV(m *manifest) *csv {
	if ptr, err := strictCSV().check(m.printed); err != nil {
		p.fail(m.errorIn(ptr, err))
		return nil
	}
	spec := new(csv)
	if ptr, err := decode(m.printed, spec); err != nil {
		p.fail(m.errorIn(ptr, err))
		return nil
	}
	if spec.Spec == nil {
		p.fail(m.errorIn("", fmt.Errorf("the %s has no spec", kindCSV)))
		return nil
	}
	if spec.Metadata.Name == "" {
		p.warn(m.errorIn("/metadata", errors.New("no name, which is that of the bundle")))
	}
	return spec
}

// A definition has the fields of a CustomResourceDefinition that name the APIs of a bundle.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Version  string `json:"version"` // of v1beta1
		Versions []struct {
			Name string `json:"name"`
		} `json:"versions"`
	} `json:"spec"`
}

// A definedAPI is one version of a kind that a CustomResourceDefinition defines.
type definedAPI struct {
	declcfg.GVK
	plural string
}

// apis are the kinds of objects that a bundle provides and requires.
type apis struct {
	provided map[declcfg.GVK]bool
	required map[declcfg.GVKRequired]bool
}

// findAPIs returns the APIs of a bundle. Each owned custom resource needs a manifest that defines it; APIs of an API
// service do not.
func (p *parser) findAPIs(m *manifests, c *csv) *apis {
	all := &apis{make(map[declcfg.GVK]bool), make(map[declcfg.GVKRequired]bool)}
	defined, complete := make(map[definedAPI]bool), true
	for _, crd := range m.crds {
		switch {
		case crd.crdErr == nil:
			maps.Copy(defined, crd.definedAPIs())
		case crd.isKnownDefinition():
			p.fail(crd.crdErr)
			complete = false
		default:
			p.warn(crd.crdErr)
		}
	}
	for api := range defined {
		all.provided[api.GVK] = true
	}
	for i, owned := range c.Spec.CRDs.Owned {
		ptr := crdPointer("owned", i)
		if api, ok := p.customResource(m.csv, ptr, owned); ok && complete && !defined[api] {
			err := fmt.Errorf("couldn't find {%s %s %s %s} in bundle: no manifest defines %s, which %s owns",
				api.Group, api.Version, api.Kind, api.plural, owned.Name, c.Metadata.Name)
			p.fail(m.csv.errorIn(ptr, err))
		}
	}
	for i, required := range c.Spec.CRDs.Required {
		if api, ok := p.customResource(m.csv, crdPointer("required", i), required); ok {
			all.required[declcfg.GVKRequired(api.GVK)] = true
		}
	}
	for _, owned := range c.Spec.APIServices.Owned {
		all.provided[owned.gvk()] = true
	}
	for _, required := range c.Spec.APIServices.Required {
		all.required[declcfg.GVKRequired(required.gvk())] = true
	}
	return all
}

func crdPointer(list string, i int) jsontext.Pointer {
	return place.Item(jsontext.Pointer("/spec/customresourcedefinitions").AppendToken(list), i)
}

// atAnnotations points to the annotations of a ClusterServiceVersion.
const atAnnotations = jsontext.Pointer("/metadata/annotations")

// customResource returns the kind that r names.
func (p *parser) customResource(m *manifest, ptr jsontext.Pointer, r apiReference) (definedAPI, bool) {
	plural, group, ok := strings.Cut(r.Name, ".")
	if !ok {
		p.fail(m.errorIn(ptr, fmt.Errorf("name %q: want PLURAL.GROUP, as the definition of the kind is called", r.Name)))
	}
	return definedAPI{declcfg.GVK{Group: group, Version: r.Version, Kind: r.Kind}, plural}, ok
}

// isKnownDefinition reports whether the version of a CustomResourceDefinition is known.
func (m *manifest) isKnownDefinition() bool { return strictCRDs[m.version()] != nil }

// decodeDefinition decodes a CustomResourceDefinition into m.definition, or sets m.crdErr.
func (m *manifest) decodeDefinition() {
	if !m.isKnownDefinition() {
		m.crdErr = m.errorIn("/apiVersion", fmt.Errorf("a %s of version v1 or v1beta1 is known, no other", kindCRD))
		return
	}
	ptr, err := strictCRDs[m.version()]().check(m.printed)
	if err == nil {
		cursor := skim.New(m.printed)
		// As in upstream, the letter case of keys matters.
		err = json.Unmarshal(appendOutline(nil, &cursor), &m.definition)
	}
	if err != nil {
		m.crdErr = m.errorIn(ptr, err)
	}
}

// appendOutline appends the next value to dst without its schemas. They are most of a CustomResourceDefinition, and do
// not name its APIs.
func appendOutline(dst []byte, c *skim.Cursor) []byte {
	kind := c.Kind()
	if kind != '{' && kind != '[' {
		return append(dst, c.Value()...)
	}
	dst = append(dst, kind)
	separator := ""
	for c.Enter(); c.More(); {
		var name []byte
		if kind == '{' {
			name = c.Value()
		}
		if string(name) == `"schema"` || string(name) == `"validation"` {
			c.Skip()
			continue
		}
		dst = append(append(dst, separator...), name...)
		if kind == '{' {
			dst = append(dst, ':')
		}
		dst, separator = appendOutline(dst, c), ","
	}
	return append(dst, kind+2)
}

// definedAPIs returns the APIs that a CustomResourceDefinition defines.
func (m *manifest) definedAPIs() map[definedAPI]bool {
	defined := make(map[definedAPI]bool)
	spec := &m.definition.Spec
	add := func(version string) {
		defined[definedAPI{declcfg.GVK{Group: spec.Group, Version: version, Kind: spec.Names.Kind}, spec.Names.Plural}] = true
	}
	for _, v := range spec.Versions {
		add(v.Name)
	}
	if m.version() == "v1beta1" && spec.Version != "" {
		add(spec.Version)
	}
	return defined
}

// strategyDeployment is the only install strategy.
const strategyDeployment = "deployment"

// envImagePrefix is the prefix of the environment variables with the images that an operator uses.
const envImagePrefix = "RELATED_IMAGE_"

// relatedImages returns the images that a ClusterServiceVersion lists, the image of the bundle, and the images of the
// deployments, sorted by reference. The last two kinds have no name, and are skipped if an earlier image is equal. With
// env, the images of environment variables follow, with the names that the variables give them.
func relatedImages(c *csv, bundleImage string, env bool) []declcfg.RelatedImage {
	var list []declcfg.RelatedImage
	listed := make(map[string]bool)
	for _, image := range c.Spec.RelatedImages {
		list = append(list, declcfg.RelatedImage{Name: image.Name, Image: image.Image})
		listed[image.Image] = true
	}
	add := func(name, image string) {
		if !listed[image] {
			list = append(list, declcfg.RelatedImage{Name: name, Image: image})
			listed[image] = true
		}
	}
	if bundleImage != "" {
		add("", bundleImage)
	}
	if install := &c.Spec.Install; install.Strategy == strategyDeployment {
		var variables []corev1.EnvVar
		for i := range install.Spec.Deployments {
			pod := &install.Spec.Deployments[i].Spec.Template.Spec
			for _, container := range slices.Concat(pod.Containers, pod.InitContainers) {
				add("", container.Image)
				variables = append(variables, container.Env...)
			}
		}
		for _, v := range variables {
			if name, ok := strings.CutPrefix(v.Name, envImagePrefix); ok && env && v.Value != "" {
				add(strings.ToLower(strings.ReplaceAll(name, "_", "-")), v.Value)
			}
		}
	}
	SortRelatedImages(list)
	return list
}

// SortRelatedImages sorts by reference and orders equal ones as opm does: by sort.Slice, which depends on their order
// in a list of more than twelve. Go generates it and [slices.SortFunc] from one template.
func SortRelatedImages(list []declcfg.RelatedImage) {
	slices.SortFunc(list, func(a, b declcfg.RelatedImage) int { return strings.Compare(a.Image, b.Image) })
}

// imageRef executes a template for the image reference of b. The template may use {{.Package}}, {{.Name}} and
// {{.Version}}, the version in the property olm.package; another field is an error.
func imageRef(tmpl *template.Template, b *declcfg.Bundle) (string, error) {
	data := struct{ Package, Name, Version string }{Package: b.Package, Name: b.Name}
	for i := range b.Properties {
		if b.Properties[i].Type == declcfg.PropertyPackage {
			var pkg declcfg.PackageProperty
			if err := b.Properties[i].Unmarshal(&pkg); err != nil {
				return "", err
			}
			data.Version = pkg.Version
			break
		}
	}
	var ref strings.Builder
	if err := tmpl.Execute(&ref, data); err != nil {
		return "", fmt.Errorf("make image reference: %w", err)
	}
	return ref.String(), nil
}
