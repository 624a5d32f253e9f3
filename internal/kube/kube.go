// Package kube reads the objects of a live cluster that a command needs, and writes them as a state: the text that
// commands also read from files. It only lists and watches objects, and can connect to ports of pods; nothing in the
// cluster changes.
//
//	c, err := kube.Connect("staging") // a context of the kubeconfig, "" for the current one
//	state, err := c.Read(ctx, kube.Options{Question: kube.Question{Command: "simulate"}})
//	defer state.Close()
//	source := render.ReaderAt("kube:staging", state, state.Size())
//
// The state has one JSON object after the other, indented, sorted by kind, group, namespace and name, without
// metadata.managedFields. The first object is an [Info]. Of Secrets and of copied ClusterServiceVersions, only the
// metadata are requested. For its size, pages are not kept in memory but spooled.
package kube

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// Prefix begins the references to clusters: "kube:" or "kube:CONTEXT".
const Prefix = "kube:"

// Context returns the context of a reference to a cluster, "" for the current one, and whether ref is such a reference.
// A file with a name like that needs a path: ./kube:x.
func Context(ref string) (name string, ok bool) { return strings.CutPrefix(ref, Prefix) }

// A Cluster is a connection to an API server.
type Cluster struct {
	client *http.Client
	config *rest.Config
	base   *url.URL
	name   string // for errors
}

// IsLive reports whether a reference is to a live cluster.
func IsLive(ref string) bool {
	_, ok := Context(ref)
	return ok
}

// Connect prepares a connection by the rules of kubectl: the files of $KUBECONFIG, or else ~/.kube/config, with the
// named context or, if name is "", the current one. If no file has a cluster, it uses the account of the pod.
// Certificates, proxies and plugins for credentials are those of the kubeconfig. Connect sends no request.
func Connect(name string) (*Cluster, error) {
	// kubectl merges the files; a file that does not exist is skipped.
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.Warner = func(error) {}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: name}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	if name != "" {
		if err := checkContext(loader, name); err != nil {
			return nil, fmt.Errorf("connect to %q: %w", Prefix+name, err)
		}
	}
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("no cluster is configured: neither $KUBECONFIG nor ~/.kube/config names one, " +
			"and this is not a pod with an account")
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", Prefix+name, err)
	}
	return connect(config, Prefix+name)
}

// checkContext returns an error that names similar contexts if there is no context of a name.
func checkContext(loader clientcmd.ClientConfig, name string) error {
	raw, err := loader.RawConfig()
	if err != nil || raw.Contexts[name] != nil {
		return err
	}
	known := slices.Collect(maps.Keys(raw.Contexts))
	return fmt.Errorf("no context %q in the kubeconfig%s", name, nearest.Hint(name, known))
}

func connect(config *rest.Config, name string) (*Cluster, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", name, err)
	}
	config = rest.CopyConfig(config)
	config.UserAgent = "opm"
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", name, err)
	}
	// An API server does not redirect, and credentials must not go to another host.
	client := *shared
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Cluster{&client, config, base, name}, nil
}

// A State is the text of a state. Its methods are safe for concurrent use.
type State struct {
	io.ReaderAt
	Info *Info

	index []entry // the places of the objects, also of those that others with the same name replace
	size  int64
	close func() error
}

// Size returns the size of the text in bytes.
func (s *State) Size() int64 { return s.size }

// Close releases the text. Later reads fail.
func (s *State) Close() error { return s.close() }

// WriteTo writes the text.
func (s *State) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, io.NewSectionReader(s, 0, s.size))
}

var _ io.WriterTo = (*State)(nil)
