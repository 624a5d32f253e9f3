package search

import (
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A searcher looks for texts in one package or in all packages.
type searcher struct {
	texts []string // in lower case
	pkg   string   // "" for all
}

// A textSet is a set of texts of a searcher: bit i stands for text i.
type textSet uint64

// maxWords is the maximum number of words of a text that are searched one by one.
const maxWords = 64

// searchers returns the searches for a text: first for the whole text and then, if it has several words, for the words.
// Each should run only if the searches before it find no value.
func searchers(text, pkg string) []searcher {
	text = strings.ToLower(text)
	all := []searcher{{[]string{text}, pkg}}
	if words := strings.Fields(text); len(words) > 1 && len(words) <= maxWords {
		all = append(all, searcher{words, pkg})
	}
	return all
}

// every returns the set of all texts.
func (s searcher) every() textSet { return ^textSet(0) >> (maxWords - len(s.texts)) }

// in returns the texts that are contained in at least one spelling of a value.
func (s searcher) in(spellings ...string) (found textSet) {
	for _, spelling := range spellings {
		spelling = strings.ToLower(spelling)
		for i, text := range s.texts {
			if strings.Contains(spelling, text) {
				found |= 1 << i
			}
		}
	}
	return found
}

// A finding is a value that contains texts. For a description, the value is the words around the texts.
type finding struct {
	fieldText
	texts textSet
}

// find returns the findings among the values of a package. inPackage are the texts that the name of the package
// contains.
func (s searcher) find(inPackage textSet, values ...fieldText) (all []finding) {
	for _, v := range values {
		var found textSet
		switch v.field {
		case FieldDescription:
			all = append(all, s.excerpts(v.text)...)
			continue
		case FieldBundle, FieldImage:
			found = s.in(v.text) &^ inPackage
		case FieldAPI:
			group, rest, _ := strings.Cut(v.text, "/")
			version, kind, _ := strings.Cut(rest, "/")
			found = s.in(v.text, kind+"."+group, kind+"."+version+"."+group)
		default:
			found = s.in(v.text)
		}
		if found != 0 {
			v.text = strings.Clone(v.text) // v.text shares memory with the object
			all = append(all, finding{v, found})
		}
	}
	return all
}

// excerpts returns the words around each text in a description.
func (s searcher) excerpts(description string) (all []finding) {
	lower := strings.ToLower(description)
	at := map[string]int{} // index in all
	for i, text := range s.texts {
		from := strings.Index(lower, text)
		if from < 0 {
			continue
		}
		words := excerpt(description, from, from+len(text))
		j, ok := at[words]
		if !ok {
			j = len(all)
			at[words] = j
			all = append(all, finding{fieldText: fieldText{FieldDescription, words}})
		}
		all[j].texts |= 1 << i
	}
	return all
}

// objectTexts are the searched values of an object.
type objectTexts struct {
	bundle *declcfg.Bundle // the object, if it is a bundle
	texts  []fieldText     // each once; they share memory with the object
}

// A fieldText is a value and its field.
type fieldText struct {
	field Field
	text  string
}

// textsOf returns the searched values of an object. Only packages and bundles have any.
func textsOf(o *declcfg.Object) (objectTexts, error) {
	if o.Schema != declcfg.SchemaPackage && o.Schema != declcfg.SchemaBundle {
		return objectTexts{}, nil
	}
	v, err := o.Decode()
	if err != nil {
		return objectTexts{}, err
	}
	var t objectTexts
	switch v := v.(type) {
	case *declcfg.Package:
		t.texts = []fieldText{{FieldName, o.Name}, {FieldDescription, v.Description}}
	case *declcfg.Bundle:
		t.bundle = v
		t.texts = textsOfBundle(v)
	}
	return t, nil
}

func textsOfBundle(b *declcfg.Bundle) []fieldText {
	var all []fieldText
	seen := map[fieldText]bool{}
	add := func(field Field, text string) {
		t := fieldText{field, text}
		if text != "" && !seen[t] {
			seen[t] = true
			all = append(all, t)
		}
	}
	add(FieldBundle, b.Name)
	add(FieldImage, b.Image)
	for _, image := range b.RelatedImages {
		add(FieldImage, image.Image)
	}
	for i := range b.Properties {
		var api declcfg.GVK
		if p := &b.Properties[i]; p.Type == declcfg.PropertyGVK && p.Unmarshal(&api) == nil {
			add(FieldAPI, api.Group+"/"+api.Version+"/"+api.Kind)
		}
	}
	about := MetadataOf(b)
	add(FieldDisplayName, about.DisplayName)
	add(FieldProvider, about.Provider.Name)
	for _, keyword := range about.Keywords {
		add(FieldKeyword, keyword)
	}
	for category := range strings.SplitSeq(about.Annotations.Categories, ",") {
		add(FieldCategory, strings.TrimSpace(category))
	}
	add(FieldDescription, about.Annotations.Description)
	add(FieldDescription, about.Description)
	return all
}

// aroundMatch is the number of bytes of a description before and after a match from which an excerpt is cut, at the
// ends of words.
const aroundMatch = 40

// excerpt returns the words around a part of a text, on one line. from and to are offsets in the lower-case text, which
// may have another length.
func excerpt(text string, from, to int) string {
	from, to = min(from, len(text)), min(to, len(text))
	start, end := max(0, from-aroundMatch), min(len(text), to+aroundMatch)
	if i := strings.IndexAny(text[start:from], " \n\t"); start > 0 && i >= 0 {
		start += i
	}
	if i := strings.LastIndexAny(text[to:end], " \n\t"); end < len(text) && i >= 0 {
		end = to + i
	}
	words := strings.Join(strings.Fields(strings.ToValidUTF8(text[start:end], "")), " ")
	if start > 0 {
		words = "… " + words
	}
	if end < len(text) {
		words += " …"
	}
	return words
}

// Metadata has the fields of [declcfg.CSVMetadata] that are listed and searched. Decoding all fields takes several
// times as long.
type Metadata struct {
	DisplayName string          `json:"displayName"`
	Keywords    []string        `json:"keywords"`
	Provider    declcfg.AppLink `json:"provider"`
	Description string          `json:"description"`

	Annotations struct {
		Categories  string `json:"categories"`  // separated by commas
		Description string `json:"description"` // short description
	} `json:"annotations"`
}

// MetadataOf returns the metadata of b from either form.
func MetadataOf(b *declcfg.Bundle) Metadata {
	for i := range b.Properties {
		var m Metadata
		if p := &b.Properties[i]; p.Type == declcfg.PropertyCSVMetadata && p.Unmarshal(&m) == nil {
			return m
		}
	}
	csv := b.CSVMetadata() // from the manifests
	m := Metadata{
		DisplayName: csv.DisplayName, Keywords: csv.Keywords, Provider: csv.Provider, Description: csv.Description,
	}
	m.Annotations.Categories, m.Annotations.Description = csv.Annotations["categories"], csv.Annotations["description"]
	return m
}
