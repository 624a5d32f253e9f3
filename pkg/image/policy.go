package image

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/opm-toolchain/opm/internal/document"
)

// PolicyOptions say which signature policy holds. The zero value is what podman finds, if it finds one.
type PolicyOptions struct {
	// Ignore passes over the policy: --ignore-signature-policy.
	Ignore bool

	// File is a policy.json; "" means the first of $CONTAINERS_POLICY_JSON, ~/.config/containers/policy.json,
	// /etc/containers/policy.json and /usr/share/containers/policy.json that exists.
	File string

	// Env returns environment variables; nil is os.Getenv.
	Env func(string) string
}

// A policyError says that a signature policy refuses an image.
type policyError struct {
	File  string
	Line  int
	Scope string // as the policy has it, such as registry.redhat.io; "default" if none is about the image
	Type  string // of the requirement that is not met: reject, or one that demands signatures
}

func (e *policyError) Error() string {
	what := "rejects the image"
	if e.Type != "reject" {
		what = fmt.Sprintf("demands signatures (%s), which opm does not check", e.Type)
	}
	return fmt.Sprintf("%s:%d: signature policy: scope %q %s; --ignore-signature-policy passes over it",
		e.File, e.Line, e.Scope, what)
}

// checkHostPolicy returns an error unless the containers policy of the host, see containers-policy.json(5), lets an
// image be used by a program that checks no signatures. There need not be one. ref is the image as it was asked for,
// not a mirror's.
//
// The error is a *policyError, or says why the policy cannot be read.
func checkHostPolicy(ref name.Reference, o PolicyOptions) error {
	if o.Ignore {
		return nil
	}
	for _, file := range policyFiles(o) {
		data, err := os.ReadFile(file.path)
		if err == nil {
			return checkPolicy(ref, file.path, data)
		}
		if file.must || exists(file.path) {
			return fmt.Errorf("read signature policy: %w; --ignore-signature-policy does without it", err)
		}
	}
	return nil
}

// exists tells whether there is a file, as far as we may look.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

type policyFile struct {
	path string
	must bool // it was named
}

// policyFiles returns where a policy may be. The first that exists is the only one that counts.
func policyFiles(o PolicyOptions) []policyFile {
	if o.File != "" {
		return []policyFile{{o.File, true}}
	}
	if path := getenv(o.Env, "CONTAINERS_POLICY_JSON"); path != "" {
		return []policyFile{{path, true}}
	}
	files := []policyFile{
		{path: under(configHome(o.Env), "containers", "policy.json")},
		{path: "/etc/containers/policy.json"},
		{path: "/usr/share/containers/policy.json"},
	}
	return slices.DeleteFunc(files, func(f policyFile) bool { return f.path == "" })
}

// A signaturePolicy is a policy.json: what images must meet, by transport and scope.
type signaturePolicy struct {
	Default    []requirement                       `json:"default"`
	Transports map[string]map[string][]requirement `json:"transports"`
}

// A requirement of a policy, of which only the type is of interest. An image must meet all of those of its scope.
type requirement map[string]jsontext.Value

// kind returns the type, "" if there is none.
func (r requirement) kind() string {
	var s string
	if json.Unmarshal(r["type"], &s) != nil {
		return ""
	}
	return s
}

var requirementTypes = []string{"insecureAcceptAnything", "reject", "signedBy", "signedBaseLayer", "sigstoreSigned"}

// checkPolicy applies the policy in data. Members that a policy does not have are errors, as in podman: a typing error
// must not open a door.
func checkPolicy(ref name.Reference, file string, data []byte) error {
	var p signaturePolicy
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%s:%d: signature policy: %w", file, policyErrorLine(data, err), err)
	}
	scope, pointer, requirements := p.requirements(ref)
	fault := func(what string, args ...any) error {
		return fmt.Errorf("%s:%d: signature policy: scope %q: %w", file, policyLine(data, pointer), scope,
			fmt.Errorf(what, args...))
	}
	if len(requirements) == 0 {
		return fault("no requirements")
	}
	for _, r := range requirements {
		if !slices.Contains(requirementTypes, r.kind()) {
			return fault("unknown type %q of a requirement, want one of %q", r.kind(), requirementTypes)
		}
	}
	i := slices.IndexFunc(requirements, func(r requirement) bool { return r.kind() != "insecureAcceptAnything" })
	if i < 0 {
		return nil
	}
	return &policyError{file, policyLine(data, pointer), scope, requirements[i].kind()}
}

// requirements returns those for an image, and the scope that they are of.
func (p *signaturePolicy) requirements(ref name.Reference) (scope string, at jsontext.Pointer, all []requirement) {
	for _, scope := range policyScopes(ref) {
		if all, ok := p.Transports["docker"][scope]; ok {
			return scope, jsontext.Pointer("/transports/docker").AppendToken(scope), all
		}
	}
	return "default", "/default", p.Default
}

// policyScopes returns the scopes that an image is in, the most specific first: the reference, its repository, what is
// above that, domains of the registry, and "" for all.
func policyScopes(ref name.Reference) []string {
	target := newAuthTarget(ref.Context())
	scopes := append([]string{podmanName(ref.Name())}, target.keys()...)
	domain, _, _ := strings.Cut(target.host, ":")
	for {
		_, parent, ok := strings.Cut(domain, ".")
		if !ok {
			return append(scopes, "")
		}
		scopes = append(scopes, "*."+parent)
		domain = parent
	}
}

// policyLine returns the line of a value's key.
func policyLine(data []byte, pointer jsontext.Pointer) int {
	doc := document.Document{Text: data, Start: document.Place{Line: 1, Column: 1}}
	return doc.Find(pointer)[0].Key.Line
}

// policyErrorLine returns the line of what cannot be decoded.
func policyErrorLine(data []byte, err error) int {
	offset := int64(0)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntax.ByteOffset
	} else if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		offset = semantic.ByteOffset
	}
	return lineAt(data, offset)
}
