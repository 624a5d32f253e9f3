package declcfg_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		name       string
		object     any
		json, yaml string
	}{
		{
			"an empty package", &declcfg.Package{},
			`{
    "schema": "",
    "name": "",
    "defaultChannel": ""
}
`,
			`---
defaultChannel: ""
name: ""
schema: ""
`,
		},
		{
			"a full package",
			&declcfg.Package{
				Schema: "olm.package", Name: "n<>&\u2028", DefaultChannel: "y", Icon: &declcfg.Icon{Data: []byte("<svg>"), MediaType: "m"},
				Description: "two\nlines\n", Properties: []declcfg.Property{{Type: "t", Value: jsontext.Value(`{"b":1.50,"a":[]}`)}},
				Unknown: jsontext.Value(`{"zz":{"b":1,"a":{}},"aa":[1]}`),
			},
			`{
    "schema": "olm.package",
    "name": "n<>&\u2028",
    "defaultChannel": "y",
    "icon": {
        "base64data": "PHN2Zz4=",
        "mediatype": "m"
    },
    "description": "two\nlines\n",
    "properties": [
        {
            "type": "t",
            "value": {
                "a": [],
                "b": 1.5
            }
        }
    ],
    "aa": [
        1
    ],
    "zz": {
        "a": {},
        "b": 1
    }
}
`,
			`---
aa:
- 1
defaultChannel: "y"
description: |
  two
  lines
icon:
  base64data: PHN2Zz4=
  mediatype: m
name: 'n<>&` + "\u2028" + `'
properties:
- type: t
  value:
    a: []
    b: 1.5
schema: olm.package
zz:
  a: {}
  b: 1
`,
		},
		{
			"an icon without data", &declcfg.Package{Icon: &declcfg.Icon{Unknown: jsontext.Value(`{"x":"y"}`)}},
			`{
    "schema": "",
    "name": "",
    "defaultChannel": "",
    "icon": {
        "base64data": null,
        "mediatype": "",
        "x": "y"
    }
}
`,
			`---
defaultChannel: ""
icon:
  base64data: null
  mediatype: ""
  x: "y"
name: ""
schema: ""
`,
		},
		{
			"an empty channel", &declcfg.Channel{Schema: "olm.channel", Properties: []declcfg.Property{}},
			`{
    "schema": "olm.channel",
    "name": "",
    "package": "",
    "entries": null
}
`,
			`---
entries: null
name: ""
package: ""
schema: olm.channel
`,
		},
		{
			"a channel with an empty list", &declcfg.Channel{Entries: []declcfg.Entry{}},
			`{
    "schema": "",
    "name": "",
    "package": "",
    "entries": []
}
`,
			`---
entries: []
name: ""
package: ""
schema: ""
`,
		},
		{
			"a full channel",
			&declcfg.Channel{
				Schema: "olm.channel", Name: "n", Package: "p",
				Entries: []declcfg.Entry{
					{}, {Name: "e", Replaces: "r", Skips: []string{"b", "a"}, SkipRange: "<1", Unknown: jsontext.Value(`{"priority":1}`)},
					{Name: "f", Skips: []string{}},
				},
				Properties: []declcfg.Property{{Type: "t"}},
				Unknown:    jsontext.Value(`{"a":null}`),
			},
			`{
    "schema": "olm.channel",
    "name": "n",
    "package": "p",
    "entries": [
        {
            "name": ""
        },
        {
            "name": "e",
            "replaces": "r",
            "skips": [
                "b",
                "a"
            ],
            "skipRange": "<1",
            "priority": 1
        },
        {
            "name": "f"
        }
    ],
    "properties": [
        {
            "type": "t",
            "value": null
        }
    ],
    "a": null
}
`,
			`---
a: null
entries:
- name: ""
- name: e
  priority: 1
  replaces: r
  skipRange: <1
  skips:
  - b
  - a
- name: f
name: "n"
package: p
properties:
- type: t
  value: null
schema: olm.channel
`,
		},
		{
			"an empty bundle",
			&declcfg.Bundle{Schema: "olm.bundle", Properties: []declcfg.Property{}, RelatedImages: []declcfg.RelatedImage{}},
			`{
    "schema": "olm.bundle",
    "image": ""
}
`,
			`---
image: ""
schema: olm.bundle
`,
		},
		{
			"a full bundle",
			&declcfg.Bundle{
				Schema: "olm.bundle", Name: "n", Package: "p", Image: "i",
				Properties: []declcfg.Property{
					{Type: "made", Value: jsontext.Value(`{"b":"\u2028","a":{"d":[],"c":1}}`), Ordered: true},
					{Type: "read", Value: jsontext.Value(`{"b":"\u0041\/","a":{"d":12345678901234567890,"c":1e400}}`), Unknown: jsontext.Value(`{"errors":[]}`)},
				},
				RelatedImages: []declcfg.RelatedImage{{}, {Name: "r", Image: "i", Unknown: jsontext.Value(`{"x":true}`)}},
				Unknown:       jsontext.Value(`{}`),
			},
			`{
    "schema": "olm.bundle",
    "name": "n",
    "package": "p",
    "image": "i",
    "properties": [
        {
            "type": "made",
            "value": {
                "b": "\u2028",
                "a": {
                    "d": [],
                    "c": 1
                }
            }
        },
        {
            "type": "read",
            "value": {
                "a": {
                    "c": 1e400,
                    "d": 12345678901234567890
                },
                "b": "A/"
            },
            "errors": []
        }
    ],
    "relatedImages": [
        {
            "name": "",
            "image": ""
        },
        {
            "name": "r",
            "image": "i",
            "x": true
        }
    ]
}
`,
			`---
image: i
name: "n"
package: p
properties:
- type: made
  value:
    a:
      c: 1
      d: []
    b: '` + "\u2028" + `'
- errors: []
  type: read
  value:
    a:
      c: 1e400
      d: 12345678901234567890
    b: A/
relatedImages:
- image: ""
  name: ""
- image: i
  name: r
  x: true
schema: olm.bundle
`,
		},
		{
			"empty deprecations", &declcfg.Deprecations{Schema: "olm.deprecations"},
			`{
    "schema": "olm.deprecations",
    "package": "",
    "entries": null
}
`,
			`---
entries: null
package: ""
schema: olm.deprecations
`,
		},
		{
			"full deprecations",
			&declcfg.Deprecations{
				Schema: "olm.deprecations", Package: "p", Unknown: jsontext.Value(`{"z":1,"y":2}`),
				Entries: []declcfg.Deprecation{
					{}, {
						Reference: declcfg.Reference{Schema: "olm.bundle", Name: "n", Unknown: jsontext.Value(`{"b":1,"a":2}`)},
						Message:   "m", Unknown: jsontext.Value(`{"d":1,"c":2}`),
					},
				},
			},
			`{
    "schema": "olm.deprecations",
    "package": "p",
    "entries": [
        {
            "reference": {
                "schema": ""
            },
            "message": ""
        },
        {
            "reference": {
                "schema": "olm.bundle",
                "name": "n",
                "a": 2,
                "b": 1
            },
            "message": "m",
            "c": 2,
            "d": 1
        }
    ],
    "y": 2,
    "z": 1
}
`,
			`---
entries:
- message: ""
  reference:
    schema: ""
- c: 2
  d: 1
  message: m
  reference:
    a: 2
    b: 1
    name: "n"
    schema: olm.bundle
package: p
schema: olm.deprecations
"y": 2
z: 1
`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for format, want := range map[declcfg.Format]string{declcfg.JSON: tt.json, declcfg.YAML: tt.yaml, "": tt.json} {
				const before = "before\n"
				if got := string(format.Append([]byte(before), tt.object)); got != before+want {
					t.Errorf("%s: got\n%s\nwant\n%s", format, got, before+want)
				}
			}
		})
	}
}

