package kube_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/testing/kubetest"
)

// A watching is a run of Watch.
type watching struct {
	t       *testing.T
	server  *kubetest.Server
	states  chan string        // the texts
	changes chan int           // a value for each page and each change
	over    chan time.Time     // ends the time in which changes are gathered
	pauses  chan time.Duration // before requests are repeated
	result  chan error
	stop    context.CancelFunc
}

// watchServer watches a server with the objects of small.
func watchServer(t *testing.T, fault func(w http.ResponseWriter, r *http.Request, attempt int) bool) *watching {
	t.Helper()
	s := serve(t, small)
	s.Fault = func(w http.ResponseWriter, r *http.Request, _ string, attempt int) bool {
		return fault != nil && r.URL.Query().Get("watch") != "" && fault(w, r, attempt)
	}
	ctx, stop := context.WithCancel(t.Context())
	w := &watching{
		t: t, server: s, stop: stop, states: make(chan string), changes: make(chan int, 1000), over: make(chan time.Time),
		pauses: make(chan time.Duration, 1000), result: make(chan error, 1),
	}
	opts := kube.Options{Question: kube.Question{Command: "simulate"}, Objects: func(n int) { w.changes <- n }}
	kube.SetAfter(&opts, func(time.Duration) <-chan time.Time { return w.over })
	kube.SetSleep(&opts, func(_ context.Context, d time.Duration) error { w.pauses <- d; return nil })
	c := connect(t, s)
	go func() {
		w.result <- c.Watch(ctx, opts, func(state *kube.State) error {
			var text strings.Builder
			if _, err := state.WriteTo(&text); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case w.states <- text.String():
				return nil
			}
		})
	}()
	t.Cleanup(stop)
	return w
}

// next returns the next state.
func (w *watching) next() string {
	w.t.Helper()
	select {
	case text := <-w.states:
		return text
	case err := <-w.result:
		w.t.Fatalf("it ended: %v", err)
	}
	return ""
}

// first returns the first state, after all pages.
func (w *watching) first() string {
	w.t.Helper()
	text := w.next()
	for len(w.changes) > 0 {
		<-w.changes
	}
	return text
}

// answer waits for a number of changes, ends the time in which they are gathered, and returns the next state.
func (w *watching) answer(changes int) string {
	w.t.Helper()
	for range changes {
		<-w.changes
	}
	w.over <- time.Time{}
	return w.next()
}

