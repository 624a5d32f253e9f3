package bundle

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
)

// What OperatorHub.io lets users choose by.
var (
	hubCapabilities = []string{"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}
	hubCategories   = []string{
		"AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Database", "Developer Tools",
		"Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring", "Networking",
		"Observability", "OpenShift Optional", "Security", "Storage", "Streaming & Messaging",
	}
	hubIcons = []string{"image/gif", "image/jpeg", "image/png", "image/svg+xml"}
)

// checkHub checks what OperatorHub.io shows of an operator.
func (c *checker) checkHub() {
	spec := &c.csv.Spec
	if strings.TrimSpace(spec.Provider.Name) == "" {
		c.findCSV("hub", "/spec", "provider.name is required")
	}
	for i, maintainer := range spec.Maintainers {
		c.checkContact(element("/spec/maintainers", i), maintainer.Name, "email", maintainer.Email, isAddress)
	}
	for i, link := range spec.Links {
		c.checkContact(element("/spec/links", i), link.Name, "url", link.URL, isURL)
	}
	if spec.Version.Equals(semver.Version{}) {
		c.findCSV("hub", "/spec", "version is required")
	}
	c.checkIcon()
	c.checkHubAnnotations()
	c.checkHubAPIs()
}

// checkContact checks a maintainer or a link.
func (c *checker) checkContact(ptr jsontext.Pointer, name, key, value string, valid func(string) error) {
	if name == "" || value == "" {
		c.findCSV("hub", ptr, "name and %s are required", key)
	}
	if value == "" {
		return
	}
	if err := valid(value); err != nil {
		c.findCSV("hub", ptr.AppendToken(key), "%w", err)
	}
}

func isAddress(text string) error {
	_, err := mail.ParseAddress(text)
	return err
}

func isURL(text string) error {
	_, err := url.ParseRequestURI(text)
	return err
}

func (c *checker) checkIcon() {
	icons := c.csv.Spec.Icon
	if icons == nil {
		c.findCSV("hub-icon", "/spec", "no icon")
		return
	}
	if len(icons) != 1 {
		c.findCSV("hub", "/spec/icon", "want one icon, found %d", len(icons))
		return
	}
	icon := icons[0]
	if icon.MediaType == "" || icon.Data == "" {
		c.findCSV("hub", "/spec/icon/0", "base64data and mediatype are required")
	}
	if icon.MediaType != "" && !slices.Contains(hubIcons, icon.MediaType) {
		c.findCSV("hub", "/spec/icon/0/mediatype", "%q: want one of %q", icon.MediaType, hubIcons)
	}
}

func (c *checker) checkHubAnnotations() {
	if level, ok := c.csv.Annotations["capabilities"]; ok && !slices.Contains(hubCapabilities, level) {
		c.findCSV("hub", "/metadata/annotations/capabilities", "%q: want one of %q", level, hubCapabilities)
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
			c.findCSV("hub", "/metadata/annotations/categories", "%q: want one of %q", category, known)
		}
	}
}
