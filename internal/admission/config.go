package admission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkConfigMap(c *corev1.ConfigMap) field.ErrorList {
	data, binary := field.NewPath("data"), field.NewPath("binaryData")
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		errs = append(errs, invalid(data.Key(key), key, validation.IsConfigMapKey(key))...)
		if _, ok := c.BinaryData[key]; ok {
			errs = append(errs, field.Invalid(data.Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(c.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		errs = append(errs, invalid(binary.Key(key), key, validation.IsConfigMapKey(key))...)
		if _, ok := c.Data[key]; ok {
			errs = append(errs, field.Invalid(binary.Key(key), key, "duplicate of key present in data"))
		}
		size += len(c.BinaryData[key])
	}
	return append(errs, checkSize(size, field.NewPath(""))...)
}

func changedConfigMap(c, old *corev1.ConfigMap) field.ErrorList {
	if !isTrue(old.Immutable) {
		return nil
	}
	var errs field.ErrorList
	if !isTrue(c.Immutable) {
		errs = append(errs, forbiddenChange("immutable"))
	}
	if !equality.Semantic.DeepEqual(c.Data, old.Data) {
		errs = append(errs, forbiddenChange("data"))
	}
	if !equality.Semantic.DeepEqual(c.BinaryData, old.BinaryData) {
		errs = append(errs, forbiddenChange("binaryData"))
	}
	return errs
}

func isTrue(b *bool) bool { return b != nil && *b }

// checkSize checks the size of all values of a ConfigMap or a Secret.
func checkSize(size int, at *field.Path) field.ErrorList {
	if size <= corev1.MaxSecretSize {
		return nil
	}
	return field.ErrorList{field.TooLong(at, "", corev1.MaxSecretSize)}
}

// secretKeys are the required keys of a Secret by its type.
var secretKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
}

// secretData returns the data of a Secret with its stringData, as the API server stores it.
func secretData(s *corev1.Secret) map[string][]byte {
	if len(s.StringData) == 0 {
		return s.Data
	}
	data := maps.Clone(s.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, value := range s.StringData {
		data[key] = []byte(value)
	}
	return data
}

func checkSecret(s *corev1.Secret) field.ErrorList {
	data, at := secretData(s), field.NewPath("data")
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(data)) {
		errs = append(errs, invalid(at.Key(key), key, validation.IsConfigMapKey(key))...)
		size += len(data[key])
	}
	errs = append(errs, checkSize(size, at)...)
	for _, key := range secretKeys[s.Type] {
		if _, ok := data[key]; !ok {
			errs = append(errs, field.Required(at.Key(key), ""))
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(
				field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeBasicAuth:
		_, user := data[corev1.BasicAuthUsernameKey]
		if _, password := data[corev1.BasicAuthPasswordKey]; !user && !password {
			errs = append(errs, field.Required(at.Key(corev1.BasicAuthUsernameKey), ""),
				field.Required(at.Key(corev1.BasicAuthPasswordKey), ""))
		}
	case corev1.SecretTypeDockercfg, corev1.SecretTypeDockerConfigJson:
		key := secretKeys[s.Type][0]
		if value, ok := data[key]; ok {
			if err := json.NewDecoder(bytes.NewReader(value)).Decode(&map[string]any{}); err != nil {
				errs = append(errs, field.Invalid(at.Key(key), "<secret contents redacted>", err.Error()))
			}
		}
	}
	return errs
}

func changedSecret(s, old *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	if typeOf(s) != typeOf(old) {
		errs = append(errs, field.Invalid(field.NewPath("type"), typeOf(s), "field is immutable"))
	}
	if !isTrue(old.Immutable) {
		return errs
	}
	if !isTrue(s.Immutable) {
		errs = append(errs, forbiddenChange("immutable"))
	}
	if !equality.Semantic.DeepEqual(secretData(s), secretData(old)) {
		errs = append(errs, forbiddenChange("data"))
	}
	return errs
}

func typeOf(s *corev1.Secret) corev1.SecretType { return cmp.Or(s.Type, corev1.SecretTypeOpaque) }
