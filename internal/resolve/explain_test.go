package resolve

import (
	"encoding/json"
	"strings"
	"testing"
)

func explain(t testing.TB, ns *ClassicRequest) (*ClassicResult, *Explanation) {
	t.Helper()
	answer, err := ns.Resolve(t.Context(), Options{Explain: true, Timeout: patient.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	return answer, answer.Explanation
}

// TestExplain checks the text for people.
func TestExplain(t *testing.T) {
	const (
		sa  = "sub sa a stable\n"
		one = "installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0\n"
	)
	for _, tt := range []struct{ name, scenario, want string }{
		{"the head", sa, `
Subscription sa (subs.yaml:1) gets a.v2.0.0 from channel stable
  rather than a.v1.1.0: nearer to the head of the channel
`},
		{"an update", one, `
Subscription sa (subs.yaml:1) gets a.v1.1.0 from channel stable
  rather than the installed a.v1.0.0: an update is preferred to the installed bundle
  not a.v2.0.0, which does not update a.v1.0.0 directly: it replaces a.v1.1.0 (c/catalog.json:3:158)
`},
		{"the installed head", "installed a.v2.0.0 like\nsub sa a stable installed=a.v2.0.0", `
Subscription sa (subs.yaml:1) keeps the installed a.v2.0.0
`},
		{"a dependency", sa + "has a.v2.0.0 package=d:>=1.0.0", `
Subscription sa (subs.yaml:1) gets a.v2.0.0 from channel stable
  rather than a.v1.1.0: nearer to the head of the channel
a.v2.0.0 requires package d ">=1.0.0" (c/catalog.json:8:171), met by d.v2.0.0 from channel stable
  rather than d.v1.0.0 from channel stable: nearer to the head of the channel
  rather than d.v3.0.0: default channels come first
`},
		{"an older version", sa + "has a.v2.0.0 package=d:>=9.0.0", `
Subscription sa (subs.yaml:1) gets a.v1.1.0 from channel stable
  rather than a.v1.0.0: nearer to the head of the channel
  not a.v2.0.0, which requires package d ">=9.0.0"; there is only 3.0.0, 2.0.0 and 1.0.0 (c/catalog.json:8:171)
  Each of these would give a.v2.0.0:
    - let a.v2.0.0 require package d ">=9.0.0 || 3.0.0" instead of ">=9.0.0" (c/catalog.json:8:171)
    - add a version of package d in the range ">=9.0.0"
`},
		{"the update is withheld", one + "has a.v1.1.0 requires-gvk=X", `
Subscription sa (subs.yaml:1) keeps the installed a.v1.0.0
  not a.v1.1.0, which requires an operator that provides X (g.io/v1); there is none (c/catalog.json:7:171)
  not a.v2.0.0, which does not update a.v1.0.0 directly: it replaces a.v1.1.0 (c/catalog.json:3:158)
  This would give a.v1.1.0:
    - add an operator that provides X (g.io/v1)
`},
		{"a skipped provider", sa + "channel z s* z.v1 z.v2<z.v1~z.v1\nhas z.v1 gvk=K\nhas a.v2.0.0 requires-gvk=K", `
Subscription sa (subs.yaml:1) gets a.v1.1.0 from channel stable
  rather than a.v1.0.0: nearer to the head of the channel
  not a.v2.0.0, which requires an operator that provides K (g.io/v1); z.v1 satisfies it, but is skipped or not reached from the head of its channel (c/catalog.json:10:171)
  This would give a.v2.0.0:
    - add an operator that provides K (g.io/v1)
`},
		{"a newer version is not offered", one + "channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0 a.v3<a.v2.0.0 a.v4<a.v3~a.v3\n" +
			"channel a fast a.v5<a.v1.1.0\nrange a.v4 >=2.0.0 <4.0.0", `
Subscription sa (subs.yaml:1) gets a.v1.1.0 from channel stable
  rather than the installed a.v1.0.0: an update is preferred to the installed bundle
  not a.v5, which is in channel fast; the Subscription asks for stable (c/catalog.json:6:64)
  not a.v4, which does not update a.v1.0.0 directly: it replaces a.v3, skips a.v3 and has the skipRange ">=2.0.0 <4.0.0", which 1.0.0 is not in (c/catalog.json:5:268)
  not a.v3, which is skipped by a.v4 in channel stable (c/catalog.json:5:215)
  not a.v2.0.0, which does not update a.v1.0.0 directly (c/catalog.json:5:158)
`},
		{"a rejected bundle in two channels", sa + "has a.v2.0.0 requires-gvk=K\nchannel z s* z.v3\n" +
			"channel z f z.v1 z.v2<z.v1 z.v3<z.v2\nhas z.v1 gvk=K\nhas z.v2 gvk=K\nhas z.v3 gvk=K\n" +
			"has z.v2 requires-gvk=X\nhas z.v3 requires-gvk=Y", `
Subscription sa (subs.yaml:1) gets a.v2.0.0 from channel stable
  rather than a.v1.1.0: nearer to the head of the channel
a.v2.0.0 requires an operator that provides K (g.io/v1) (c/catalog.json:11:171), met by z.v1 from channel f
  not z.v3 from channel s, which requires an operator that provides Y (g.io/v1); there is none (c/catalog.json:15:252)
  not z.v2, which requires an operator that provides X (g.io/v1); there is none (c/catalog.json:17:252)
`},
		{"startingCSV", "sub sa a stable starting=a.v1.0.0", `
Subscription sa (subs.yaml:1) gets a.v1.0.0 from channel stable
  not a.v2.0.0 and a.v1.1.0, which are not the startingCSV a.v1.0.0 (c/catalog.json:3:158, c/catalog.json:3:101)
`},
		{"deprecated", sa + "has a.v2.0.0 deprecated", `
Subscription sa (subs.yaml:1) gets a.v1.1.0 from channel stable
  rather than a.v1.0.0: nearer to the head of the channel
  not a.v2.0.0, which has the property olm.deprecated (c/catalog.json:8:171)
`},
		{"nobody provides", sa + "has a.v2.0.0 requires-gvk=X\nhas a.v1.1.0 requires-gvk=X\nhas a.v1.0.0 requires-gvk=Y", `
Subscription sa needs a.v2.0.0, a.v1.1.0 or a.v1.0.0 (subs.yaml:1)
  a.v2.0.0 and a.v1.1.0 require an operator that provides X (g.io/v1); there is none (c/catalog.json:8:171, c/catalog.json:7:171)
  a.v1.0.0 requires an operator that provides Y (g.io/v1); there is none (c/catalog.json:6:171)
Each of these would help:
  - add an operator that provides Y (g.io/v1)
  - add an operator that provides X (g.io/v1)
`},
		{"two changes are needed", sa + "channel a stable* a.v1.0.0\nhas a.v1.0.0 requires-gvk=X\nhas a.v1.0.0 package=d:>=9.0.0", `
Subscription sa needs a.v1.0.0 (subs.yaml:1)
  a.v1.0.0 requires package d ">=9.0.0"; there is only 3.0.0, 2.0.0 and 1.0.0 (c/catalog.json:6:265)
This would help:
  - let a.v1.0.0 require package d ">=9.0.0 || 3.0.0" instead of ">=9.0.0", and add an operator that provides X (g.io/v1) (c/catalog.json:6:265)
`},
		{"deprecated startingCSV", "has a.v2.0.0 deprecated\nsub sa a stable starting=a.v2.0.0", `
Subscription sa needs a.v2.0.0 (subs.yaml:1)
  a.v2.0.0 has the property olm.deprecated (c/catalog.json:8:171)
This would help:
  - remove the startingCSV a.v2.0.0 of Subscription sa (subs.yaml:1)
`},
		{"an installed operator blocks", sa + "has a.v1.0.0 gvk=K\nhas a.v1.1.0 gvk=K\nhas a.v2.0.0 gvk=K\ninstalled z.v1.0.0 gvk=K", `
Subscription sa needs a.v2.0.0, a.v1.1.0 or a.v1.0.0 (subs.yaml:1)
  a.v2.0.0, a.v1.1.0 and a.v1.0.0 provide K (g.io/v1), as does the installed z.v1.0.0 (c/catalog.json:8:171, c/catalog.json:7:171, …)
    the installed z.v1.0.0 has no Subscription, so it has to stay (state.yaml:1)
This would help:
  - remove the installed z.v1.0.0 (state.yaml:1)
`},
		{"an installed operator blocks updates", one + "has a.v1.1.0 package=d:>=2.0.0 <3.0.0\ninstalled d.v1.0.0 like\n" +
			"sub sd d stable installed=d.v1.0.0\ninstalled e.v1 package=d:<2.0.0", `
Subscription sa (subs.yaml:1) keeps the installed a.v1.0.0
  not a.v1.1.0, which requires package d ">=2.0.0 <3.0.0" (c/catalog.json:7:171)
    d.v2.0.0 is of package d, as is the installed d.v1.0.0 (c/catalog.json:10:87)
      the installed e.v1 requires package d "<2.0.0" (state.yaml:3)
        the installed e.v1 has no Subscription, so it has to stay (state.yaml:3)
  not a.v2.0.0, which does not update a.v1.0.0 directly: it replaces a.v1.1.0 (c/catalog.json:3:158)
  Each of these would give a.v1.1.0:
    - let a.v1.1.0 require package d ">=2.0.0 <3.0.0 || 1.0.0" instead of ">=2.0.0 <3.0.0" (c/catalog.json:7:171)
    - remove the installed e.v1 (state.yaml:3)
Subscription sd (subs.yaml:2) keeps the installed d.v1.0.0
  not d.v2.0.0, which is of package d, as is the installed d.v1.0.0 (c/catalog.json:10:87)
    the installed e.v1 requires package d "<2.0.0" (state.yaml:3)
      the installed e.v1 has no Subscription, so it has to stay (state.yaml:3)
  not d.v3.0.0, which is in channel beta; the Subscription asks for stable (c/catalog.json:5:99)
  This would give d.v2.0.0:
    - remove the installed e.v1 (state.yaml:3)
`},
		{"a Subscription blocks", sa + "channel a stable* a.v1.0.0\nhas a.v1.0.0 package=d:>=3.0.0\n" +
			"installed d.v1.0.0 like\nsub sd d stable installed=d.v1.0.0", `
Subscription sa needs a.v1.0.0 (subs.yaml:1)
  a.v1.0.0 requires package d ">=3.0.0" (c/catalog.json:6:171)
    d.v3.0.0 is of package d, as is d.v2.0.0 or the installed d.v1.0.0 (c/catalog.json:11:87)
      Subscription sd needs d.v2.0.0 or the installed d.v1.0.0 (subs.yaml:2)
Each of these would help:
  - use channel beta in Subscription sd (subs.yaml:2)
  - let a.v1.0.0 require package d ">=3.0.0 || 1.0.0" instead of ">=3.0.0" (c/catalog.json:6:171)
  - remove Subscription sa (subs.yaml:1)
  - remove the installed d.v1.0.0 and Subscription sd (state.yaml:1, subs.yaml:2)
`},
		{"Subscriptions of two channels", "sub s1 d stable\nsub s2 d beta", `
Subscription s1 needs d.v2.0.0 or d.v1.0.0 (subs.yaml:1)
  d.v2.0.0 and d.v1.0.0 are of package d, as is d.v3.0.0 or d.v1.0.0 (c/catalog.json:10:87, c/catalog.json:9:87)
    Subscription s2 needs d.v3.0.0 or d.v1.0.0 (subs.yaml:2)
Each of these would help:
  - use channel beta in Subscription s1 (subs.yaml:1)
  - use channel stable in Subscription s2 (subs.yaml:2)
  - remove Subscription s1 (subs.yaml:1)
  - remove Subscription s2 (subs.yaml:2)
`},
		{"two installed operators of a package", "installed a.v1.0.0 like\ninstalled a.v1.1.0 like\n", `
the installed a.v1.0.0 has no Subscription, so it has to stay (state.yaml:1)
  the installed a.v1.0.0 is of package a, as is the installed a.v1.1.0 (state.yaml:1)
    the installed a.v1.1.0 has no Subscription, so it has to stay (state.yaml:2)
Each of these would help:
  - remove the installed a.v1.0.0 (state.yaml:1)
  - remove the installed a.v1.1.0 (state.yaml:2)
`},
		{"either", sa + "channel b s* b.v1.0.0 b.v2.0.0<b.v1.0.0\nsub sb b s\n" +
			"has a.v2.0.0 package=d:>=2.0.0 <3.0.0\nhas b.v2.0.0 package=d:<2.0.0", `
Subscription sa (subs.yaml:1) gets a.v2.0.0 from channel stable
  rather than a.v1.1.0: nearer to the head of the channel
Subscription sb (subs.yaml:2) gets b.v1.0.0 from channel s
  not b.v2.0.0, which requires package d "<2.0.0" (c/catalog.json:15:171)
    d.v1.0.0 is of package d, as is d.v2.0.0 (c/catalog.json:11:87)
      a.v2.0.0 requires package d ">=2.0.0 <3.0.0" (c/catalog.json:10:171)
        a.v2.0.0 was chosen first
  Each of these would give b.v2.0.0:
    - let b.v2.0.0 require package d "<2.0.0 || 2.0.0" instead of "<2.0.0" (c/catalog.json:15:171)
    - let a.v2.0.0 require package d ">=2.0.0 <3.0.0 || 1.0.0" instead of ">=2.0.0 <3.0.0" (c/catalog.json:10:171)
a.v2.0.0 requires package d ">=2.0.0 <3.0.0" (c/catalog.json:10:171), met by d.v2.0.0 from channel stable
OLM may install a.v1.1.0, b.v2.0.0 and d.v1.0.0 instead: it takes Subscriptions and operators in a random order.
`},
		{"no such package", "sub se ab stable\nchannel abc stable* abc.v1", `
Subscription se finds no operators in package ab in the catalog (subs.yaml:1)
This would help:
  - use package a in Subscription se (subs.yaml:1)
`},
		{"no such channel", "sub sa a x", `
Subscription sa finds no operators in channel x of package a in the catalog (subs.yaml:1)
This would help:
  - use channel stable in Subscription sa (subs.yaml:1)
`},
		{"no such catalog", "sub sa a stable catalog=x", `
Subscription sa finds no operators from catalog x in namespace ns (subs.yaml:1)
This would help:
  - use catalog c of namespace ns in Subscription sa (subs.yaml:1)
`},
		{"an API twice", sa + "channel a stable* a.v1.0.0\nhas a.v1.0.0 gvk=K\nhas a.v1.0.0 gvk=K", `
Subscription sa needs a.v1.0.0 (subs.yaml:1)
  a.v1.0.0 provides K (g.io/v1) twice (c/catalog.json:6:171)
`},
		{"preference of catalogs", sa + "has a.v2.0.0 requires-gvk=K\nchannel a stable* a.v2.0.0\ncatalog lo\nchannel z s* z.v1\nhas z.v1 gvk=K\n" +
			"catalog x1 5\nchannel z s* z.v1\nhas z.v1 gvk=K\ncatalog x2 5\nchannel z s* z.v1\nhas z.v1 gvk=K", `
Subscription sa (subs.yaml:1) gets a.v2.0.0 from channel stable of catalog c
a.v2.0.0 requires an operator that provides K (g.io/v1) (c/catalog.json:8:171), met by z.v1 from channel s of catalog x1
  rather than z.v1 from channel s of catalog x2: catalogs are sorted by name
  rather than z.v1 from channel s of catalog lo: catalogs of higher priority come first
`},
		{"an error with a place", sa + "has a.v2.0.0 package=d:bogus", `
c/ns/stable/a.v2.0.0: Could not get version from string: "bogus" (c/catalog.json:8:171)
`},
		{"an error of a channel", sa + "channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0 a.v5", `
c/ns/stable: a unique replacement chain within a channel is required to determine the relative order between channel entries, but 2 replacement chains were found in channel "stable" of package "a": a.v2.0.0...a.v1.0.0, a.v5 (c/catalog.json:5:1)
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := parseScenario(t, base+tt.scenario)
			verifyExplanation(t, ns)
			_, explanation := explain(t, ns)
			var got strings.Builder
			if err := explanation.WriteText(&got, 0, ""); err != nil {
				t.Fatal(err)
			}
			if want := tt.want[1:]; got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// TestExplainJSON checks the output for programs.
func TestExplainJSON(t *testing.T) {
	_, explanation := explain(t, parseScenario(t, base+"sub sa a stable\nhas a.v2.0.0 requires-gvk=X"))
	got, err := json.MarshalIndent(explanation, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{
  "decisions": [
    {
      "subscription": "sa",
      "place": {
        "file": "subs.yaml",
        "line": 1
      },
      "chosen": "c/ns/stable/a.v1.1.0",
      "preferred": [
        {
          "over": "c/ns/stable/a.v1.0.0",
          "rule": "nearer to the head of the channel"
        }
      ],
      "rejected": [
        {
          "kind": "requirement",
          "subjects": [
            "c/ns/stable/a.v2.0.0"
          ],
          "text": "a.v2.0.0 requires an operator that provides X (g.io/v1); there is none",
          "places": [
            {
              "file": "c/catalog.json",
              "line": 8,
              "column": 171
            }
          ]
        }
      ],
      "wanted": "c/ns/stable/a.v2.0.0",
      "changes": [
        {
          "text": "add an operator that provides X (g.io/v1)"
        }
      ]
    }
  ]
}`; string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWriteText checks that a short explanation keeps the least indented lines in order, and counts the others.
func TestWriteText(t *testing.T) {
	deep := &Reason{Text: "a", Because: []*Reason{
		{Text: "b", Because: []*Reason{{Text: "c"}, {Text: "d"}}},
		{Text: "e", Because: []*Reason{{Text: "f"}}},
	}}
	explanation := &Explanation{Reasons: []*Reason{deep, {Text: "g"}}, Changes: []Change{{Text: "h"}}}
	for limit, want := range map[int]string{
		0: "a|  b|    c|    d|  e|    f|g|This would help:|  - h|",
		9: "a|  b|    c|    d|  e|    f|g|This would help:|  - h|",
		8: "a|  b|    c|  e|g|This would help:|  - h|(2 more lines below)|",
		7: "a|  b|  e|g|This would help:|  - h|(3 more lines below)|",
		5: "a|g|This would help:|  - h|(5 more lines below)|",
		3: "a|g|(7 more lines below)|",
		1: "(9 more lines below)|",
	} {
		var got strings.Builder
		if err := explanation.WriteText(&got, limit, "below"); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(got.String(), "\n", "|"); got != want {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
	}
}
