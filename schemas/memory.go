package schemas

// A memory caches findings. The key consists of the bytes of a value and the name of a definition. Entries never become
// wrong, because a definition always has the same findings for a value; they can only be evicted.
type memory struct {
	verdicts map[string][]Finding
	size     int // approximate size of verdicts in bytes
}

const (
	longestKey    = 8 << 10 // bytes; longer values rarely repeat
	memoryLimit   = 4 << 20 // bytes; a large catalog needs less than a tenth
	entryOverhead = 128     // bytes of an entry in addition to its key
	findingSize   = 256     // approximate bytes of a finding
)

// get returns the cached findings of a value; ok is false if there are none in the memory.
func (m *memory) get(key []byte) (found []Finding, ok bool) {
	found, ok = m.verdicts[string(key)]
	return found, ok
}

// put caches the findings of a value. A full memory is emptied, because frequent values return soon.
func (m *memory) put(key []byte, found []Finding) {
	if len(key) > longestKey {
		return
	}
	size := len(key) + entryOverhead + len(found)*findingSize
	if m.verdicts == nil || m.size+size > memoryLimit {
		m.verdicts, m.size = make(map[string][]Finding), 0
	}
	m.verdicts[string(key)] = found
	m.size += size
}
