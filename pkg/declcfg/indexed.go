package declcfg

import "github.com/opm-toolchain/opm/internal/format"

// decodeIn is Decode for an object whose JSON is d. The values of properties are parts of d, so that they are not
// scanned again when the bundle is written.
func (o *Object) decodeIn(d *format.Document) (any, error) {
	if o.Schema == SchemaBundle {
		b := new(Bundle)
		if bundleIn(d, 0, b) {
			o.keepOrder(b)
			return b, nil
		}
		d.Reset() // each value would be searched for in all values found so far
	}
	return o.Decode()
}

// bundleIn decodes value i of d into b. Like the functions below for parts of a bundle, it reports false for a bundle
// that opm itself does not write, as [bundleOf] does; it does not scan the text again.
func bundleIn(d *format.Document, i int, b *Bundle) (ok bool) {
	for key, v := range d.Members(i) {
		switch string(key) {
		case "schema":
			b.Schema, ok = d.Text(v)
		case "name":
			b.Name, ok = d.Text(v)
		case "package":
			b.Package, ok = d.Text(v)
		case "image":
			b.Image, ok = d.Text(v)
		case "properties":
			b.Properties, ok = listIn(d, v, propertyIn)
		case "relatedImages":
			b.RelatedImages, ok = listIn(d, v, relatedImageIn)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return d.IsObject(i)
}

func propertyIn(d *format.Document, i int) (p Property, ok bool) {
	for key, v := range d.Members(i) {
		switch string(key) {
		case "type":
			p.Type, ok = d.Text(v)
		case "value":
			p.Value, ok = d.Raw(v), true
		default:
			return p, false
		}
		if !ok {
			return p, false
		}
	}
	return p, d.IsObject(i)
}

func relatedImageIn(d *format.Document, i int) (r RelatedImage, ok bool) {
	for key, v := range d.Members(i) {
		switch string(key) {
		case "name":
			r.Name, ok = d.Text(v)
		case "image":
			r.Image, ok = d.Text(v)
		default:
			return r, false
		}
		if !ok {
			return r, false
		}
	}
	return r, d.IsObject(i)
}

func listIn[T any](d *format.Document, i int, element func(*format.Document, int) (T, bool)) ([]T, bool) {
	n := 0
	for range d.Elements(i) {
		n++
	}
	list := make([]T, 0, n)
	for v := range d.Elements(i) {
		e, ok := element(d, v)
		if !ok {
			return nil, false
		}
		list = append(list, e)
	}
	return list, d.IsList(i)
}
