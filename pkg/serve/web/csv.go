package web

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// lenient is how opm reads the JSON of others.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), json.MatchCaseInsensitiveNames(true))

// csvOf returns what the ClusterServiceVersion of a bundle says to people, whether the bundle has it as metadata or
// among its manifests. Where it is in neither, or cannot be read, it is empty.
func csvOf(b *declcfg.Bundle) *declcfg.CSVMetadata {
	for i := range b.Properties {
		var csv *declcfg.CSVMetadata
		switch b.Properties[i].Type {
		case declcfg.PropertyCSVMetadata:
			csv = new(declcfg.CSVMetadata)
			if b.Properties[i].Unmarshal(csv) != nil {
				csv = nil
			}
		case declcfg.PropertyBundleObject:
			csv = csvOfManifest(&b.Properties[i])
		}
		if csv != nil {
			return csv
		}
	}
	return &declcfg.CSVMetadata{}
}

// csvOfManifest returns what a manifest says, or nil where it is no ClusterServiceVersion.
func csvOfManifest(p *declcfg.Property) *declcfg.CSVMetadata {
	var object declcfg.BundleObject
	if p.Unmarshal(&object) != nil {
		return nil
	}
	manifest, err := object.JSON()
	var csv struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			declcfg.CSVMetadata
			APIs declcfg.APIServiceDefinitions `json:"apiservicedefinitions"`
			CRDs declcfg.CRDDescriptions       `json:"customresourcedefinitions"`
		} `json:"spec"`
	}
	if err != nil || json.Unmarshal(manifest, &csv, lenient) != nil || csv.Kind != "ClusterServiceVersion" {
		return nil
	}
	found := csv.Spec.CSVMetadata
	found.Annotations = csv.Metadata.Annotations
	found.APIServiceDefinitions, found.CRDDescriptions = csv.Spec.APIs, csv.Spec.CRDs
	return &found
}