// wantCurrent checks that a state is what reading the cluster gives now.
func (w *watching) wantCurrent(got string) {
	w.t.Helper()
	want, _ := read(w.t, w.server, kube.Options{Question: kube.Question{Command: "simulate"}})
	if got != want {
		w.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func (w *watching) object(text string) *unstructured.Unstructured {
	w.t.Helper()
	all, err := kubetest.Parse([]byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return all[0]
}

const (
	changedKiln = `{"apiVersion":"pottery.example/v1","kind":"Kiln","metadata":{"name":"big","namespace":"a"},
 "spec":{"heat":9}}`
	newKiln   = `{"apiVersion":"pottery.example/v1","kind":"Kiln","metadata":{"name":"new","namespace":"a"}}`
	newSecret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"new","namespace":"pottery"},
 "data":{"k":"aHVzaA=="}}`
	elsewhere = `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription",
 "metadata":{"name":"loom","namespace":"elsewhere"},"spec":{"name":"loom","source":"crafts","sourceNamespace":"olm"}}`
)

// TestWatch checks that changes that come together give one state, which is the one that reading gives, without listing
// the objects again.
func TestWatch(t *testing.T) {
	w := watchServer(t, nil)
	w.wantCurrent(w.first())
	w.server.Apply(w.object(changedKiln))
	w.server.Apply(w.object(newKiln))
	w.server.Apply(w.object(newSecret))
	text := w.answer(3)
	if !strings.Contains(text, `"heat": 9`) || strings.Contains(text, "aHVzaA") {
		t.Errorf("got\n%s", text)
	}
	names1 := names(t, text)
	for _, want := range []string{"Kiln a/new", "Secret pottery/new"} {
		if !strings.Contains(names1, want) {
			t.Errorf("no %s in\n%s", want, names1)
		}
	}
	w.server.Delete(w.object(newKiln))
	if got := names(t, w.answer(1)); got != strings.Replace(names1, "Kiln a/new\n", "", 1) {
		t.Errorf("after a deletion: got\n%s", got)
	}
	if n := w.lists(); n != 2 { // the other one is of wantCurrent
		t.Errorf("Subscriptions are listed %d times", n)
	}
	w.stop()
	if err := <-w.result; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// lists returns the number of requests that list Subscriptions.
func (w *watching) lists() (n int) {
	for _, r := range w.server.Requests() {
		if strings.Contains(r, "/subscriptions?limit") {
			n++
		}
	}
	return n
}

// TestWatchOtherNamespace checks that everything is listed again if an object makes another namespace matter.
func TestWatchOtherNamespace(t *testing.T) {
	w := watchServer(t, nil)
	if text := w.first(); strings.Contains(text, `"elsewhere"`) {
		t.Fatalf("got\n%s", text)
	}
	w.server.Apply(w.object(elsewhere))
	got := names(t, w.answer(1))
	if !strings.Contains(got, "Secret elsewhere/other") || w.lists() != 2 {
		t.Errorf("%d lists, got\n%s", w.lists(), got)
	}
}

// TestWatchExpired checks that an expired resource version lists everything again, whether the status or an event says
// so.
func TestWatchExpired(t *testing.T) {
	const gone = `{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}}`
	for name, answer := range map[string]func(http.ResponseWriter){
		"status": func(w http.ResponseWriter) { kubetest.Refuse(w, http.StatusGone, "too old resource version") },
		"event":  func(w http.ResponseWriter) { _, _ = w.Write([]byte(gone)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := watchServer(t, func(w http.ResponseWriter, r *http.Request, attempt int) bool {
				expired := strings.HasSuffix(r.URL.Path, "/subscriptions") && attempt == 1
				if expired {
					answer(w)
				}
				return expired
			})
			first := w.next()
			if again := w.next(); again != first || w.lists() != 2 {
				t.Errorf("%d lists, got\n%s", w.lists(), again)
			}
		})
	}
}

// TestWatchEnds checks that a watch that ends goes on at the last resource version.
func TestWatchEnds(t *testing.T) {
	w := watchServer(t, nil)
	w.first()
	w.server.Apply(w.object(newKiln))
	w.answer(1)
	w.server.EndWatches()
	<-w.pauses
	w.server.Apply(w.object(changedKiln))
	if text := w.answer(1); !strings.Contains(text, `"heat": 9`) || w.lists() != 1 {
		t.Errorf("%d lists, got\n%s", w.lists(), text)
	}
	isResumed := func(r string) bool {
		return strings.Contains(r, "/kilns?") && strings.Contains(r, "resourceVersion=101&")
	}
	if all := w.server.Requests(); !slices.ContainsFunc(all, isResumed) {
		t.Errorf("no watch goes on at the last version: %q", all)
	}
}

// TestWatchRefused checks the pauses after refusals, and the error if they do not end.
func TestWatchRefused(t *testing.T) {
	refuse := func(code int, after string, times int) *watching {
		return watchServer(t, func(w http.ResponseWriter, r *http.Request, attempt int) bool {
			refused := strings.HasSuffix(r.URL.Path, "/installplans") || strings.HasSuffix(r.URL.Path, "/subscriptions")
			if refused = refused && attempt <= times; refused {
				w.Header().Set("Retry-After", after)
				kubetest.Refuse(w, code, "no")
			}
			return refused
		})
	}
	w := refuse(http.StatusTooManyRequests, "7", 1)
	w.first()
	if pause := <-w.pauses; pause != 7*time.Second {
		t.Errorf("the pause is %v, want that of Retry-After", pause)
	}
	w = refuse(http.StatusServiceUnavailable, "", 1000)
	w.first()
	if err := <-w.result; err == nil || !strings.HasPrefix(err.Error(), "watch subscriptions.operators.coreos.com: no") {
		t.Errorf("got %v", err)
	}
	var longest time.Duration
	for range 10 {
		longest = max(longest, <-w.pauses)
	}
	if longest != 51200*time.Millisecond {
		t.Errorf("the longest pause is %v", longest)
	}
	w = refuse(http.StatusForbidden, "", 1)
	w.first()
	if err := <-w.result; err == nil || !strings.HasPrefix(err.Error(), "watch subscriptions.operators.coreos.com: no") {
		t.Errorf("got %v", err)
	}
}
