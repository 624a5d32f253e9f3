package serve

// StoreName is the name of the store in a cache directory.
const StoreName = "catalog" + storeSuffix

// SendMemoryHeld returns how much of the memory for answers is held.
func (s *Server) SendMemoryHeld() int64 {
	now, _, _ := s.opts.limits.memory.usage()
	return now
}
