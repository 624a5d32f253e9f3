package manifests

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"io/fs"
	"strings"
	"text/template"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/opm-toolchain/opm/pkg/image"
)

// chartFiles is the Helm chart of a Deployment, but for Chart.yaml: its templates, which are Helm's, and a template of
// its values.
//
//go:embed all:chart
var chartFiles embed.FS

// chart returns the files of the chart of a Deployment. With the default values, and a release that is called like the
// set, it makes the objects of the set; the namespace is that of the release.
func (s *Set) chart() ([]File, error) {
	var files []File
	err := fs.WalkDir(chartFiles, "chart/templates", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := chartFiles.ReadFile(name)
		files = append(files, File{strings.TrimPrefix(name, "chart/"), text})
		return err
	})
	if err != nil {
		return nil, err
	}
	values, err := s.chartValues()
	return append(files, File{"values.yaml", values}), err
}

// chartValues returns the values of the chart. What the template inserts is JSON, which is valid YAML.
func (s *Set) chartValues() ([]byte, error) {
	o := &s.opts
	ref, err := image.ParseReference(o.Image)
	if err != nil {
		return nil, err
	}
	tag, digest := ref.Identifier(), ""
	if isDigest(o.Image) {
		tag, digest = "", ref.Identifier()
	}
	probes := portName
	if o.HTTPProbes {
		probes = httpPortName
	}
	from := append([]networkingv1.NetworkPolicyPeer{}, o.ingress().From...) // not null
	texts := map[string]string{}
	for key, v := range map[string]any{
		"Repository": strings.TrimSuffix(strings.TrimSuffix(o.Image, "@"+digest), ":"+tag), "Tag": tag, "Digest": digest,
		"PullPolicy": o.pullPolicy(), "Replicas": o.Replicas, "Autoscaled": o.autoscaled(),
		"MaxReplicas": max(o.MaxReplicas, o.Replicas), "Resources": o.resources(), "PodSecurity": podSecurity(),
		"ContainerSecurity": containerSecurity(), "Probes": probes, "HTTP": o.HTTPPort != 0,
		"HTTPPort": cmp.Or(o.HTTPPort, defaultHTTPPort), "From": from, "ServiceMonitor": o.ServiceMonitor,
		"CatalogSource": o.WithCatalogSource, "DisplayName": o.DisplayName, "Publisher": o.Publisher, "Priority": o.Priority,
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		texts[key] = string(text)
	}
	t, err := template.New("values.yaml.tmpl").Option("missingkey=error").Delims("[[", "]]").
		ParseFS(chartFiles, "chart/values.yaml.tmpl")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = t.Execute(&text, texts)
	return text.Bytes(), err
}
