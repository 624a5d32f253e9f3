package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Shard is one of Count consecutive parts of a list of references. The parts are rendered one by one, perhaps on
// different machines. The zero value is the whole list.
type Shard struct {
	Index int // from 0 to Count-1
	Count int
}

// ParseShard parses INDEX/COUNT.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, errIndex := strconv.Atoi(index)
	n, errCount := strconv.Atoi(count)
	s := Shard{i, n}
	if !ok || errIndex != nil || errCount != nil || !s.valid() {
		return Shard{}, fmt.Errorf("%q is not a shard: want INDEX/COUNT with an index from 0, such as 0/4 to 3/4", text)
	}
	return s, nil
}

func (s Shard) valid() bool { return 0 <= s.Index && s.Index < s.Count }

// Of returns the part of refs that belongs to the shard. The lengths of the parts differ by at most 1.
func (s Shard) Of(refs []string) []string {
	if s == (Shard{}) {
		return refs
	}
	start := func(i int) int { // without an overflow, whatever the count
		return i*(len(refs)/s.Count) + min(i, len(refs)%s.Count)
	}
	return refs[start(s.Index):start(s.Index+1)]
}

// A marker is the last object of a rendered shard, with the schema [declcfg.SchemaShard]. When shards are rendered
// together, their markers define the order and reveal missing shards; they are not part of the result.
type marker struct {
	Schema     string `json:"schema"`
	Index      int    `json:"index"`
	Count      int    `json:"count"`
	References string `json:"references"` // digest of the whole list
}

// marker returns a source with the marker of the shard of refs.
func (s Shard) marker(refs []string) declcfg.Source {
	sum := sha256.Sum256([]byte(strings.Join(refs, "\n")))
	m := marker{declcfg.SchemaShard, s.Index, s.Count, "sha256:" + hex.EncodeToString(sum[:])}
	text, _ := json.Marshal(m) // cannot fail
	return Text("shard", text)
}

// A renderedShard has the objects of a shard and its marker.
type renderedShard struct {
	marker
	pos   declcfg.Pos // of the marker
	metas []*declcfg.Meta
}

// merge sorts the metas of shards into the order of one run without shards, and removes the markers. If there are
// shards, all objects must be in shards. The error names a shard that is missing, given twice or from another run. A
// catalog that is a shard itself, or that has no shards, is not changed.
func (c *Catalog) merge(metas []*declcfg.Meta) ([]*declcfg.Meta, error) {
	isMarker := func(m *declcfg.Meta) bool { return m.Schema == declcfg.SchemaShard }
	if c.shard != (Shard{}) || !slices.ContainsFunc(metas, isMarker) {
		return metas, nil
	}
	var shards []renderedShard
	rest := metas
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, isMarker)
		if i < 0 || rest[0].Pos.File != rest[i].Pos.File {
			return nil, &declcfg.Error{Pos: rest[0].Pos, Err: errors.New("only shards can be merged: " +
				"the object is in no shard, or the end of the shard is missing")}
		}
		s := renderedShard{pos: rest[i].Pos, metas: rest[:i]}
		if err := s.read(rest[i]); err != nil {
			return nil, err
		}
		shards = append(shards, s)
		rest = rest[i+1:]
	}
	slices.SortStableFunc(shards, func(a, b renderedShard) int { return cmp.Compare(a.Index, b.Index) })
	if err := checkComplete(shards); err != nil {
		return nil, err
	}
	c.merged = true
	merged := make([]*declcfg.Meta, 0, len(metas))
	for _, s := range shards {
		merged = append(merged, s.metas...)
	}
	return merged, nil
}

// read reads the marker.
func (s *renderedShard) read(m *declcfg.Meta) error {
	o, err := m.Read()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(o.JSON(), &s.marker); err != nil {
		ptr, err := place.TypeError(err)
		return &declcfg.Error{Pos: o.Place(ptr), Pointer: ptr, Err: err}
	}
	if shard := (Shard{s.Index, s.Count}); !shard.valid() {
		return &declcfg.Error{Pos: m.Pos, Err: fmt.Errorf("shard %d of %d does not exist", s.Index, s.Count)}
	}
	return nil
}

// checkComplete returns an error unless the shards, which are sorted, are all shards of one run.
func checkComplete(shards []renderedShard) error {
	first := shards[0]
	for i, s := range shards {
		var err error
		switch {
		case s.Count != first.Count || s.References != first.References:
			err = fmt.Errorf("shard %d of %d is of another list of references than shard %d of %d at %s",
				s.Index, s.Count, first.Index, first.Count, first.pos)
		case s.Index < i:
			err = fmt.Errorf("shard %d is already at %s", s.Index, shards[i-1].pos)
		case s.Index > i:
			return missing(i, len(shards), s.Count)
		}
		if err != nil {
			return &declcfg.Error{Pos: s.pos, Err: err}
		}
	}
	if len(shards) < first.Count {
		return missing(len(shards), len(shards), first.Count)
	}
	return nil
}

func missing(index, given, count int) error {
	return fmt.Errorf("merge shards: shard %d is missing: %d of %d are given", index, given, count)
}
