package kube

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns the client configuration of the cluster that a kubeconfig file names or, without one, of the cluster
// that the program runs in. Unlike [Connect], it reads no other file.
func Config(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no kubeconfig file is given, and this is not a pod of a cluster")
	}
	return config, err
}
