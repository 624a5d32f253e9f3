package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opm-toolchain/opm/internal/testing/kubetest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// startCluster is the command of scripts that starts an API server with the objects of a file in JSON, to which
// KUBECONFIG then refers: cluster FILE [RESOURCE.GROUP...] [NAMESPACE/POD=CATALOG...]. It refuses to list the named
// resources. The pods serve catalogs; the address of one without a catalog refuses connections.
func startCluster(ts *testscript.TestScript, _ bool, args []string) {
	objects, err := kubetest.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	s := kubetest.New(objects...)
	ts.Defer(s.Close)
	s.Pods = map[string]string{}
	for _, arg := range args[1:] {
		if pod, dir, ok := strings.Cut(arg, "="); ok {
			s.Pods[pod] = servePod(ts, dir)
		}
	}
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

// servePod serves a catalog until the script ends, and returns the address. Without a catalog, nobody listens there.
func servePod(ts *testscript.TestScript, dir string) (addr string) {
	l, err := net.Listen("tcp", "localhost:0")
	ts.Check(err)
	addr = l.Addr().String()
	if dir == "" {
		ts.Check(l.Close())
		return addr
	}
	source := declcfg.Source{Name: dir, FS: os.DirFS(ts.MkAbs(dir))}
	open := func(context.Context) (*serve.Input, error) {
		return &serve.Input{Catalogs: []serve.Catalog{{Name: dir, Source: source}}, Close: func() {}}, nil
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		registry := serve.Registry{Listener: l, Load: serve.LoadOptions{Open: open}}
		ended <- serve.Run(ctx, serve.Options{Registries: []serve.Registry{registry}})
	}()
	ts.Defer(func() {
		stop()
		ts.Check(<-ended)
	})
	return addr
}
