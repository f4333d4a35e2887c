{{/*
The prefix of all manifest names. It differs between releases, so that several releases can share a namespace: `team` and `team-parley` both
get the suffix `-parley`. A name of more than 40 characters is cut and gets a hash, because unit names follow it. Fails for a release name
that Kubernetes would refuse in the names of Services, which are created only after the migrations.
*/}}
{{- define "parley.name" -}}
{{- $suffix := printf "-%s" .Chart.Name }}
{{- $name := .Release.Name }}
{{- if or (not (contains .Chart.Name $name)) (hasSuffix $suffix $name) }}{{ $name = print $name $suffix }}{{ end }}
{{- if gt (len $name) 40 }}{{ $name = printf "%s-%s" (trunc 31 $name | trimSuffix "-") (sha256sum $name | trunc 8) }}{{ end }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}{{ fail (printf "release name %s: must begin with a letter and contain only lower-case letters, digits and -, because the names of Services begin with it" .Release.Name) }}{{ end }}
{{- $name }}
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .unit }}
{{- end }}

{{- define "parley.image" -}}
{{- $tag := .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- if eq $tag "latest" }}{{ fail "image.tag: latest is refused, because a restart could bring another version" }}{{ end }}
{{- printf "%s/%s:%s" (required "image.repository is required" .root.Values.image.repository) .unit $tag }}
{{- end }}

{{- define "parley.port" -}}
{{- get (dict "public" 4000 "graph" 4001 "rpc" 50051 "ops" 9464) . }}
{{- end }}

{{/* The values of a unit, merged over the defaults. */}}
{{- define "parley.unitValues" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (dict "replicas" (max (int .root.Values.defaults.replicas) (int .unit.replicas) | int)) (deepCopy (get .root.Values.units .unit.name | default dict)) | toYaml }}
{{- end }}

{{/* Clients and turns must move to another pod whenever one is removed, so only one is removed at a time. */}}
{{- define "parley.scalingBehavior" -}}
{ scaleDown: { stabilizationWindowSeconds: 300, policies: [{ type: Pods, value: 1, periodSeconds: 60 }] } }
{{- end }}

