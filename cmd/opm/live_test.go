package main

import (
	"net/http"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opm-toolchain/opm/internal/testing/kubetest"
)

// startCluster is the command of scripts that starts an API server with the objects of a file in JSON, to which
// KUBECONFIG then refers: cluster FILE [RESOURCE.GROUP...]. It refuses to list the named resources.
func startCluster(ts *testscript.TestScript, _ bool, args []string) {
	objects, err := kubetest.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	s := kubetest.New(objects...)
	ts.Defer(s.Close)
	s.Fault = func(w http.ResponseWriter, _ *http.Request, resource string, _ int) bool {
		refused := slices.Contains(args[1:], resource)
		if refused {
			kubetest.Refuse(w, http.StatusForbidden, resource+` is forbidden: User "u" cannot list`)
		}
		return refused
	}
	file, err := s.Kubeconfig(ts.MkAbs("."))
	ts.Check(err)
	ts.Setenv("KUBECONFIG", file)
}
