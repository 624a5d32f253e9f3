package schemas

// A memory maps the bytes of a value, with the name of a definition after it, to what was found in it. It is exact,
// because a definition has but one verdict on a value; it only ever forgets.
type memory struct {
	verdicts map[string][]Finding
	size     int // about how many bytes the verdicts take
}

const (
	longestKey    = 8 << 10 // longer values hardly repeat
	memoryLimit   = 4 << 20 // bytes; a large catalog needs less than a tenth
	entryOverhead = 128     // bytes that an entry takes in addition to its key
	findingSize   = 256     // bytes that a finding takes, about
)

// get returns what was found in a value; ok says that it was checked before.
func (m *memory) get(key []byte) (found []Finding, ok bool) {
	found, ok = m.verdicts[string(key)]
	return found, ok
}

// put remembers what was found in a value. A full memory is emptied: what repeats soon is back.
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
