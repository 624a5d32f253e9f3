{{/* The name of all objects, from the release: two releases in one namespace have their own. */}}
{{- define "opm-catalog.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels by which the Service and the policies find the pods. They never change. */}}
{{- define "opm-catalog.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "opm-catalog.labels" -}}
{{ include "opm-catalog.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "opm-catalog.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ required "image.tag or image.digest is missing" .tag }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* A probe. The argument is a list: the values of all probes, those of this one, and the path over HTTP. */}}
{{- define "opm-catalog.probe" -}}
{{- $all := index . 0 -}}
{{- if eq $all.type "http" }}
httpGet:
  path: {{ index . 2 }}
  port: http
{{- else }}
grpc:
  port: 50051
  service: ""
{{- end }}
{{ toYaml (index . 1) }}
{{- end -}}
