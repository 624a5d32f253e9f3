// Package dockerfile writes the Dockerfile that makes a catalog image out of a catalog directory: a first stage
// builds the cache with which a catalog is served, a second one holds catalog and cache.
//
//	catalog := dockerfile.Catalog{Dir: "my-catalog", BaseImage: image, BuilderImage: image}
//	_, err := catalog.WriteTo(w)
//
// The file is that of upstream opm, byte for byte where a name needs no quoting, comments included: people commit it.
package dockerfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"
)

// scratch is the empty base image, which has no program to start.
const scratch = "scratch"

// A Catalog says what the image is made of.
type Catalog struct {
	// Dir is the name of the catalog directory in the build context, which is the directory above it.
	Dir string
	// BaseImage is what the image is built on: one with opm, which then serves the catalog, or "scratch".
	BaseImage string
	// BuilderImage is an image with opm, which builds the cache. As for upstream, it may be empty, for others to fill in.
	BuilderImage string
	// ThisOpm says that the opm of both images is this one, not upstream's. It is told to refuse another cache.
	ThisOpm bool
	// HTTPAddr is where HTTP is served too, as HOST:PORT, if the images have this opm; empty for gRPC only.
	HTTPAddr string
	// Labels are set on the image, in the order of their keys. As for upstream, a key may be empty.
	Labels map[string]string
}

var text = template.Must(template.New("Dockerfile").Funcs(template.FuncMap{
	"add":   add,
	"quote": quote,
}).Parse(`# The builder image is expected to contain
# /bin/opm (with serve subcommand)
FROM {{.BuilderImage}} as builder

# Copy FBC root into image at /configs and pre-populate serve cache
{{add .Dir}}
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"{{if .HTTPAddr}}, "--with-http"{{end}}]

FROM {{.BaseImage}}
{{- if .FromScratch}}
# OLMv0 CatalogSources that use binary-less images must set:
# spec:
#   grpcPodConfig:
#     extractContent:
#       catalogDir: /configs
#       cacheDir: /tmp/cache
{{- else}}
# The base image is expected to contain
# /bin/opm (with serve subcommand) and /bin/grpc_health_probe

# Configure the entrypoint and command
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"
{{- if .ThisOpm}}, "--cache-enforce-integrity"{{end}}
{{- if .HTTPAddr}}, {{quote (print "--http-addr=" .HTTPAddr)}}{{end}}]
{{- end}}

COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache

# Set FBC-specific label for the location of the FBC root directory
# in the image
LABEL operators.operatorframework.io.index.configs.v1=/configs
{{- if .Labels}}

# Set other custom labels
{{- range $key, $value := .Labels}}
LABEL {{quote $key}}={{quote $value}}
{{- end}}
{{- end}}
`))

// FromScratch reports whether the image has no program of its own.
func (c Catalog) FromScratch() bool { return c.BaseImage == scratch }

// WriteTo writes the Dockerfile, or nothing if there is an error in what it is made of.
func (c Catalog) WriteTo(w io.Writer) (int64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	var buf bytes.Buffer
	if err := text.Execute(&buf, c); err != nil {
		return 0, err
	}
	return buf.WriteTo(w)
}

// check returns every reason why there can be no Dockerfile for c, joined.
func (c Catalog) check() error {
	errs := []error{
		checkDir(c.Dir),
		checkImage("base", c.BaseImage),
		checkImage("builder", c.BuilderImage),
	}
	if c.BaseImage == "" {
		errs = append(errs, errors.New("base image is unset"))
	}
	if c.BuilderImage == scratch {
		errs = append(errs, fmt.Errorf("invalid builder image: %q: it has no opm to build the cache", scratch))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		errs = append(errs, checkLabel(key, c.Labels[key]))
	}
	return errors.Join(errs...)
}

// Unfinished returns why the Dockerfile cannot be built as it is: upstream's opm writes it nevertheless.
func (c Catalog) Unfinished() error {
	var errs []string
	if c.BuilderImage == "" {
		errs = append(errs, "the builder image is empty")
	}
	if _, ok := c.Labels[""]; ok {
		errs = append(errs, "a label has no key")
	}
	if errs == nil {
		return nil
	}
	return errors.New(strings.Join(errs, "; "))
}

func checkDir(name string) error {
	if name == "" {
		return errors.New("catalog directory has no name")
	}
	if strings.Contains(name, "/") || name == ".." {
		return fmt.Errorf("catalog directory %q: want a name without a slash", name)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("catalog directory %q: it is not UTF-8, which a Dockerfile has to be", name)
	}
	return nil
}

func checkImage(which, ref string) error {
	if strings.ContainsFunc(ref, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%s image %q contains white space", which, ref)
	}
	return nil
}

func checkLabel(key, value string) error {
	if strings.Contains(key, "=") {
		return fmt.Errorf("label %q has an equals sign in its key", key)
	}
	if strings.ContainsAny(key+value, "\r\n") {
		return fmt.Errorf("label %q contains a line break, which a Dockerfile cannot express", key)
	}
	return nil
}

// ParseLabels reads items of the form key=value, of which the last for a key counts.
func ParseLabels(items []string) (map[string]string, error) {
	labels := make(map[string]string, len(items))
	for _, item := range items {
		key, value, ok := strings.Cut(item, "=")
		if !ok {
			return nil, fmt.Errorf("invalid label %q: want key=value", item)
		}
		labels[key] = value
	}
	return labels, nil
}
