package cluster

import (
	stdjson "encoding/json"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	operatorversion "github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// decoders decode the types that have their own decoder, whose errors are about Go and have no position inside the
// value.
var decoders = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(unmarshalUpdateStrategy),
	json.UnmarshalFromFunc(unmarshalConfig),
	inForm[metav1.Time](form{"a time", `"2026-08-20T10:00:00Z"`}),
	inForm[metav1.MicroTime](form{"a time", `"2026-08-20T10:00:00.000000Z"`}),
	inForm[metav1.Duration](durationForm),
	inForm[resource.Quantity](form{"a quantity", `"512Mi"`}),
	inForm[intstr.IntOrString](form{"a whole number or a string", `"8443"`}),
	inForm[operatorversion.OperatorVersion](form{"a version", `"1.2.0"`}),
))

// A form is the form of the values of a type, with an example.
type form struct{ name, example string }

var durationForm = form{"a duration", `"10m"`}

// A formError is the error about a value that does not have the form of its type.
type formError struct {
	want  form
	found jsontext.Value
}

func (e *formError) Error() string {
	text := fmt.Sprintf("want %s such as %s, found %s", e.want.name, e.want.example, describe(e.found))
	switch {
	case e.want != durationForm || !isScalar(e.found.Kind()):
		return text
	case e.found.Kind() == jsontext.KindNumber:
		return fmt.Sprintf("want %s, found %s: write \"%[2]sm\"", e.want.name, describe(e.found))
	}
	return fmt.Sprintf("want %s, found %s: write %s", e.want.name, describe(e.found), e.want.example)
}

// describe describes a value: a short scalar by itself, others by their kind.
func describe(v jsontext.Value) string {
	switch v.Kind() {
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "a list"
	}
	if len(v) > 64 {
		return fmt.Sprintf("%d characters", len(v))
	}
	return string(v)
}

// inForm decodes a type with its own decoder. The error about a value of another kind says which form was expected.
func inForm[T any, P interface {
	*T
	stdjson.Unmarshaler
}](want form) *json.Unmarshalers {
	return json.UnmarshalFunc(func(raw []byte, v P) error {
		err := v.UnmarshalJSON(raw)
		if err != nil && (want == durationForm || jsontext.Value(raw).Kind() != jsontext.KindString) {
			return &formError{want, jsontext.Value(raw).Clone()}
		}
		return err
	})
}

// unmarshalUpdateStrategy decodes an update strategy. The decoder of the type panics if there is no registryPoll.
func unmarshalUpdateStrategy(d *jsontext.Decoder, u *v1alpha1.UpdateStrategy) error {
	var fields struct {
		RegistryPoll *struct {
			Interval duration `json:"interval"`
		} `json:"registryPoll"`
	}
	if err := json.UnmarshalDecode(d, &fields); err != nil || fields.RegistryPoll == nil {
		return err
	}
	raw, err := json.Marshal(&fields)
	if err != nil {
		return err
	}
	return u.UnmarshalJSON(raw)
}

// A duration is the text of a duration, in any form: OLM replaces an invalid one by its default.
type duration string

// UnmarshalJSON accepts any string.
func (u *duration) UnmarshalJSON(raw []byte) error {
	if stdjson.Unmarshal(raw, (*string)(u)) != nil {
		return &formError{durationForm, jsontext.Value(raw).Clone()}
	}
	return nil
}

// unmarshalConfig rejects unknown fields in the config of Subscriptions, as kubectl does: they would have no effect.
func unmarshalConfig(d *jsontext.Decoder, c *v1alpha1.SubscriptionConfig) error {
	type config v1alpha1.SubscriptionConfig
	return json.UnmarshalDecode(d, (*config)(c), json.RejectUnknownMembers(true))
}
