// Package dockerfile writes a Dockerfile that builds a catalog image from a catalog directory: the first stage builds
// the cache from which the catalog is served, the second one contains the catalog and the cache.
//
//	catalog := dockerfile.Catalog{Dir: "my-catalog", BaseImage: image, BuilderImage: image}
//	_, err := catalog.WriteTo(w)
//
// The file is identical to upstream opm's, comments included, unless a name needs quoting: people commit it.
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

// scratch is the empty base image, which has no program to run.
const scratch = "scratch"

// A Catalog describes the catalog image.
type Catalog struct {
	// Dir is the name of the catalog directory in the build context, which is its parent directory.
	Dir string
	// BaseImage is the base of the image: one with opm, which then serves the catalog, or "scratch".
	BaseImage string
	// BuilderImage is an image with opm, which builds the cache. As in upstream, it may be empty, to be filled in
	// later.
	BuilderImage string
	// ThisOpm means that both images contain this opm, not upstream's. The catalog is then served with
	// --cache-enforce-integrity, which refuses any other cache.
	ThisOpm bool
	// HTTPAddr is the address for HTTP, as HOST:PORT, if the images contain this opm; "" serves gRPC only.
	HTTPAddr string
	// Labels are set on the image, sorted by key. As in upstream, a key may be empty.
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

// FromScratch reports whether the base image is empty.
func (c Catalog) FromScratch() bool { return c.BaseImage == scratch }

// WriteTo writes the Dockerfile, or nothing if c is not valid.
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

// check returns all reasons why c is not valid, joined.
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
		if strings.Contains(key, "=") {
			errs = append(errs, fmt.Errorf("label %q has an equals sign in its key", key))
		} else if strings.ContainsAny(key+c.Labels[key], "\r\n") {
			errs = append(errs, fmt.Errorf("label %q contains a line break, which a Dockerfile cannot express", key))
		}
	}
	return errors.Join(errs...)
}

// Unfinished returns the reasons why the Dockerfile cannot be built as it is. Upstream opm writes it too.
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
	switch {
	case name == "":
		return errors.New("catalog directory has no name")
	case strings.Contains(name, "/") || name == "..":
		return fmt.Errorf("catalog directory %q: want a name without a slash", name)
	case !utf8.ValidString(name):
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

// ParseLabels parses items of the form key=value. The last of several equal keys counts.
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
