package declcfg

import "github.com/opm-toolchain/opm/internal/format"

// decodeIn is Decode for an object whose JSON is d. The values of properties stay where they are in d, so that they are
// not scanned again when the bundle is written.
func (o *Object) decodeIn(d *format.Document) (any, error) {
	if o.Schema == SchemaBundle {
		b := new(Bundle)
		if bundleIn(d, 0, b) {
			o.keepOrder(b)
			return b, nil
		}
		d.Reset() // each value would be looked for among all that were found so far
	}
	return o.Decode()
}

// bundleIn reads value i of d into b, and the functions that follow read parts of it. They report false for all but the
// bundles that opm itself writes.
func bundleIn(d *format.Document, i int, b *Bundle) bool {
	return membersIn(d, i, func(key string, i int) bool {
		switch key {
		case "schema":
			return textIn(d, i, &b.Schema)
		case "name":
			return textIn(d, i, &b.Name)
		case "package":
			return textIn(d, i, &b.Package)
		case "image":
			return textIn(d, i, &b.Image)
		case "properties":
			return listIn(d, i, &b.Properties, propertyIn)
		case "relatedImages":
			return listIn(d, i, &b.RelatedImages, relatedImageIn)
		}
		return false
	})
}

func propertyIn(d *format.Document, i int, p *Property) bool {
	return membersIn(d, i, func(key string, i int) bool {
		switch key {
		case "type":
			return textIn(d, i, &p.Type)
		case "value":
			p.Value = d.Raw(i)
			return true
		}
		return false
	})
}

func relatedImageIn(d *format.Document, i int, r *RelatedImage) bool {
	return membersIn(d, i, func(key string, i int) bool {
		switch key {
		case "name":
			return textIn(d, i, &r.Name)
		case "image":
			return textIn(d, i, &r.Image)
		}
		return false
	})
}

func membersIn(d *format.Document, i int, member func(key string, i int) bool) bool {
	for key, value := range d.Members(i) {
		if !member(string(key), value) {
			return false
		}
	}
	return d.IsObject(i)
}

func listIn[T any](d *format.Document, i int, into *[]T, element func(*format.Document, int, *T) bool) bool {
	*into = []T{}
	for value := range d.Elements(i) {
		var v T
		if !element(d, value, &v) {
			return false
		}
		*into = append(*into, v)
	}
	return d.IsList(i)
}

func textIn(d *format.Document, i int, into *string) (ok bool) {
	*into, ok = d.Text(i)
	return ok
}