// TestAppendAndDecode checks that a decoded value equals the encoded one, and is encoded to the same bytes again.
func TestAppendAndDecode(t *testing.T) {
	for _, object := range []any{
		&declcfg.Package{
			Schema: "olm.package", Name: "yes", DefaultChannel: "1.0", Description: " a\n\tb \n\n", Icon: &declcfg.Icon{Data: []byte{0, 255}},
			Unknown: jsontext.Value(`{"z":"null"}`),
		},
		&declcfg.Channel{
			Schema: "olm.channel", Name: "", Package: "p", Entries: []declcfg.Entry{{Name: "0x10", Unknown: jsontext.Value(`{"":[{}]}`)}},
		},
		&declcfg.Bundle{
			Schema: "olm.bundle", Name: "n", Image: "😀\u0000\ufffd", RelatedImages: []declcfg.RelatedImage{{}},
			Properties: []declcfg.Property{{Type: "<<", Value: jsontext.Value(`{"y":1e400}`)}, {Value: jsontext.Value(`"2020-01-01"`)}},
		},
		&declcfg.Deprecations{Schema: "olm.deprecations", Entries: []declcfg.Deprecation{{Message: "# no comment"}}},
	} {
		for _, format := range []declcfg.Format{declcfg.JSON, declcfg.YAML} {
			text := format.Append(nil, object)
			got, err := one(t, string(text)).Decode()
			if err != nil || dump(got) != dump(object) {
				t.Errorf("%s: %s\nis read as %s, %v\nwant %s", format, text, dump(got), err, dump(object))
			}
			if again := format.Append(nil, got); string(again) != string(text) {
				t.Errorf("%s: %s\nis written as\n%s", format, text, again)
			}
		}
	}
}
