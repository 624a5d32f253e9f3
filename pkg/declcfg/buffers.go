package declcfg

// buffers holds memory for chunks of text, in use or not. Unlike a sync.Pool it keeps what it has when garbage is
// collected: with the small heap that reading a catalog needs that is often, and new memory costs more than filling it.
var buffers = make(bufferList, 6)

type bufferList chan []byte

// get returns an empty buffer with room for a chunk.
func (l bufferList) get() []byte {
	select {
	case b := <-l:
		return b[:0]
	default:
		return make([]byte, 0, chunkSize+chunkSize/4)
	}
}

// put gives a buffer back, which must not be used any more. One that has grown for a large document is let go, and so
// is one without room for a chunk.
func (l bufferList) put(b []byte) {
	if cap(b) < chunkSize || cap(b) > 4*chunkSize {
		return
	}
	select {
	case l <- b:
	default:
	}
}
