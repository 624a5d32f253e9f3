//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package image

// lockDir does nothing: directories cannot be locked here.
func lockDir(string) (unlock func(), err error) { return func() {}, nil }
