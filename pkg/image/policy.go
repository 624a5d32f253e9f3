package image

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/regular"
)

// A policyError reports that a signature policy refuses an image.
type policyError struct {
	File  string
	Line  int
	Scope string // key in the policy, such as registry.redhat.io; "default" if none matches the image
	Type  string // of the unmet requirement: reject, or a type that requires signatures
}

func (e *policyError) Error() string {
	what := "rejects the image"
	if e.Type != "reject" {
		what = fmt.Sprintf("requires signatures (%s), which opm does not check", e.Type)
	}
	return fmt.Sprintf("%s:%d: signature policy: scope %q %s; to ignore the policy, use --ignore-signature-policy",
		e.File, e.Line, e.Scope, what)
}

// checkHostPolicy returns an error if the host's policy, see containers-policy.json(5), does not allow an image
// without verified signatures, because opm does not verify signatures. Without a policy, all images are allowed. ref is
// the image as given by the user, not its mirror.
//
// The error is a *policyError, or explains why the policy cannot be read.
func checkHostPolicy(ref name.Reference) error {
	files, mustExist := policyFiles()
	for _, file := range files {
		data, err := regular.ReadPath(file)
		if err == nil {
			return checkPolicy(ref, file, data)
		}
		if mustExist || exists(file) {
			return fmt.Errorf("read signature policy: %w; to ignore the policy, use --ignore-signature-policy", err)
		}
	}
	return nil
}

// exists reports whether a file exists. It is false in a directory we may not access.
func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// policyFiles returns the possible policy files, of which only the first that exists is used, or the one that must
// exist.
func policyFiles() (files []string, mustExist bool) {
	if file := os.Getenv("CONTAINERS_POLICY_JSON"); file != "" {
		return []string{file}, true
	}
	if dir := configHome(); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "policy.json"))
	}
	return append(files, "/etc/containers/policy.json", "/usr/share/containers/policy.json"), false
}

// A signaturePolicy is a policy.json: the requirements for images, by transport and scope.
type signaturePolicy struct {
	Default    []requirement                       `json:"default"`
	Transports map[string]map[string][]requirement `json:"transports"`
}

// A requirement is a policy requirement, of which only the type matters here. An image must meet all requirements of
// its scope.
type requirement map[string]jsontext.Value

// kind returns the type, or "" if it is missing or not a string.
func (r requirement) kind() (s string) {
	_ = json.Unmarshal(r["type"], &s) // an unknown type is an error
	return s
}

var requirementTypes = []string{"insecureAcceptAnything", "reject", "signedBy", "signedBaseLayer", "sigstoreSigned"}

// checkPolicy applies the policy in data. Unknown members are errors, as in podman, so that a typo cannot allow an
// image.
func checkPolicy(ref name.Reference, file string, data []byte) error {
	var p signaturePolicy
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		offset := int64(0)
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			offset = syntax.ByteOffset
		} else if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
			offset = semantic.ByteOffset
		}
		return fmt.Errorf("%s:%d: signature policy: %w", file, lineAt(data, offset), err)
	}
	scope, pointer, requirements := "default", jsontext.Pointer("/default"), p.Default
	docker := p.Transports["docker"]
	for _, s := range policyScopes(ref) {
		if found, ok := docker[s]; ok {
			scope, pointer, requirements = s, jsontext.Pointer("/transports/docker").AppendToken(s), found
			break
		}
	}
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

// policyScopes returns the scopes of an image, most specific first: the reference, its repository, the parent
// namespaces, the registry, its parent domains, and "" for all images.
func policyScopes(ref name.Reference) []string {
	target := newAuthTarget(ref.Context())
	scopes := []string{podmanName(ref.Name())}
	for key := target.repository; key != "."; key = path.Dir(key) {
		scopes = append(scopes, key)
	}
	domain, _, _ := strings.Cut(target.host, ":")
	for ok := true; ok; {
		if _, domain, ok = strings.Cut(domain, "."); ok {
			scopes = append(scopes, "*."+domain)
		}
	}
	return append(scopes, "")
}

// policyLine returns the line of the key at a JSON pointer.
func policyLine(data []byte, pointer jsontext.Pointer) int {
	doc := document.Document{Text: data, Start: document.Place{Line: 1, Column: 1}}
	return doc.Find(pointer)[0].Key.Line
}
