package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Redact replaces the names of namespaces, hosts and users in a result of the state, and in other texts about it,
// always by the same names, and leaves out the directories of files, so that all can be shown to strangers. So are the
// contexts in refs, the references from which the state was read. The namespaces that clusters have by default keep
// their names.
func (r *Result) Redact(state *cluster.State, refs []string, others ...*string) {
	x := &redactor{names: map[string]string{}, known: map[string]string{}, contexts: map[string]bool{}}
	x.namespaces(state)
	x.users(state)
	for _, ref := range refs {
		if name, ok := kube.Context(ref); ok {
			x.context(name)
		}
	}
	for o := range state.All() {
		i := strings.LastIndex(o.Pos.File, ": ") // a context may have any name
		if name, ok := kube.Context(o.Pos.File[:max(i, 0)]); ok {
			x.context(name)
		}
	}
	for _, c := range r.Contents {
		x.imageHost(c.Image)
	}
	each := func(do func(*string)) {
		texts(reflect.ValueOf(r), do)
		for _, text := range others {
			do(text)
		}
	}
	each(x.findHosts)
	x.compile()
	each(func(text *string) { *text = x.replace(patterns().file.ReplaceAllString(*text, "$1")) })
}

// A redactor replaces names.
type redactor struct {
	names    map[string]string // the replacements
	known    map[string]string // the kind of each name: namespace, host or user
	contexts map[string]bool   // of kubeconfigs
	pattern  *regexp.Regexp    // matches all names; nil if there are none
}

// defaultNamespaces are the namespaces of Kubernetes, OpenShift and OLM.
var defaultNamespaces = []string{
	"", "default", "kube-system", "kube-public", "kube-node-lease", "olm", "operators", "olmv1-system",
	"openshift-marketplace", "openshift-operators", "openshift-operator-lifecycle-manager", "openshift-catalogd",
	"openshift-operator-controller",
}

func (x *redactor) add(kind, name string) {
	if name != "" && x.known[name] == "" && !x.contexts[name] {
		x.known[name] = kind
	}
}

// namespaces adds the namespaces of all objects, and of the references between them.
func (x *redactor) namespaces(state *cluster.State) {
	var all []string
	for o := range state.Namespaces.All() {
		all = append(all, o.Value.Name)
	}
	for o := range state.All() {
		all = append(all, o.Value.GetNamespace())
	}
	for o := range state.OperatorGroups.All() {
		all = append(all, o.Value.Spec.TargetNamespaces...)
		all = append(all, o.Value.Status.Namespaces...)
	}
	for o := range state.Subscriptions.All() {
		all = append(all, o.Value.Spec.CatalogSourceNamespace)
	}
	for o := range state.ClusterExtensions.All() {
		all = append(all, o.Value.Spec.Namespace)
	}
	for _, name := range all {
		if !slices.Contains(defaultNamespaces, name) {
			x.add("namespace", name)
		}
	}
}

// users adds the users and groups of bindings, apart from those of Kubernetes itself.
func (x *redactor) users(state *cluster.State) {
	add := func(subjects []rbacv1.Subject) {
		for _, s := range subjects {
			if s.Kind != rbacv1.ServiceAccountKind && !strings.HasPrefix(s.Name, "system:") {
				x.add("user", s.Name)
			}
		}
	}
	for o := range state.RoleBindings.All() {
		add(o.Value.Subjects)
	}
	for o := range state.ClusterRoleBindings.All() {
		add(o.Value.Subjects)
	}
}

// context adds a context of a kubeconfig, whose name often has a host and a user.
func (x *redactor) context(name string) {
	if name != "" {
		x.contexts[name] = true
	}
}

// imageHost adds the host of an image, if it has one.
func (x *redactor) imageHost(image string) {
	host, _, _ := strings.Cut(image, "/")
	name, _, hasPort := strings.Cut(host, ":")
	if host != image && (hasPort || name == "localhost" || strings.Contains(name, ".")) {
		x.add("host", name)
	}
}

// redactPatterns match the names and places to replace in texts.
type redactPatterns struct {
	hosts     []*regexp.Regexp // the host of a URL, of an image and of a connection, and an address of IP
	users     []*regexp.Regexp // a user in the message of an API server, and an address of email
	context   *regexp.Regexp   // another context in the error about one that does not exist
	file      *regexp.Regexp   // a position in a file with a directory
	positions *regexp.Regexp   // what looks like a host and a port but is a position in a file
}

