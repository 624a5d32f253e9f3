//go:build !race

package shared

const underRace = false
