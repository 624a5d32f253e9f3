package format

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// checkScalar compares the string s with upstream, but for numbers beyond floating point.
func checkScalar(t *testing.T, s string) {
	t.Helper()
	want := oracleYAML(t, s)
	if isHugeNumber(s) {
		want = `"` + s + "\"\n"
	}
	same(t, s, string(AppendYAML(nil, AppendString(nil, s))), want)
}

func TestStringsThatResolve(t *testing.T) {
	for _, line := range []string{
		"y Y yes Yes YES yEs n N no No NO nO on On ON oN off Off OFF true True TRUE tRUE false False FALSE",
		"null Null NULL nULL ~ << = yess nu tru falsey ~~ nothing",
		".nan .NaN .NAN .nAN .inf .Inf .INF +.inf -.Inf +.INF +.nan -.NAN ..inf +inf inf nan",
		"1 -1 +1 1. .5 -.5 +5 1e3 1E+3 1e 1e+ e1 . - + -. .e1 1.2.3 1_000 1__0_ _1 -_1 .5_5 ._5 0777 08 1a",
		"0x1F 0X1f 0x 0xG 0o17 0O17 0o18 0b11 0B1 0b12 0b-1 0b+1 -0b-1 +0b1 -0x1 0_x1 0x_1 0b 0bb1",
		"0xFFFFFFFFFFFFFFFF 0xFFFFFFFFFFFFFFFFF +0xFFFFFFFFFFFFFFFF -0x8000000000000000 -0x8000000000000001",
		"1e400 -1e400 1e-400 .5e999 .5_5e999 1_0e400 123456789012345678901234567890 9007199254740993 1e308 1e309",
		"12:30 12:30:45 12:60 1:2:3.5 1:2. 1: :1 190:20:30.15_ 1_0:20 -1:30 +1:5 12:3x 12:030 0:0:0",
		"2024-02-29 2023-02-29 2024-2-9 2024-02-29T12:30:45Z 2024-02-29t1:2:3.5+01:00 2024-02-29T12:30:45 20240-1-1",
		"2001-12-14T21:59:43.10-05:00 2001-12-14T21:59:43,1Z 2024-13-01 02024-1-1 2024-1-1x 2024- 2024-1-1T",
	} {
		for s := range strings.FieldsSeq(line) {
			checkScalar(t, s)
		}
	}
	checkScalar(t, "")
	checkScalar(t, "2024-02-29 12:30:45.5")
	checkScalar(t, "2024-02-29 12:30:45 Z")
	checkScalar(t, strings.Repeat("1_", 100))
}

// Whatever is made of the characters of numbers is quoted exactly if upstream quotes it.
func TestNumberLikeStrings(t *testing.T) {
	const characters = "0189.:_+-eExobTnf "
	var all func(prefix string, n int)
	all = func(prefix string, n int) {
		checkScalar(t, prefix)
		for i := 0; n > 0 && i < len(characters); i++ {
			all(prefix+characters[i:i+1], n-1)
		}
	}
	all("", 3)

	r := rand.New(rand.NewPCG(1, 2))
	for range shared.Number(100_000, 10_000) {
		s := make([]byte, 4+r.IntN(8))
		for i := range s {
			s[i] = characters[r.IntN(len(characters))]
		}
		checkScalar(t, string(s))
	}
}
