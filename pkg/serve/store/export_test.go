package store

import "slices"

// BundleMessage returns the message of a bundle in one part.
func (s *Store) BundleMessage(pkg, channel, name string) ([]byte, error) {
	b, err := s.Bundle(pkg, channel, name)
	if err != nil {
		return nil, err
	}
	parts, err := b.Message(nil)
	return slices.Concat(parts...), err
}
