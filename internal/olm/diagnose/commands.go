package diagnose

import (
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/olm/simulate"
)

// resources are the resources of the kinds whose short name is not unique in a cluster, as kubectl takes them.
var resources = map[string]string{
	kindSubscription: "subscriptions.operators.coreos.com",
}

// resourceOf returns the resource of a kind for kubectl.
func resourceOf(kind string) string {
	if r, ok := resources[kind]; ok {
		return r
	}
	return strings.ToLower(kind)
}

// inNamespace returns the flag of kubectl for a namespace.
func inNamespace(namespace string) []string {
	if namespace == "" {
		return nil
	}
	return []string{"-n", namespace}
}

// kubectl returns the command that does something with one object.
func kubectl(verb string, ref simulate.Ref, flags ...string) []string {
	return slices.Concat([]string{"kubectl", verb, resourceOf(ref.Kind), ref.Name}, inNamespace(ref.Namespace), flags)
}

// patch returns the command that changes an object.
func patch(ref simulate.Ref, change string) []string {
	return kubectl("patch", ref, "--type", "merge", "-p", change)
}

// get returns the command that prints an object.
func get(ref simulate.Ref) []string { return kubectl("get", ref, "-o", "yaml") }

// deletions returns the command that deletes objects of one namespace.
func deletions(refs []simulate.Ref) []string {
	words := []string{"kubectl", "delete"}
	for _, ref := range refs {
		words = append(words, resourceOf(ref.Kind)+"/"+ref.Name)
	}
	return append(words, inNamespace(refs[0].Namespace)...)
}
