package bundle

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A crdColumn is a column in which clients show custom resources.
type crdColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Format   string `json:"format"`
	JSONPath string `json:"jsonPath"`
}

var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

// checkShared checks what versions say each or together.
func (d *definitionChecker) checkShared(ptr jsontext.Pointer, shared *crdShared) {
	var columns []crdColumn
	if d.read(ptr+"/additionalPrinterColumns", shared.Columns, &columns) {
		for i := range columns {
			d.checkColumn(element(ptr+"/additionalPrinterColumns", i), &columns[i])
		}
	}
	var subresources struct {
		Scale *crdScale `json:"scale"`
	}
	if d.read(ptr+"/subresources", shared.Subresources, &subresources) && subresources.Scale != nil {
		d.checkScale(ptr+"/subresources/scale", subresources.Scale)
	}
	var selectable []struct {
		JSONPath string `json:"jsonPath"`
	}
	if d.read(ptr+"/selectableFields", shared.Selectable, &selectable) {
		for i, selected := range selectable {
			if selected.JSONPath == "" {
				d.find(element(ptr+"/selectableFields", i), "no jsonPath")
			}
		}
	}
}

// read decodes a part of the definition. It reports false where there is none.
func (d *definitionChecker) read(ptr jsontext.Pointer, value jsontext.Value, v any) bool {
	if value == nil {
		return false
	}
	at, err := decode(value, v)
	if err != nil {
		d.checker.find("crd-type", d.m.document, ptr+at, "%w", err)
	}
	return err == nil
}

func (d *definitionChecker) checkColumn(ptr jsontext.Pointer, column *crdColumn) {
	if column.Name == "" {
		d.find(ptr, "no name")
	}
	if !slices.Contains(columnTypes, column.Type) {
		d.find(ptr, "type %q: want one of %q", column.Type, columnTypes)
	}
	if column.Format != "" && !slices.Contains(columnFormats, column.Format) {
		d.find(ptr.AppendToken("format"), "format %q: want one of %q", column.Format, columnFormats)
	}
	if !strings.HasPrefix(column.JSONPath, ".") {
		d.find(ptr, "jsonPath %q: want a path that begins with a dot", column.JSONPath)
	}
}

// A crdScale says where custom resources have what the subresource scale shows.
type crdScale struct {
	SpecReplicasPath  string `json:"specReplicasPath"`
	LabelSelectorPath string `json:"labelSelectorPath"`
}

// checkScale leaves out the path to the status, as upstream does.
func (d *definitionChecker) checkScale(ptr jsontext.Pointer, scale *crdScale) {
	if !strings.HasPrefix(scale.SpecReplicasPath, ".spec.") {
		d.find(ptr, "specReplicasPath %q: want a path below .spec", scale.SpecReplicasPath)
	}
	selector := scale.LabelSelectorPath
	if selector != "" && !strings.HasPrefix(selector, ".spec.") && !strings.HasPrefix(selector, ".status.") {
		d.find(ptr, "labelSelectorPath %q: want a path below .spec or .status", selector)
	}
}

// A crdConversion says how objects of one version become objects of another. In v1beta1 what belongs to the webhook is
// not together.
type crdConversion struct {
	Strategy string `json:"strategy"`
	Webhook  *struct {
		ClientConfig   *crdWebhook `json:"clientConfig"`
		ReviewVersions []string    `json:"conversionReviewVersions"`
	} `json:"webhook"`

	ClientConfig   *crdWebhook `json:"webhookClientConfig"`
	ReviewVersions []string    `json:"conversionReviewVersions"`
}

type crdWebhook struct {
	URL     *string     `json:"url"`
	Service *crdService `json:"service"`
}

type crdService struct {
	Name      string  `json:"name"`
	Namespace string  `json:"namespace"`
	Path      *string `json:"path"`
	Port      *int32  `json:"port"`
}

const conversionPointer jsontext.Pointer = "/spec/conversion"

// webhook returns the parts of the conversion that belong to the webhook, of either version of the API.
func (d *definitionChecker) webhook() (config *crdWebhook, reviews []string) {
	conversion := d.crd.Spec.Conversion
	switch {
	case d.beta && conversion.Strategy == "Webhook" && len(conversion.ReviewVersions) == 0:
		return conversion.ClientConfig, []string{"v1beta1"}
	case d.beta:
		return conversion.ClientConfig, conversion.ReviewVersions
	case conversion.Webhook != nil:
		return conversion.Webhook.ClientConfig, conversion.Webhook.ReviewVersions
	}
	return nil, nil
}

func (d *definitionChecker) checkConversion() {
	conversion := d.crd.Spec.Conversion
	if conversion == nil {
		return
	}
	config, reviews := d.webhook()
	switch conversion.Strategy {
	case "None":
		if config != nil || len(reviews) > 0 {
			d.find(conversionPointer, "a webhook, but strategy None")
		}
	case "Webhook":
		d.checkWebhook(config)
		d.checkReviews(reviews)
	default:
		d.find(conversionPointer, "strategy %q: want None or Webhook", conversion.Strategy)
	}
}

func (d *definitionChecker) checkWebhook(config *crdWebhook) {
	switch {
	case config == nil:
		d.find(conversionPointer, "strategy Webhook, but no clientConfig")
	case (config.URL == nil) == (config.Service == nil):
		d.find(conversionPointer, "clientConfig: want either url or service")
	case config.URL != nil:
		if problem := webhookURL(*config.URL); problem != "" {
			d.find(conversionPointer, "url %q: %s", *config.URL, problem)
		}
	default:
		d.checkService(config.Service)
	}
}

// webhookURL returns what is wrong with the URL of a webhook, "" for nothing.
func webhookURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme != "https":
		return "want https"
	case u.Host == "":
		return "no host"
	case u.User != nil, u.Fragment != "", u.RawQuery != "":
		return "want neither user nor query nor fragment"
	}
	return ""
}

func (d *definitionChecker) checkService(service *crdService) {
	if service.Name == "" || service.Namespace == "" {
		d.find(conversionPointer, "service: want name and namespace")
	}
	if service.Port != nil && len(validation.IsValidPortNum(int(*service.Port))) > 0 {
		d.find(conversionPointer, "service: port %d: want 1 to 65535", *service.Port)
	}
	if service.Path != nil {
		d.checkPath(*service.Path)
	}
}

func (d *definitionChecker) checkPath(path string) {
	if path == "" || path == "/" {
		return
	}
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		d.find(conversionPointer, "service: path %q: want one that begins with a slash", path)
		return
	}
	for step := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), "/") {
		if problems := validation.IsDNS1123Subdomain(step); len(problems) > 0 {
			d.find(conversionPointer, "service: path %q: %q: %s", path, step, problems[0])
		}
	}
}

func (d *definitionChecker) checkReviews(versions []string) {
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			d.find(conversionPointer, "conversionReviewVersions: %q stands twice", version)
		} else if problems := validation.IsDNS1035Label(version); len(problems) > 0 {
			d.find(conversionPointer, "conversionReviewVersions: %q: %s", version, problems[0])
		}
	}
	if !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1") {
		d.find(conversionPointer, "conversionReviewVersions: want v1 or v1beta1 among them")
	}
}

// isApproval tells whether the value of annotationApproved says that a kind may be in a group of Kubernetes, or that it
// may not and is there all the same.
func isApproval(value string) bool {
	if strings.HasPrefix(value, "unapproved") {
		return true
	}
	u, err := url.ParseRequestURI(value)
	return err == nil && u.Host != "" && u.Scheme != ""
}
