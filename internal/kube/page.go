package kube

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/plural"
)

// A page parses the answer to one request of a list. It begins again if the request is repeated.
type page struct {
	*reader
	kind    kind
	version string

	started bool
	start   int // of the objects of this page in the index
	count   int
	next    string // the token of the next page, "" after the last one

	resourceVersion string
}

// parse reads the answer object by object.
func (p *page) parse(body io.Reader) error {
	if p.started {
		p.index = p.index[:p.start]
	}
	p.started, p.start, p.count, p.next = true, len(p.index), 0, ""
	in := &limited{r: body, limit: p.opts.MaxObject}
	in.reset()
	d := jsontext.NewDecoder(in)
	if t, err := d.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return notJSON(err)
	}
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "metadata":
			var meta metav1.ListMeta
			if err := json.UnmarshalDecode(d, &meta); err != nil {
				return err
			}
			p.next, p.resourceVersion = meta.Continue, meta.ResourceVersion
		case "items":
			if err := p.items(d, in); err != nil {
				return err
			}
		default:
			if err := d.SkipValue(); err != nil {
				return err
			}
		}
	}
	_, err := d.ReadToken()
	return err
}

func (p *page) items(d *jsontext.Decoder, in *limited) error {
	switch t, err := d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == jsontext.KindNull: // an empty list
		return nil
	case t.Kind() != jsontext.KindBeginArray:
		return errors.New("items: not a list")
	}
	for d.PeekKind() == jsontext.KindBeginObject {
		in.reset()
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := p.add(raw); err != nil {
			return err
		}
		p.count++
	}
	in.reset()
	t, err := d.ReadToken()
	if err == nil && t.Kind() != jsontext.KindEndArray {
		err = errors.New("items: not a list of objects")
	}
	return err
}

// notJSON returns the error about an answer that does not begin like JSON.
func notJSON(err error) error {
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); err != nil && !ok {
		return err
	}
	return errors.New("the answer is not JSON of an API server")
}

// A limited reader fails after limit bytes without a call of reset.
type limited struct {
	r           io.Reader
	limit, left int64
}

func (l *limited) reset() { l.left = l.limit + 1<<20 } // the decoder reads ahead

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, &limitError{fmt.Sprintf("an object is larger than %s", plural.Bytes(l.limit))}
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// A limitError is the error about an answer that is too large. The request is not repeated.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// add adds an object to the spool and the index.
func (p *page) add(raw jsontext.Value) error {
	o, err := p.object(raw)
	if err != nil {
		return err
	}
	text, err := o.text(p.kind.partial)
	if err != nil {
		return err
	}
	if _, err := p.raw.Write(text); err != nil {
		return err
	}
	e := p.entry(o)
	e.list, e.offset, e.size = uint32(len(p.lists)), p.end, uint32(len(text))
	p.index = append(p.index, e)
	p.end += int64(e.size)
	p.note(o)
	return p.checkSize(p.end, len(p.index))
}

// entry returns the entry of an object of the page, without its place.
func (p *page) entry(o *object) entry {
	return entry{kind: p.kind.kind, group: p.kind.group, namespace: o.Metadata.Namespace, name: o.Metadata.Name}
}
