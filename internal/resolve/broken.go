package resolve

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A place is the location of a fact: a value of an object in a catalog or, without an object, a position.
type place struct {
	meta    *declcfg.Meta
	pointer jsontext.Pointer
	pos     declcfg.Pos
}

// find returns the position. It reads the object again.
func (p place) find() declcfg.Pos {
	switch {
	case p.meta == nil:
		return p.pos
	case p.pointer == "":
		return p.meta.Pos
	}
	return p.meta.Place(p.pointer)
}

func (c *channel) place() place {
	if c.meta == nil {
		return c.entries[0].bundle.place()
	}
	return place{meta: c.meta}
}

func (b *bundle) place() place {
	if b.installed != nil {
		return place{pos: b.installed.Pos}
	}
	return place{meta: b.meta}
}

// propertyPlace returns the place of a property, by its index in b.properties.
func (b *bundle) propertyPlace(i int) place {
	p := b.place()
	p.pointer = jsontext.Pointer("/properties/" + strconv.Itoa(b.properties[i].Index))
	return p
}

// A brokenError is an error that keeps OLM from resolving, with its subject and its place.
type brokenError struct {
	error
	subject string
	place   place
}

func (e *brokenError) Unwrap() error { return e.error }

// located adds a place to an error unless it already has one.
func located(err error, subject string, place place) error {
	if _, ok := errors.AsType[*brokenError](err); ok {
		return err
	}
	return &brokenError{err, subject, place}
}

// An aggregateError is several errors. It prints each text once, in brackets if there are several, as OLM does.
type aggregateError []error

func (e aggregateError) Error() string {
	var texts []string
	for _, err := range e {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (e aggregateError) Unwrap() []error { return e }

// aggregate joins errors. It returns nil if there are none.
func aggregate(errs []error) error {
	var all aggregateError
	for _, err := range errs {
		if inner, ok := err.(aggregateError); ok { //nolint:errorlint // a wrapped one is printed as a whole
			all = append(all, inner...)
		} else {
			all = append(all, err)
		}
	}
	if all == nil {
		return nil
	}
	return all
}
