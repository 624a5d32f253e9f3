package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/spool"
)

// Options say what to read. Question is required; other zero values are defaults.
type Options struct {
	Question   Question
	Namespaces []string      // read only objects of these namespaces, and of the whole cluster; nil means all
	Spool      spool.Options // the storage of the state

	MaxBytes   int64         // of all objects, uncompressed; 0 means 2 GB
	MaxObject  int64         // of one object, in bytes; 0 means 32 MB
	MaxObjects int           // 0 means 500,000
	Idle       time.Duration // the longest time without any byte of an answer; 0 means one minute

	// Objects, if not nil, is called with the number of objects of each page, and with 1 for each change.
	Objects func(n int)

	// sleep waits before a request is repeated; nil means until the time is over or ctx ends.
	sleep func(ctx context.Context, d time.Duration) error
	after func(d time.Duration) <-chan time.Time // nil means time.After
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 2<<30)
	o.MaxObject = cmp.Or(o.MaxObject, 32<<20)
	o.MaxObjects = cmp.Or(o.MaxObjects, 500_000)
	o.Idle = cmp.Or(o.Idle, time.Minute)
	if o.sleep == nil {
		o.sleep = sleep
	}
	if o.after == nil {
		o.after = time.After
	}
	return o
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Read lists the objects that a question needs. Requests that the API server refuses are in [State.Info]; it is an
// error if it refuses all of them, or does not know the user. The caller closes the State.
func (c *Cluster) Read(ctx context.Context, opts Options) (*State, error) {
	r := c.reader(opts)
	defer r.raw.Close()
	state, err := r.state(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", c.name, err)
	}
	return state, nil
}

// reader returns a reader. The caller closes its spool.
func (c *Cluster) reader(opts Options) *reader {
	return &reader{
		Cluster: c, opts: opts.withDefaults(), raw: spool.NewWriter(opts.Spool),
		operated: map[string]bool{}, installed: map[string]bool{}, catalogs: map[string]bool{},
		contents: map[string]bool{}, owned: map[string]bool{}, read: map[string]bool{},
	}
}

// A reader reads objects into the spool in the order of the answers, and an index of them.
type reader struct {
	*Cluster
	opts    Options
	raw     *spool.Writer
	end     int64 // of raw
	index   []entry
	lists   []list // that were read, in this order
	changed bool   // a watch has sent a change
	info    Info
	read    map[string]bool // the kinds that were read at least in part

	infoText []byte // the text of info

	operated  map[string]bool // namespaces with operators, catalogs or Subscriptions
	installed map[string]bool // namespaces with operators or Subscriptions
	catalogs  map[string]bool // namespaces of the catalogs of Subscriptions
	contents  map[string]bool // namespaces of CatalogSources that serve ConfigMaps
	owned     map[string]bool // names of the CustomResourceDefinitions of operators
	custom    []kind          // the kinds that operators define
}

// An entry is the place of an object in the spool.
type entry struct {
	kind, group, namespace, name string

	list, size uint32 // the index of its list, and the size of its text in bytes
	offset     int64  // of its text in the spool; -1, -2, ... for the first, second, ... of new texts
}

func (e *entry) compare(other *entry) int {
	return cmp.Or(
		cmp.Compare(e.kind, other.kind), cmp.Compare(e.group, other.group),
		cmp.Compare(e.namespace, other.namespace), cmp.Compare(e.name, other.name),
	)
}

func (r *reader) state(ctx context.Context) (*State, error) {
	kinds := r.opts.Question.kinds()
	if kinds == nil {
		return nil, fmt.Errorf("unknown question %q", r.opts.Question.Command)
	}
	if err := r.version(ctx); err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if err := r.kind(ctx, k); err != nil {
			return nil, err
		}
	}
	if slices.Contains(readsCustomResources, r.opts.Question.Command) {
		for _, k := range r.custom {
			if err := r.kind(ctx, k); err != nil {
				return nil, err
			}
		}
	}
	if len(r.read) == 0 && len(r.info.Unread) > 0 {
		return nil, errors.New("the API server refuses all requests: " + r.info.Unread[0].String())
	}
	return r.finish()
}

// version reads the version of the API server.
func (r *reader) version(ctx context.Context) error {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	err := r.get(ctx, request{path: "/version"}, func(body io.Reader) error {
		return json.UnmarshalRead(body, &version, json.MatchCaseInsensitiveNames(false))
	})
	if refused, ok := errors.AsType[*statusError](err); ok && refused.isGap() {
		r.info.Unread = append(r.info.Unread, Unread{Verb: "get", Resource: "/version", Message: refused.Error()})
		return nil
	}
	r.info.KubernetesVersion = version.GitVersion
	return err
}

// kind reads the objects of a kind in all namespaces of its scope.
func (r *reader) kind(ctx context.Context, k kind) error {
	namespaces := r.namespaces(k.scope)
	if len(namespaces) == 0 {
		r.read[k.groupKind().String()] = true // no object of the kind matters
	}
	for _, namespace := range namespaces {
		if err := r.list(ctx, k, namespace); err != nil {
			return err
		}
	}
	return nil
}

// namespaces returns the namespaces to list, sorted; "" lists the whole cluster.
func (r *reader) namespaces(s scope) []string {
	var names map[string]bool
	switch s {
	case clustered:
		return []string{""}
	case everywhere, cataloged:
		if len(r.opts.Namespaces) == 0 {
			return []string{""}
		}
		names = map[string]bool{}
		for _, name := range r.opts.Namespaces {
			names[name] = true
		}
		if s == cataloged {
			maps.Copy(names, r.catalogs)
		}
	case operated:
		names = r.operated
	case installed:
		names = r.installed
	case fromContents:
		names = r.contents
	}
	return slices.Sorted(maps.Keys(names))
}

