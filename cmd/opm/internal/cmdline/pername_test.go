package cmdline

import (
	"fmt"
	"testing"
)

func TestPerName(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "50051 map[]"},
		{[]string{"1", "2"}, "2 map[]"},
		{[]string{"old=1", "2", "new=3"}, "2 map[new:3 old:1]"},
		{[]string{"unix:/run/a=b", "localhost:1=2"}, "localhost:1=2 map[]"},
		{[]string{"old=a=b"}, "50051 map[old:a=b]"},
		{[]string{"old="}, `nothing after the equals sign of "old="`},
		{[]string{"old=1", "old=2"}, "old is given twice"},
	} {
		v, got := PerName{All: "50051"}, ""
		for _, arg := range tt.args {
			if err := v.Set(arg); err != nil {
				got = err.Error()
			}
		}
		if got == "" {
			got = fmt.Sprint(v.String(), " ", v.Each)
		}
		if got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.args, got, tt.want)
		}
	}
}