// patterns compiles the redactPatterns, which no other command needs.
var patterns = sync.OnceValue(func() *redactPatterns {
	return &redactPatterns{
		hosts: []*regexp.Regexp{
			regexp.MustCompile(`\w://(?:[^/@\s"']*@)?([A-Za-z0-9._-]+)`),
			regexp.MustCompile(`\b((?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+|localhost)(?::\d+)?/[a-z0-9._/-]+(?::[\w.-]+|@sha256:)`),
			regexp.MustCompile(`\b((?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+|localhost):\d+\b`),
			regexp.MustCompile(`(?:lookup|host|node|server) "?((?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+)`),
			regexp.MustCompile(`\b(\d+\.\d+\.\d+\.\d+)\b`),
			regexp.MustCompile(`\[([0-9a-fA-F:]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*)\]`),
		},
		users: []*regexp.Regexp{
			regexp.MustCompile(`[Uu]ser "([^"]+)"`),
			regexp.MustCompile(`\b([\w.+-]+@[\w-]+(?:\.[\w-]+)+)\b`),
		},
		context:   regexp.MustCompile(`no context "[^"]*" in the kubeconfig \([^"]*did you mean "([^"]+)"`),
		file:      regexp.MustCompile(`[^\s("']*/([^/\s:]+:\d+:\d+)`),
		positions: regexp.MustCompile(`[^\s("']+\.[a-z]+:\d+:\d+`),
	}
})

// findHosts adds the contexts, hosts and users in a text.
func (x *redactor) findHosts(text *string) {
	for _, m := range patterns().context.FindAllStringSubmatch(*text, -1) {
		x.context(m[1])
	}
	found := patterns().positions.ReplaceAllString(*text, "")
	for _, p := range patterns().hosts {
		for _, m := range p.FindAllStringSubmatch(found, -1) {
			x.add("host", m[1])
		}
	}
	for _, p := range patterns().users {
		for _, m := range p.FindAllStringSubmatch(found, -1) {
			if !strings.HasPrefix(m[1], "system:") {
				x.add("user", m[1])
			}
		}
	}
}

// compile numbers the names of each kind, in their order, and makes the pattern, in which a longer name comes first.
func (x *redactor) compile() {
	for i, name := range slices.Sorted(maps.Keys(x.contexts)) {
		other := fmt.Sprintf("context-%d", i+1)
		x.names[kube.Prefix+name] = kube.Prefix + other
		if x.known[name] == "" && !slices.Contains(defaultNamespaces, name) { // which would be replaced, too
			x.names[name] = other
		}
	}
	numbers := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(x.known)) {
		kind := x.known[name]
		numbers[kind]++
		x.names[name] = fmt.Sprintf("%s-%d", kind, numbers[kind])
	}
	if len(x.names) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(x.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	x.pattern = regexp.MustCompile(strings.Join(names, "|"))
}

// replace replaces the names in a text, but not inside longer words.
func (x *redactor) replace(text string) string {
	if x.pattern == nil {
		return text
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		m := x.pattern.FindStringIndex(text[at:])
		if m == nil {
			out.WriteString(text[at:])
			break
		}
		start, end := at+m[0], at+m[1]
		if start > 0 && isWord(text[start-1]) || end < len(text) && isWord(text[end]) {
			out.WriteString(text[at : start+1])
			at = start + 1
			continue
		}
		out.WriteString(text[at:start] + x.names[text[start:end]])
		at = end
	}
	return out.String()
}

// isWord reports whether a character is a part of a word. A name may be a part of another one, between dashes.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// texts calls do for all strings in a value, except rules and severities. Of the file of a position, it keeps the last
// element, but all of an object of a live cluster.
func texts(v reflect.Value, do func(*string)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			texts(v.Elem(), do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), do)
		}
	case reflect.Struct:
		pos, ok := reflect.TypeAssert[*declcfg.Pos](v.Addr())
		if ok && !strings.HasPrefix(pos.File, kube.Prefix) {
			pos.File = path.Base(strings.ReplaceAll(pos.File, `\`, "/"))
			if pos.File == "." {
				pos.File = ""
			}
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains([]string{"Rule", "Severity", "Kind"}, f.Name) {
				texts(v.Field(i), do)
			}
		}
	case reflect.String:
		if v.CanAddr() {
			if text, ok := reflect.TypeAssert[*string](v.Addr()); ok {
				do(text)
			}
		}
	}
}
