package clusters

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// operators writes packages p0, p1 ... of two versions each. requires returns what all of a package require, as names
// of packages.
func operators(w *bufio.Writer, n int, requires func(i int) []string) {
	for i := range n {
		fmt.Fprintf(w, `{"schema": "olm.package", "name": "p%d", "defaultChannel": "c"}`+"\n", i)
		fmt.Fprintf(w, `{"schema": "olm.channel", "package": "p%[1]d", "name": "c", "entries": [`+
			`{"name": "p%[1]d.v2", "replaces": "p%[1]d.v1"}, {"name": "p%[1]d.v1"}]}`+"\n", i)
		var more strings.Builder
		for _, name := range requires(i) {
			fmt.Fprintf(&more, `, {"type": "olm.package.required", "value": {"packageName": %q, "versionRange": ">0.0.0"}}`, name)
		}
		for v := 1; v <= 2; v++ {
			fmt.Fprintf(w, `{"schema": "olm.bundle", "package": "p%[1]d", "name": "p%[1]d.v%[2]d", "image": "r.example/b@%[3]s", `+
				`"properties": [{"type": "olm.package", "value": {"packageName": "p%[1]d", "version": "%[2]d.0.0"}}%[4]s]}`+"\n",
				i, v, attack.Digest, more.String())
		}
	}
}

// TestResolveSlow checks the time to resolve catalogs in which many bundles are candidates, or must be examined.
func TestResolveSlow(t *testing.T) {
	nested := strings.Repeat(`{"all": {"constraints": [`, 500) + `{"cel": {"rule": "true"}}` + strings.Repeat(`]}}`, 500)
	for _, tt := range []struct {
		name  string
		write func(w *bufio.Writer)
		args  string
		code  int
		want  string // on stdout or stderr
	}{
		{"diamonds", func(w *bufio.Writer) { // 2^100 ways lead to what is missing
			operators(w, 200, func(i int) []string {
				if i >= 198 {
					return []string{"missing"}
				}
				return []string{fmt.Sprint("p", i/2*2+2), fmt.Sprint("p", i/2*2+3)}
			})
			// The limit is in time of processors, so that it does not depend on what else the machine does.
		}, "--package p0 --olm classic --solver-timeout 5m", 1, "package missing"},
		{"a long chain of dependencies", func(w *bufio.Writer) {
			operators(w, 5000, func(i int) []string {
				if i == 4999 {
					return nil
				}
				return []string{fmt.Sprint("p", i+1)}
			})
		}, "--package p0 --olm classic", 0, "p4999.v2"},
		{"a long channel", func(w *bufio.Writer) {
			attack.Package(w)
			attack.Chain(w, 20_000, "")
			for i := range 20_000 {
				attack.Bundle(w, fmt.Sprint("b", i), fmt.Sprintf("1.%d.0", i), "")
			}
		}, "--package p --installed b5", 0, "nor 19,973 other candidates"},
		{"constraints within constraints", func(w *bufio.Writer) {
			attack.Package(w)
			attack.Chain(w, 1, "")
			attack.Bundle(w, "b0", "1.0.0", `, {"type": "olm.constraint", "value": `+nested+`}`)
		}, "--package p", 1, "olm.constraint"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			attack.Write(t, filepath.Join(dir, "c.json"), tt.write)
			args := append([]string{"resolve", "c.json"}, strings.Fields(tt.args)...)
			r := program.Call{Args: args, Dir: dir, Limit: attack.TooLong}.Bounded(t, 2*attack.FewBytes)
			if r.Code != tt.code || !strings.Contains(r.Stdout+r.Stderr, tt.want) {
				t.Errorf("exit status %d, want %d; no %q in %.500s %.500s", r.Code, tt.code, tt.want, r.Stdout, r.Stderr)
			}
		})
	}
}

// TestResolveStateSlow checks the time to resolve many Subscriptions.
func TestResolveStateSlow(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	attack.Write(t, filepath.Join(dir, "c.json"), func(w *bufio.Writer) {
		operators(w, n, func(int) []string { return nil })
	})
	for _, tt := range []struct {
		name      string
		count     int
		namespace func(i int) string
		pkg       func(i int) int
		code      int
	}{
		{"in as many namespaces", 3000, func(i int) string { return fmt.Sprint("ns", i) }, func(i int) int { return i }, 0},
		{"of one package in one namespace", n, func(int) string { return "ns0" }, func(int) int { return 0 }, 0},
		{"of packages that are missing", 1000, func(i int) string { return fmt.Sprint("ns", i%10) }, func(i int) int { return n + i }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attack.Write(t, filepath.Join(dir, "state.json"), func(w *bufio.Writer) {
				groups := map[string]bool{}
				for i := range tt.count {
					ns := tt.namespace(i)
					if !groups[ns] {
						groups[ns] = true
						fmt.Fprintf(w, `{"kind": "OperatorGroup", "apiVersion": "operators.coreos.com/v1", `+
							`"metadata": {"name": "og", "namespace": %q}}`+"\n", ns)
					}
					fmt.Fprintf(w, `{"kind": "Subscription", "apiVersion": "operators.coreos.com/v1alpha1", "metadata": {"name": "s%d", `+
						`"namespace": %q}, "spec": {"name": "p%d", "source": "c", "sourceNamespace": "olm"}}`+"\n", i, ns, tt.pkg(i))
				}
			})
			r := program.Call{
				Args: []string{"resolve", "--state", "state.json", "--catalog", "olm/c=c.json"}, Dir: dir, Limit: attack.TooLong,
			}.Bounded(t, 3*attack.FewBytes)
			if r.Code != tt.code || strings.Count(r.Stdout, "namespace ns") == 0 || (r.Stderr != "") != (tt.code != 0) {
				t.Errorf("exit status %d, want %d; stdout %.300s, stderr %.300s", r.Code, tt.code, r.Stdout, r.Stderr)
			}
		})
	}
}

// TestResolveStateGarbage checks that each invalid state for --state - is an error with a position, without any output.
func TestResolveStateGarbage(t *testing.T) {
	deep := strings.Repeat(`{"apiVersion": "v1", "kind": "List", "items": [`, 5000)
	for _, tt := range []struct{ name, input, want string }{
		{"bytes", strings.Repeat("\x00\xff\xfe", 1<<20), "stdin: error: binary file"},
		{"no object", "- a\n- b\n", "stdin:1:1: error: want an object"},
		{"Lists within Lists", deep + strings.Repeat("]}", 5000), "more than 8 Lists inside each other"},
		{"unclosed Lists", deep, "stdin:1:235001: error: the JSON object that starts at 1:1 does not end"},
		{"aliases", aliases(), "stdin:8:25: error: aliases expand beyond 64 MB"},
		{"a long name", `{"apiVersion": "v1", "kind": "` + strings.Repeat("x", 8<<20) + `"`, "does not end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := program.Call{
				Args: []string{"resolve", "--state", "-"}, Stdin: strings.NewReader(tt.input), Limit: attack.TooLong,
			}.Bounded(t, 3*attack.FewBytes)
			if r.Code != 1 || r.Stdout != "" || !strings.Contains(r.Stderr, tt.want) || strings.Contains(r.Stderr, "panic") {
				t.Errorf("exit status %d, stdout %.100s, stderr %.500s", r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}

// aliases returns YAML whose aliases stand for 10^9 texts.
func aliases() string {
	text := "a0: &a0 [" + strings.Repeat("x, ", 9) + "x]\n"
	for i := 1; i < 9; i++ {
		text += fmt.Sprintf("a%[1]d: &a%[1]d [%[2]s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return text
}