// list lists the objects of a kind in a namespace, in the first version that the cluster serves.
func (r *reader) list(ctx context.Context, k kind, namespace string) error {
	for _, version := range k.versions {
		err := r.pages(ctx, k, version, namespace)
		refused, ok := errors.AsType[*statusError](err)
		switch {
		case err == nil:
			r.read[k.groupKind().String()] = true
			return nil
		case ok && refused.code == 404:
			continue
		case ok && refused.isGap():
			r.info.Unread = append(r.info.Unread, Unread{
				Verb: "list", Resource: k.groupResource(), Namespace: namespace, Message: refused.Error(),
			})
			return nil
		}
		return fmt.Errorf("list %s: %w", k.groupResource(), err)
	}
	r.read[k.groupKind().String()] = true // the cluster does not have the kind
	return nil
}

// maxRestarts is the number of times that a list is read again from its beginning because it expired. After that, it is
// continued at another resource version.
const maxRestarts = 2

// pages reads the pages of a list.
func (r *reader) pages(ctx context.Context, k kind, version, namespace string) error {
	start, restarts, inconsistent := len(r.index), 0, false
	resourceVersion := "" // of the first page
	seen := map[string]bool{}
	for token := ""; ; {
		p := page{reader: r, kind: k, version: version}
		err := r.get(ctx, k.request(version, namespace, token), p.parse)
		refused, isStatus := errors.AsType[*statusError](err)
		switch {
		case isStatus && refused.code == 410 && restarts < maxRestarts:
			restarts++
			r.index, token, resourceVersion = r.index[:start], "", ""
			clear(seen)
			continue
		case isStatus && refused.code == 410 && refused.next != "" && !seen[refused.next]:
			inconsistent, token = true, refused.next
			seen[token] = true
			continue
		case err != nil:
			r.index = r.index[:start]
			return err
		}
		resourceVersion = cmp.Or(resourceVersion, p.resourceVersion)
		if r.opts.Objects != nil {
			r.opts.Objects(p.count)
		}
		if p.next == "" {
			break
		}
		if seen[p.next] {
			return errors.New("the API server repeats a page: its continue token was used before")
		}
		token = p.next
		seen[token] = true
	}
	if inconsistent {
		r.info.Inconsistent = append(r.info.Inconsistent, k.groupKind().String())
	}
	r.lists = append(r.lists, list{k, version, namespace, resourceVersion})
	return nil
}

// checkSize returns an error about too many objects.
func (r *reader) checkSize(size int64, objects int) error {
	switch {
	case size > r.opts.MaxBytes:
		return &limitError{fmt.Sprintf("the objects are larger than %s", plural.Bytes(r.opts.MaxBytes))}
	case objects > r.opts.MaxObjects:
		return &limitError{fmt.Sprintf("more than %s", plural.Of(r.opts.MaxObjects, "object"))}
	}
	return nil
}

// finish sorts the objects into the text of the state.
func (r *reader) finish() (*State, error) {
	raw, err := r.raw.Finish()
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	if err := r.finishInfo(); err != nil {
		return nil, err
	}
	return r.write(raw, r.index, nil)
}

// write writes the objects of an index, from the spool raw and new texts, as the text of a state. Of equal objects,
// only the last one belongs to the text: two lists may have it, and a list may have changed while it was read. The
// others follow the text.
func (r *reader) write(raw io.ReaderAt, index []entry, news [][]byte) (*State, error) {
	out := spool.NewWriter(r.opts.Spool)
	defer out.Close()
	if _, err := out.Write(r.infoText); err != nil {
		return nil, err
	}
	slices.SortStableFunc(index, func(a, b entry) int { return cmp.Or(a.compare(&b), cmp.Compare(a.list, b.list)) })
	all := make([]entry, 0, len(index))
	var others []entry
	for i, e := range index {
		if i+1 < len(index) && e.compare(&index[i+1]) == 0 {
			others = append(others, e)
		} else {
			all = append(all, e)
		}
	}
	last := len(all)
	all = append(all, others...)
	s := &State{Info: &r.info, size: int64(len(r.infoText)), index: all}
	end := s.size
	var buf []byte
	for i := range all {
		e := &all[i]
		var text []byte
		if e.offset < 0 {
			text = news[-1-e.offset]
		} else {
			buf = slices.Grow(buf[:0], int(e.size))[:e.size]
			text = buf
			if _, err := raw.ReadAt(text, e.offset); err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
		}
		if _, err := out.Write(text); err != nil {
			return nil, err
		}
		e.offset = end
		end += int64(e.size)
		if i < last {
			s.size = end
		}
	}
	if err := r.checkSize(end, len(index)); err != nil {
		return nil, err
	}
	blob, err := out.Finish()
	if err != nil {
		return nil, err
	}
	blob.Forget()
	s.ReaderAt, s.close = blob, blob.Close
	return s, nil
}

// finishInfo completes the Info and its text.
func (r *reader) finishInfo() error {
	r.info.APIVersion, r.info.Kind, r.info.Name = InfoAPIVersion, InfoKind, "cluster"
	r.info.Namespaces = slices.Sorted(slices.Values(r.opts.Namespaces))
	for _, u := range r.info.Unread {
		for _, k := range slices.Concat(kinds, r.custom) {
			if k.groupResource() == u.Resource {
				delete(r.read, k.groupKind().String())
			}
		}
	}
	r.info.Read = slices.Sorted(maps.Keys(r.read))
	r.info.Inconsistent = slices.Compact(slices.Sorted(slices.Values(r.info.Inconsistent)))
	raw, err := json.Marshal(&r.info, jsonv1Options)
	if err != nil {
		return err
	}
	r.infoText, err = indented(raw)
	return err
}
