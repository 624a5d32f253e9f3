package bundle

import (
	"fmt"
	"slices"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// strategyDeployment is the one install strategy that there is.
const strategyDeployment = "deployment"

// envImagePrefix begins the names of environment variables from which an operator knows the images that it uses.
const envImagePrefix = "RELATED_IMAGE_"

// relatedImages returns the images that a ClusterServiceVersion lists, that of the bundle, and those of its
// deployments, sorted by reference. The latter two have no name, and are skipped if an earlier one is equal. With
// env, images of environment variables follow, with the names that these give them.
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

// ImageRef returns the reference of the image of b that tmpl makes, which may use {{.Package}}, {{.Name}} and
// {{.Version}}, the version being that of the property of type olm.package. It fails if tmpl uses another field.
func ImageRef(tmpl *template.Template, b *declcfg.Bundle) (string, error) {
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
