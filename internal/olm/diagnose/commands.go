package diagnose

import (
	"strings"

	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/shell"
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

// deletion returns the command that deletes an object.
func deletion(ref simulate.Ref) []string {
	return append([]string{"kubectl", "delete", resourceOf(ref.Kind), ref.Name}, inNamespace(ref.Namespace)...)
}

// deletions returns the command that deletes objects of one namespace.
func deletions(refs []simulate.Ref) []string {
	words := []string{"kubectl", "delete"}
	for _, ref := range refs {
		words = append(words, resourceOf(ref.Kind)+"/"+ref.Name)
	}
	return append(words, inNamespace(refs[0].Namespace)...)
}

// patch returns the command that changes an object.
func patch(ref simulate.Ref, change string) []string {
	words := append([]string{"kubectl", "patch", resourceOf(ref.Kind), ref.Name}, inNamespace(ref.Namespace)...)
	return append(words, "--type", "merge", "-p", change)
}

// get returns the command that prints an object.
func get(ref simulate.Ref) []string {
	words := append([]string{"kubectl", "get", resourceOf(ref.Kind), ref.Name}, inNamespace(ref.Namespace)...)
	return append(words, "-o", "yaml")
}

// commandLine returns a command line to paste, "" without words.
func commandLine(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return shell.Join(words...)
}
