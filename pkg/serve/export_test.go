package serve

// StoreName is the name of the store in a cache directory.
const StoreName = "catalog" + storeSuffix

// SendMemoryHeld returns the bytes of memory for answers that are held.
func (s *Server) SendMemoryHeld() int64 { return s.opts.guard.SendMemoryHeld() }
