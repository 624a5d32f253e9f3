package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch reads the objects that a question needs, calls use with them, and calls it again after changes, until use
// returns an error or ctx ends, whose errors Watch returns. The State is valid until use returns, and use need not
// close it.
//
// Watch lists objects once and then follows them from the resource versions of the lists. It lists all again if a
// version has expired, or if other kinds or namespaces matter after a change. It watches again if a watch ends or
// fails, with pauses as the API server asks for, or else growing ones; maxFailures in a row are an error. Objects of
// kinds that the API server refused to list are not followed; a refusal to watch is an error.
func (c *Cluster) Watch(ctx context.Context, opts Options, use func(*State) error) error {
	for restarts := 0; ; restarts++ {
		r := c.reader(opts)
		err := r.watch(ctx, use)
		r.raw.Close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, errOutdated):
			return err
		case r.changed:
			restarts = 0
		}
		if err := r.opts.sleep(ctx, pause(restarts)); err != nil {
			return err
		}
	}
}

// errOutdated is returned if everything must be listed again.
var errOutdated = errors.New("the lists are outdated")

// watch lists all objects and follows them. The error is errOutdated if they must be listed again.
func (r *reader) watch(ctx context.Context, use func(*State) error) error {
	state, err := r.state(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.name, err)
	}
	defer func() { state.Close() }()
	if err := use(state.borrowed()); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	events := make(chan event)
	for i, l := range r.lists {
		g.Go(func() error {
			if err := r.follow(ctx, i, events); err != nil {
				return fmt.Errorf("watch %s: %w", l.kind.groupResource(), err)
			}
			return nil
		})
	}
	g.Go(func() error {
		for {
			changes, err := r.gather(ctx, events)
			if err != nil {
				return err
			}
			r.changed = true
			next, err := r.apply(state, changes)
			if err != nil {
				return err
			}
			state.Close()
			state = next
			if err := use(state.borrowed()); err != nil {
				return err
			}
		}
	})
	return g.Wait()
}

// borrowed returns the state for a user that may close it.
func (s *State) borrowed() *State {
	return &State{ReaderAt: s.ReaderAt, Info: s.Info, size: s.size, close: func() error { return nil }}
}

// A list is a list of objects that was read, and can be watched from its resource version.
type list struct {
	kind                                kind
	version, namespace, resourceVersion string
}

// An event is a change of an object of a list.
type event struct {
	list    int
	deleted bool
	raw     jsontext.Value
}

// gatherTime is the time in which changes are gathered for one answer, from the first one: OLM changes several objects
// at once.
const gatherTime = time.Second

// gather waits for a change, and returns it with those that follow within gatherTime.
func (r *reader) gather(ctx context.Context, events <-chan event) (changes []event, err error) {
	var over <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over:
			return changes, nil
		case e := <-events:
			changes = append(changes, e)
			if over == nil {
				over = r.opts.after(gatherTime)
			}
			if r.opts.Objects != nil {
				r.opts.Objects(1)
			}
		}
	}
}

// apply returns the state after changes. The error is errOutdated if other kinds or namespaces matter then.
func (r *reader) apply(s *State, changes []event) (*State, error) {
	type key struct {
		list            uint32
		namespace, name string
	}
	changed := map[key]entry{} // of size 0 if the object is deleted
	var news [][]byte
	for _, c := range changes {
		l := r.lists[c.list]
		p := page{reader: r, kind: l.kind, version: l.version}
		o, err := p.object(c.raw)
		if err != nil {
			return nil, err
		}
		known := r.scopeSize()
		p.note(o)
		if r.scopeSize() != known || c.deleted && p.isNoted() {
			return nil, errOutdated
		}
		e := p.entry(o)
		e.list = uint32(c.list)
		if !c.deleted {
			text, err := o.text(l.kind.partial)
			if err != nil {
				return nil, err
			}
			news = append(news, text)
			e.size, e.offset = uint32(len(text)), -int64(len(news))
		}
		changed[key{e.list, e.namespace, e.name}] = e
	}
	index := slices.DeleteFunc(slices.Clone(s.index), func(e entry) bool {
		_, ok := changed[key{e.list, e.namespace, e.name}]
		return ok
	})
	for _, e := range changed {
		if e.size > 0 {
			index = append(index, e)
		}
	}
	return r.write(s, index, news)
}

// The limits of a watch.
const (
	watchTime   = 5 * time.Minute // after which the API server ends it
	maxFailures = 10              // in a row
)

// pause returns the time to wait after a number of failures in a row.
func pause(failures int) time.Duration {
	return min(100*time.Millisecond<<min(failures, maxFailures), maxWait)
}

// follow watches a list from its resource version, and sends its changes, until ctx ends. The error is errOutdated if
// the list must be read again.
func (r *reader) follow(ctx context.Context, i int, events chan<- event) error {
	l := r.lists[i]
	at := l.resourceVersion
	for failures := 0; ; {
		err := r.once(ctx, l.request(at), func(body io.Reader) error {
			return r.events(body, func(e watch.EventType, version string, raw jsontext.Value) error {
				if failures, at = 0, version; e == watch.Bookmark {
					return nil
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case events <- event{i, e == watch.Deleted, raw}:
					return nil
				}
			})
		})
		wait, isRefused := pause(failures), false
		if refused, ok := errors.AsType[*statusError](err); ok {
			if refused.code == http.StatusGone || refused.code == http.StatusNotFound { // the kind is no longer served
				return errOutdated
			}
			isRefused = refused.after < 0 || refused.after > maxWait
			wait = max(wait, refused.after)
		}
		limit, isLimit := errors.AsType[*limitError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isLimit:
			return limit
		case isRefused || err != nil && failures == maxFailures:
			return err
		}
		failures = min(failures+1, maxFailures)
		if err := r.opts.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// request returns the request to watch a list from a resource version.
func (l list) request(at string) request {
	q := l.kind.request(l.version, l.namespace, "")
	q.query.Del("limit")
	q.query.Set("watch", "true")
	q.query.Set("resourceVersion", at)
	q.query.Set("allowWatchBookmarks", "true")
	q.query.Set("timeoutSeconds", fmt.Sprint(int(watchTime.Seconds())))
	if l.kind.partial {
		q.accept = asPartialObject
	}
	q.silence = watchTime
	return q
}

// events reads the answer to a watch. It calls send with the events, in order.
func (r *reader) events(body io.Reader, send func(watch.EventType, string, jsontext.Value) error) error {
	in := &limited{r: body, limit: r.opts.MaxObject}
	d := jsontext.NewDecoder(in)
	for {
		in.reset()
		var e struct {
			Type   watch.EventType `json:"type"`
			Object jsontext.Value  `json:"object"`
		}
		switch err := json.UnmarshalDecode(d, &e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case e.Type == watch.Error:
			var status metav1.Status
			if err := json.Unmarshal(e.Object, &status, jsonv1Options); err != nil {
				return err
			}
			return refusalOf(int(status.Code), &status)
		}
		var o struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(e.Object, &o); err != nil {
			return err
		}
		if err := send(e.Type, o.Metadata.ResourceVersion, e.Object); err != nil {
			return err
		}
	}
}
