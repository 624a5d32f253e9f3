package declcfg

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/opm-toolchain/opm/internal/format"
)

// MergeDuplicates returns metas without the objects that are equal to an earlier one, in the same order. Objects are
// equal if their values are; they are read again if they have the same schema, package and name. The error joins an
// [*Error] for each object of the format that differs from an earlier one of the same schema, package and name. Objects
// of other schemas may differ.
func MergeDuplicates(metas []*Meta) ([]*Meta, error) {
	type identity struct{ schema, pkg, name string }
	first := make(map[identity][]*Meta, len(metas))
	var merged []*Meta
	var errs []error
	for _, m := range metas {
		id := identity{m.Schema, m.Owner(), m.Name}
		same, err := equalTo(m, first[id])
		switch {
		case err != nil:
			errs = append(errs, err)
			continue
		case same:
			continue
		case len(first[id]) > 0 && rank(m.Schema) != rankOther:
			name := m.Name
			if m.Schema == SchemaDeprecations {
				name = m.Package
			}
			errs = append(errs, &Error{Pos: m.Pos, Err: fmt.Errorf(
				"%s %q differs from the one at %s: only equal objects are merged", m.Schema, name, first[id][0].Pos)})
			continue
		}
		first[id] = append(first[id], m)
		merged = append(merged, m)
	}
	return merged, errors.Join(errs...)
}

func equalTo(m *Meta, others []*Meta) (bool, error) {
	if len(others) == 0 {
		return false, nil
	}
	text, err := m.sortedJSON()
	if err != nil {
		return false, err
	}
	for _, other := range others {
		otherText, err := other.sortedJSON()
		if err != nil || bytes.Equal(text, otherText) {
			return err == nil, err
		}
	}
	return false, nil
}

func (m *Meta) sortedJSON() ([]byte, error) {
	o, err := m.Read()
	if err != nil {
		return nil, err
	}
	return format.AppendCompact(nil, o.JSON()), nil
}
