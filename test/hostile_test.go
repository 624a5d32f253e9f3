package test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// hostile are names that have another meaning if they are not escaped, or that XML cannot represent.
var hostile = []string{
	`<img src=x onerror=document.title='hacked'>`, `"><script>document.title='hacked'</script>`, `</script><b>`, `&lt;i&gt;`,
	`javascript:document.title='hacked'`, `../../etc/passwd`, `a/b?c=d&e=f#g`, `%2e%2e%2f`, `package=x&bundle=y`, "a\nb\tc",
	`{{.}} ${1}`, `'; drop`, "\u202egnirts", "🚀 👩‍🚀", `__proto__`, `constructor`, `..`, ` `,
	`"><script>alert(1)</script>`, `' onload='alert(1)`, `&amp;<b>]]>--></title></style>`, "a b", "{{.}} ${x} `y`",
	"\x01\x7f\ufffe\ufffd", "</script><!--", strings.Repeat("long", 200),
}

func jsonOf(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// hostileCatalog returns a catalog in which everything has hostile names and texts.
func hostileCatalog(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, name := range hostile {
		fmt.Fprintf(&text, `{"schema": "olm.package", "name": %[1]s, "defaultChannel": %[1]s, "description": %[1]s, "icon": {"base64data": %[2]q, "mediatype": "text/html"}}
{"schema": "olm.channel", "package": %[1]s, "name": %[1]s, "entries": [{"name": %[1]s, "replaces": "x"}]}
{"schema": "olm.bundle", "package": %[1]s, "name": %[1]s, "image": %[1]s, "relatedImages": [{"name": %[1]s, "image": %[1]s}], "properties": [
 {"type": "olm.package", "value": {"packageName": %[1]s, "version": "1.0.0"}}, {"type": "x", "value": {"__proto__": %[1]s}},
 {"type": "olm.csv.metadata", "value": {"displayName": %[1]s, "description": %[1]s, "provider": {"name": %[1]s}, "keywords": [%[1]s],
  "links": [{"name": %[1]s, "url": %[1]s}, {"name": "js", "url": "javascript:document.title='hacked'"}], "maintainers": [{"name": %[1]s, "email": %[1]s}], "annotations": {"description": %[1]s}, "crdDescriptions": {}, "apiServiceDefinitions": {}}}]}
{"schema": "olm.deprecations", "package": %[1]s, "entries": [{"reference": {"schema": "olm.package"}, "message": %[1]s}]}
`, jsonOf(t, name), base64.StdEncoding.EncodeToString([]byte("<script>document.title='hacked'</script>")))
	}
	return text.String()
}
