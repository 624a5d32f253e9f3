package cluster_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/render"
)

// manyObjects returns a definition and n objects of four kinds, in n/100 namespaces.
func manyObjects(n int) []byte {
	kinds := []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\n  namespace: ns%d\ndata:\n  a: " + strings.Repeat("x", 400) + "\n",
		"apiVersion: x.io/v1\nkind: A\nmetadata:\n  name: c%d\n  namespace: ns%d\nsize: 3\nnames:\n- a\n- b\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: c%d\n  namespace: ns%d\nrules:\n" +
			"- apiGroups:\n  - x.io\n  resources:\n  - as\n  verbs:\n  - get\n",
		"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: c%d\n  labels:\n    a: l%d\n",
	}
	var text strings.Builder
	text.WriteString(crd)
	for i := range n {
		fmt.Fprintf(&text, kinds[i%len(kinds)]+"---\n", i, i/100)
	}
	return []byte(text.String())
}

// TestManyObjects limits the memory of a State of many objects, as a multiple of the size of the text. With quadratic
// time, reading, checking or comparing it would take minutes.
func TestManyObjects(t *testing.T) {
	const n = 20_000
	text := manyObjects(n)
	before := heap()
	s, err := cluster.Load(t.Context(), nil, render.Text("-", text))
	if err != nil {
		t.Fatal(err)
	}
	if used := heap() - before; used > 8*int64(len(text)) {
		t.Errorf("%d MB of memory for %d MB of text", used>>20, len(text)>>20)
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("%d problems, %v", len(problems), err)
	}
	differences, err := cluster.Diff(s, s.Clone())
	if err != nil || len(differences) > 0 {
		t.Errorf("%d differences, %v", len(differences), err)
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
