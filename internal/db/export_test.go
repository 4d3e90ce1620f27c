package db

import "time"

// Follow makes the server's pool go by a test's clock.
func (s *Server) Follow(now func() time.Time) { s.conns.now = now }