{{/*
Spreads the pods of a unit over zones, if the cluster has zones. This is no second topology spread constraint, because the scheduler ignores
nodes that lack one of the topology keys: without zones, the spread over nodes would be lost, too.
*/}}
{{- define "parley.affinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        labelSelector:
          matchLabels: {{- include "parley.selector" . | nindent 12 }}
{{- end }}

{{- define "parley.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "parley.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
capabilities: { drop: [ALL] }
{{- end }}

{{/*
Fails if `config` contains a secret, or a setting that none of `units` reads. All units read OpenTelemetry's own variables; those that carry
a credential are refused.
*/}}
{{- define "parley.checkConfig" -}}
{{- $known := .known }}
{{- $path := .path }}
{{- $taken := list }}
{{- range .units }}{{ $taken = concat $taken .settings }}{{ end }}
{{- $nobody := ternary (printf "%s does not read it" (first .units).name) "no unit reads it" (eq (len .units) 1) }}
{{- range $name, $value := .config }}
{{- if or (get $known $name | default dict).secret (regexMatch "^OTEL_.*(HEADERS|PASSWORD)$" $name) }}{{ fail (printf "%s.%s: is a secret, which belongs into the Secret that existingSecret names" $path $name) }}{{ end }}
{{- include "parley.checkAddress" (dict "address" (toString $value) "path" (printf "%s.%s" $path $name)) }}
{{- $isOpenTelemetry := and (hasPrefix "OTEL_" $name) (ne $name "OTEL_SERVICE_NAME") }}
{{- if not (or (has $name $taken) $isOpenTelemetry) }}{{ fail (printf "%s.%s: %s, or the chart sets it" $path $name $nobody) }}{{ end }}
{{- end }}
{{- end }}

{{/* Fails if an address contains a credential, because many people may read a ConfigMap. */}}
{{- define "parley.checkAddress" -}}
{{- $readable := "which everybody could read who may read ConfigMaps" }}
{{- if or (regexMatch "://[^/?#]*@" .address) (regexMatch "(^|[\\s,])[^\\s/?#@:,]+:[^\\s/?#@]*@" .address) }}{{ fail (printf "%s: has a user or a password, %s" .path $readable) }}{{ end }}
{{- if regexMatch "(?i)[?&]([^=&#]*[-_.])?(\\w*key|\\w*token|\\w*secret|passw\\w*|pwd|sig|signature|auth|authorization|credentials?|code)=[^&#]" .address }}{{ fail (printf "%s: has a secret in its query, %s" .path $readable) }}{{ end }}
{{- end }}

{{/* A value as it was written. Helm parses all numbers as floats, and would format large ones like 1e+06. */}}
{{- define "parley.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}

{{/* Labels or annotations with all values as strings; Kubernetes accepts no others. */}}
{{- define "parley.texts" -}}
{{- $texts := dict }}
{{- range $name, $value := . }}{{ $_ := set $texts $name (include "parley.text" $value) }}{{ end }}
{{- toYaml $texts }}
{{- end }}

{{/* A unit's non-secret settings: its ports, the addresses of the units that it calls, and its settings from the values. */}}
{{- define "parley.config" -}}
{{- $root := .root }}
{{- $unit := .unit }}
{{- $known := .known }}
{{- $name := include "parley.name" $root }}
{{- $mesh := $root.Values.tls.mesh.secret }}
NODE_ENV: production
{{- include "parley.authoritiesFile" (dict "root" $root "form" "config") }}
{{- if $mesh }}
MESH_TLS_CERT_FILE: /etc/parley/mesh/tls.crt
MESH_TLS_KEY_FILE: /etc/parley/mesh/tls.key
MESH_TLS_CA_FILE: /etc/parley/mesh/ca.crt
{{- end }}
PARLEY_HOST: "0.0.0.0"
PARLEY_DATA_DIR: /tmp/parley
OTEL_SERVICE_NAME: {{ printf "parley-%s" $unit.name }}
{{- range append $unit.serves "ops" }}
{{ if eq . "public" }}{{ printf "%s_PORT" (upper $unit.name) }}{{ else }}{{ printf "%s_%s_PORT" (upper $unit.name) (upper .) }}{{ end }}: {{ include "parley.port" . | quote }}
{{- end }}
{{- range $unit.uses }}
{{- if eq .endpoint "rpc" }}
{{ .setting }}: {{ include "parley.rpcAddress" (dict "root" $root "unit" .unit) | quote }}
{{- else if eq .endpoint "public" }}
{{ .setting }}: "http://{{ $name }}-{{ .unit }}.{{ $root.Release.Namespace }}.svc:{{ $root.Values.service.port }}"
{{- else }}
{{- /* Gateways also use the headless Service, so that they resolve all pods. */}}
{{ .setting }}: "http{{ if $mesh }}s{{ end }}://{{ $name }}-{{ .unit }}-rpc.{{ $root.Release.Namespace }}.svc:{{ include "parley.port" "graph" }}"
{{- end }}
{{- end }}
{{- if $unit.readsPublicUrl }}
PARLEY_PUBLIC_URL: {{ required "publicUrl is required" $root.Values.publicUrl | quote }}
{{- end }}
{{- $config := mergeOverwrite (deepCopy $root.Values.config) .values.env }}
{{- range $setting, $value := $config }}
{{- if or (has $setting $unit.settings) (hasPrefix "OTEL_" $setting) }}
{{ $setting }}: {{ include "parley.text" $value | quote }}
{{- end }}
{{- end }}
{{- if and $config.KAFKA_USERNAME (not $config.KAFKA_SASL_MECHANISM) }}{{ fail "config.KAFKA_SASL_MECHANISM is required with KAFKA_USERNAME" }}{{ end }}
{{- with $config.KAFKA_SASL_MECHANISM }}
{{- if not (has (lower .) (list "plain" "scram-sha-256" "scram-sha-512")) }}{{ fail (printf "config.KAFKA_SASL_MECHANISM: %s is none of plain, scram-sha-256 and scram-sha-512" .) }}{{ end }}
{{- if and (eq (lower .) "plain") (ne (toString $config.KAFKA_TLS) "true") }}{{ fail (printf "config.KAFKA_SASL_MECHANISM: %s takes KAFKA_TLS=true" .) }}{{ end }}
{{- end }}
{{- range $unit.required }}
{{- if and (has . $unit.settings) (not (hasKey $config .)) }}{{ fail (printf "config.%s is required: %s" . (get $known .).meaning) }}{{ end }}
{{- end }}
{{- end }}

{{/* Kafka's connection settings for containers other than units, as entries of `env`. */}}
{{- define "parley.kafkaEnv" -}}
{{- $config := mergeOverwrite (deepCopy .Values.config) (deepCopy .Values.defaults.env) }}
- { name: KAFKA_BROKERS, value: {{ required "config.KAFKA_BROKERS is required" $config.KAFKA_BROKERS | quote }} }
{{- range $setting := list "KAFKA_TLS" "KAFKA_SASL_MECHANISM" "KAFKA_USERNAME" }}
{{- if hasKey $config $setting }}
- { name: {{ $setting }}, value: {{ include "parley.text" (get $config $setting) | quote }} }
{{- end }}
{{- end }}
- name: KAFKA_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .Values.existingSecret | quote }}, key: KAFKA_PASSWORD, optional: true } }
{{- end }}

{{/* The address of a unit's gRPC. */}}
{{- define "parley.rpcAddress" -}}
{{ include "parley.name" .root }}-{{ .unit }}-rpc.{{ .root.Release.Namespace }}.svc:{{ include "parley.port" "rpc" }}
{{- end }}

{{/* The variable that makes Node trust private authorities, as a line of a ConfigMap or an entry of `env`. */}}
{{- define "parley.authoritiesFile" -}}
{{- $authorities := .root.Values.tls.authorities }}
{{- if and $authorities.secret $authorities.configMap }}{{ fail "tls.authorities: a Secret or a ConfigMap, not both" }}{{ end }}
{{- if or $authorities.secret $authorities.configMap }}
{{- if eq .form "config" }}
NODE_EXTRA_CA_CERTS: /etc/parley/authorities/ca.crt
{{- else }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/parley/authorities/ca.crt }
{{- end }}
{{- end }}
{{- end }}

{{/* Mounts of certificates. Whole folders are mounted, because Kubernetes does not update a file that is mounted by itself. */}}
{{- define "parley.certificateMounts" -}}
{{- $tls := .root.Values.tls }}
{{- if or $tls.authorities.secret $tls.authorities.configMap }}
- { name: authorities, mountPath: /etc/parley/authorities, readOnly: true }
{{- end }}
{{- if and .mesh $tls.mesh.secret }}
- { name: mesh, mountPath: /etc/parley/mesh, readOnly: true }
{{- end }}
{{- end }}

{{- define "parley.certificateVolumes" -}}
{{- $tls := .root.Values.tls }}
{{- $items := list (dict "key" $tls.authorities.key "path" "ca.crt") }}
{{- if $tls.authorities.secret }}
- name: authorities
  secret: { secretName: {{ $tls.authorities.secret | quote }}, defaultMode: 0440, items: {{ toJson $items }} }
{{- else if $tls.authorities.configMap }}
- name: authorities
  configMap: { name: {{ $tls.authorities.configMap | quote }}, defaultMode: 0440, items: {{ toJson $items }} }
{{- end }}
{{- if and .mesh $tls.mesh.secret }}
- name: mesh
  secret: { secretName: {{ $tls.mesh.secret | quote }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{/* Rules that let pods reach DNS and these engines. */}}
{{- define "parley.egressToEngines" -}}
{{- $policy := .root.Values.networkPolicy }}
- ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
  {{- with $policy.dnsTo }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- range .engines }}
{{- $engine := get $policy.engines . }}
{{- if $engine.to }}
- to: {{- toYaml $engine.to | nindent 4 }}
  ports:
    {{- range $engine.ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A rule that lets pods reach public addresses, by the units' own definition of public, except for the cluster's own ranges. */}}
{{- define "parley.egressToWorld" -}}
{{- $never4 := list "0.0.0.0/8" "10.0.0.0/8" "100.64.0.0/10" "127.0.0.0/8" "168.63.129.16/32" "169.254.0.0/16" "172.16.0.0/12" "192.0.0.0/24" "192.0.2.0/24" "192.31.196.0/24" "192.52.193.0/24" "192.88.99.0/24" "192.168.0.0/16" "192.175.48.0/24" "198.18.0.0/15" "198.51.100.0/24" "203.0.113.0/24" "224.0.0.0/4" "240.0.0.0/4" }}
{{- $never6 := list "::/3" "2001::/23" "2001:db8::/32" "2002::/16" "2620:4f:8000::/48" "3ffe::/16" "3fff::/20" "4000::/2" "8000::/1" }}
{{- range .Values.networkPolicy.clusterRanges }}
{{- if contains ":" . }}{{ $never6 = append $never6 . }}{{ else }}{{ $never4 = append $never4 . }}{{ end }}
{{- end }}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: {{- $never4 | uniq | toYaml | nindent 10 }}
    - ipBlock:
        cidr: ::/0
        except: {{- $never6 | uniq | toYaml | nindent 10 }}
  ports:
    {{- range .Values.networkPolicy.worldPorts }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}

{{/*
Fails if the policies would block an engine that the pods need. A pod would wait for the engine without a message, and an install hook for
an hour.
*/}}
{{- define "parley.checkPolicies" -}}
{{- $root := .root }}
{{- $policy := $root.Values.networkPolicy }}
{{- $used := list }}
{{- $isTraced := false }}
{{- range .units }}
{{- $used = concat $used .engines }}
{{- $env := (get $root.Values.units .name | default dict).env | default dict }}
{{- range list $root.Values.config $root.Values.defaults.env $env }}
{{- if or .OTEL_EXPORTER_OTLP_ENDPOINT .OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }}{{ $isTraced = true }}{{ end }}
{{- end }}
{{- end }}
{{- range $used | uniq | sortAlpha }}
{{- if and (not (get $policy.engines .).to) (or $isTraced (ne . "telemetry")) }}
{{- fail (printf "networkPolicy.engines.%s.to is required with networkPolicy.enabled, because no pod would reach it: where it is, as NetworkPolicy peers, such as [{ipBlock: {cidr: 10.20.0.10/32}}]" .) }}
{{- end }}
{{- end }}
{{- if and $root.Values.monitoring.serviceMonitor.enabled (not $policy.metricsFrom) }}
{{- fail "networkPolicy.metricsFrom is required with monitoring.serviceMonitor.enabled, because Prometheus would reach no pod: where it is, as NetworkPolicy peers" }}
{{- end }}
{{- end }}

{{/* The nodes for Jobs and Pods of hooks: the same as the units' default. */}}
{{- define "parley.hookPlacement" -}}
{{- with .Values.defaults.nodeSelector }}
nodeSelector: {{- include "parley.texts" . | nindent 2 }}
{{- end }}
{{- with .Values.defaults.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
