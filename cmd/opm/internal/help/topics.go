package help

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/schemas"
)

// A Topic is a page of help that is not about one command: the text of "opm help NAME", and a page of docs/reference.
type Topic struct {
	Name, Short string
	Text        func() string // as the long help of a command; indented lines are code
}

// Topics returns the topics of opm. registry has the flags about registries.
func Topics(registry func() *pflag.FlagSet) []Topic {
	return []Topic{
		{"environment", "Environment variables", environmentText},
		{"opm.yaml", "The configuration of a catalog", configText},
		{"references", "What can be given for CATALOG, BUNDLE and REF", referencesText},
		{
			"registries", "Flags and files for registries, credentials and mirrors",
			func() string { return registriesText(registry()) },
		},
	}
}

// topic returns the topic with a name, or nil.
func (p *Pages) topic(name string) *Topic {
	i := slices.IndexFunc(p.Topics, func(t Topic) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Topics[i]
}

// Page returns the text of the topic as it is printed.
func (t *Topic) Page() string { return t.Short + ".\n\n" + t.Text() }

// environment has the variables that opm reads, in the groups of the page. A test compares them with the code.
var environment = []struct {
	title     string
	variables [][2]string
}{
	{"Output", [][2]string{
		{"NO_COLOR", "if set, print no colours on terminals; TERM=dumb does the same"},
		{"SOURCE_DATE_EPOCH", "the time in images that opm builds, in seconds since 1970 (default 0)"},
		{"HELP_ALPHA", "if true, list the commands by upstream's names (opm alpha)"},
	}},
	{"Files", [][2]string{
		{"TMPDIR", "the directory of temporary files (default /tmp)"},
		{"OLM_CACHE_DIR", "the directory of spooled input, and of the image cache opm-images"},
		{"OPERATOR_BUNDLE_CATEGORIES", "the JSON file of categories that opm bundle validate allows"},
	}},
	{"Registries", [][2]string{
		{"REGISTRY_AUTH_FILE", "the file with credentials, before those of podman"},
		{"DOCKER_CONFIG", "the directory of docker's config.json (default ~/.docker)"},
		{"XDG_RUNTIME_DIR", "the directory of podman's containers/auth.json"},
		{"XDG_CONFIG_HOME", "the directory of the user's configuration (default ~/.config)"},
		{"HOME", "the directory of the user; without one, / is used"},
		{"CONTAINERS_REGISTRIES_CONF", "the file to read instead of registries.conf, with mirrors and blocked registries"},
		{"CONTAINERS_POLICY_JSON", "the signature policy of the host, instead of policy.json"},
		{"HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "proxies, also in lower case"},
		{"SSL_CERT_FILE, SSL_CERT_DIR", "the certificate authorities of the system"},
	}},
	{"Clusters", [][2]string{
		{"KUBECONFIG", "the files that kube: and opm bundle extract read (default ~/.kube/config)"},
		{"CONTAINER_IMAGE", "the image of the bundle that opm bundle extract unpacks"},
		{"JOB_COMPLETION_INDEX", "the index of a shard, in a Job with completionMode Indexed, of opm render --shard"},
	}},
	{"Memory", [][2]string{
		{"GOGC", "how often garbage is collected; if it is not set, opm does so less often at its start"},
		{"GOMEMLIMIT", "the memory that opm serve tries to stay within; by default it follows the limit of the container"},
		{"GOMAXPROCS", "the number of CPUs to use; by default it follows the limit of the container"},
	}},
}

func environmentText() string {
	var b strings.Builder
	b.WriteString("Flags take precedence over variables.\n")
	for _, group := range environment {
		fmt.Fprintf(&b, "\n%s:\n\n", group.title)
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, v := range group.variables {
			fmt.Fprintf(w, "  %s\t%s\n", v[0], v[1])
		}
		_ = w.Flush() // a Builder takes everything
	}
	return b.String()
}

func configText() string {
	outline, err := schemas.Outline(opmyaml.Name)
	cmdline.Must(err) // a test makes this page
	return `The file opm.yaml beside a catalog configures the commands that report problems: opm validate, bundle
validate, check-images, check-updates, resolve --all, plan, check and publish. --config names
another file.

A catalog in the directory catalog:

  opm.yaml
  catalog/kiln/catalog.yaml

These are all keys. Each can be left out:

` + indented(outline) + `
Such as:

  rules: {related-image-tag: warning, z-release: off}
  packages: {kiln: {rules: {skips-only: off}}}
  targets: {v4.16: ocp=4.16, v4.18: ocp=4.18}
  policy:
    defaultChannel: stable
    registries: [registry.example/pottery]

opm rules lists the names of rules. For editors, opm schema -o jsonschema opm.yaml prints the schema.
`
}

func referencesText() string {
	return `CATALOG is one of

  catalog                        a directory, with files in it and below
  catalog/kiln/catalog.yaml      a file of objects, in YAML or JSON
  catalog.tar, catalog.tar.gz    an archive of a directory
  -                              objects on standard input
  registry.example/crafts:v1     an image in a registry, by tag
  registry.example/crafts@sha256:...    or by digest
  oci:layout:v1                  an image in the OCI layout in the directory layout, by tag or digest
  image.tar:v1                   an image in an archive of docker or OCI; the tag may be left out

An existing path is never an image in a registry. An image in a registry begins with the host of the
registry. BUNDLE is a directory with manifests and metadata, or an image in any of these forms. REF
is a CATALOG or a BUNDLE.

Some commands take several catalogs with names, NAME=CATALOG. Without NAME it is the last element of
the path, without the tag. --each NAME=CATALOG runs a command once for each of several catalogs, and
--each DIRECTORY/ for each directory in DIRECTORY.

STATE, the objects of a cluster, is a directory, a file, "-", or kube:[CONTEXT] for the live cluster
of a context of kubectl.
`
}

func registriesText(flags *pflag.FlagSet) string {
	return `Commands that read images from registries, or push them, have these flags:

` + strings.TrimRight(flags.FlagUsages(), "\n") + `

Credentials are found as podman and docker find them: in the file of $REGISTRY_AUTH_FILE, or else
docker's config.json, then in the files of podman, and from their credential helpers. Of several
entries, the most specific one for the image is used.

  opm auth explain registry.example/crafts:v1    # the files, and the entry that is used

Mirrors and blocked registries are those of registries.conf, and of the files of --image-mirrors.
Certificates are those of the system, of --cert-dir, and of /etc/containers/certs.d and
/etc/docker/certs.d.

A registry that is silent, or asks to wait, is asked again for some seconds. With --verbose, a line
says which registry or mirror answered.
`
}

// indented returns text with each line indented as code.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}
