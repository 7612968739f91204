{{- define "iconedge.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "iconedge.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "iconedge.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "iconedge.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "iconedge.secret" -}}
{{ .Values.secrets.existing | default (printf "%s-tiers" (include "iconedge.name" .)) }}
{{- end }}

{{/* Selector labels: (list . "edge"). They never change, because selectors are immutable. */}}
{{- define "iconedge.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ $.Chart.Name }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "iconedge.labels" -}}
{{- $ := index . 0 -}}
{{ include "iconedge.selector" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version }}
{{- end }}

{{/* The parts that all pods have in common: (list . "edge" .Values.edge). */}}
{{- define "iconedge.pod" -}}
{{- $ := index . 0 -}}
{{- $part := index . 1 -}}
{{- $of := index . 2 -}}
serviceAccountName: {{ include "iconedge.serviceAccount" $ }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{ include "iconedge.podSecurity" . }}
terminationGracePeriodSeconds: {{ add $.Values.preStopSeconds $.Values.drainSeconds 10 }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "iconedge.selector" (list $ $part) | nindent 8 }}
  {{- end }}
{{- with $of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "iconedge.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "iconedge.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Probes of a container. Readiness uses the admin listener, which answers 503 during the drain. */}}
{{- define "iconedge.life" -}}
startupProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{/* Checksums of the secrets that pods have as variables, so that an upgrade after a change replaces the pods: (list . SECRET …). Secrets that are mounted
are read again by the program. Without the cluster (`helm template`) there is no checksum. */}}
{{- define "iconedge.checksums" -}}
{{- $ := index . 0 -}}
{{- range $name := slice . 1 }}
{{- if $name }}
{{- with lookup "v1" "Secret" $.Release.Namespace $name }}
checksum/{{ $name }}: {{ .data | toJson | sha256sum }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A text of rules or dashboards with the names of jobs and the addresses of the values: (list . TEXT). */}}
{{- define "iconedge.named" -}}
{{- $m := (index . 0).Values.monitoring -}}
{{- $text := index . 1 -}}
{{- range $q := list "\"" "\\\"" }}
{{- range $part, $job := $m.jobs }}
{{- $text = $text | replace (printf "job=%siconedge-%s%s" $q $part $q) (printf "job=%s%s%s" $q $job $q) }}
{{- end }}
{{- $text = $text | replace (printf "job=~%siconedge-(edge|shield)%s" $q $q) (printf "job=~%s%s|%s%s" $q $m.jobs.edge $m.jobs.shield $q) }}
{{- $text = $text | replace (printf "job=~%siconedge-.+%s" $q $q) (printf "job=~%s%s|%s|%s%s" $q $m.jobs.edge $m.jobs.shield $m.jobs.origin $q) }}
{{- end }}
{{- $text | replace "https://github.com/iconedge/iconedge/blob/main/docs/how-to/runbooks/" (printf "%s/" (trimSuffix "/" $m.runbooks)) | replace "http://localhost:3000/" (printf "%s/" (trimSuffix "/" $m.grafana)) | replace "expr: vector(1e9)" (printf "expr: vector(%d)" (int64 $m.nodeBitsPerSecond)) }}
{{- end }}

{{/* Arguments of every server. */}}
{{- define "iconedge.args" -}}
- --tier-secret-file=/etc/iconedge/secrets/tier-secret
- --shutdown-delay={{ .Values.preStopSeconds }}s
- --drain={{ .Values.drainSeconds }}s
- --log-format={{ .Values.logFormat }}
- --log-level={{ .Values.logLevel }}
{{- range .Values.admin.hosts }}
- {{ printf "--admin-host=%s" . | quote }}
{{- end }}
{{- if .Values.admin.protectMetrics }}
- --admin-protect-metrics
{{- end }}
{{- if .Values.trace.endpoint }}
- --trace-endpoint={{ .Values.trace.endpoint }}
- --trace-sample={{ .Values.trace.sample }}
{{- end }}
{{- end }}

{{/* Arguments of edges and shields: (list . .Values.edge "region"). */}}
{{- define "iconedge.edgeArgs" -}}
{{- $ := index . 0 -}}
- edge
- --listen=:8080
- --admin-listen=:8082
- --admin-token-file=/etc/iconedge/secrets/admin-token
- --region={{ index . 2 }}
- --cache-bytes={{ (index . 1).cacheBytes | int64 }}
{{- if $.Values.redis.passwordSecret }}
- --redis-password-file=/etc/iconedge/redis/password
{{- end }}
{{ include "iconedge.args" $ }}
{{- end }}

{{/* Variables of edges and shields. */}}
{{- define "iconedge.redisEnv" -}}
{{- if or .Values.redis.url .Values.redis.existingSecret -}}
- name: ICONEDGE_REDIS
  {{- if .Values.redis.existingSecret }}
  valueFrom:
    secretKeyRef: {name: {{ .Values.redis.existingSecret }}, key: url}
  {{- else }}
  value: {{ .Values.redis.url | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Variables for a configuration file: the URLs of the tiers behind the edges. */}}
{{- define "iconedge.tierEnv" -}}
{{- if .Values.shield.enabled }}
{{- range $i, $url := splitList "," (include "iconedge.shieldURLs" .) }}
- {name: SHIELD_{{ $i }}, value: {{ $url | quote }}}
{{- end }}
{{- end }}
{{- if .Values.origin.enabled }}
- {name: ORIGIN, value: {{ include "iconedge.originURL" . | quote }}}
{{- end }}
{{- end }}

{{- define "iconedge.secretsVolume" -}}
- name: secrets
  secret:
    secretName: {{ include "iconedge.secret" . }}
    defaultMode: 0440
{{- end }}

{{/* The password of Redis, as a volume and its mount. */}}
{{- define "iconedge.redisVolume" -}}
{{- with .Values.redis.passwordSecret }}
- name: redis
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "iconedge.redisMount" -}}
{{- if .Values.redis.passwordSecret }}
- {name: redis, mountPath: /etc/iconedge/redis, readOnly: true}
{{- end }}
{{- end }}

{{/* Variables, volume and mount of the credentials of the store. */}}
{{- define "iconedge.storeEnv" -}}
{{- if .Values.origin.storeFileSecret }}
env:
  - {name: AWS_SHARED_CREDENTIALS_FILE, value: /etc/iconedge/store/credentials}
{{- else if .Values.origin.storeSecret }}
envFrom:
  - secretRef: {name: {{ .Values.origin.storeSecret }}}
{{- end }}
{{- end }}

{{- define "iconedge.storeVolume" -}}
{{- with .Values.origin.storeFileSecret }}
- name: store
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "iconedge.storeMount" -}}
{{- if .Values.origin.storeFileSecret }}
- {name: store, mountPath: /etc/iconedge/store, readOnly: true}
{{- end }}
{{- end }}

{{/* Origins of a shield, and of an edge behind shields: the addresses of the pods of a StatefulSet. */}}
{{- define "iconedge.originURL" -}}
http://{{ include "iconedge.name" . }}-origin:8081
{{- end }}

{{- define "iconedge.shieldURLs" -}}
{{- $name := printf "%s-shield" (include "iconedge.name" .) -}}
{{- $urls := list -}}
{{- range until (int .Values.shield.replicas) }}{{ $urls = append $urls (printf "http://%s-%d.%s:8080" $name . $name) }}{{ end -}}
{{ join "," $urls }}
{{- end }}

{{/* A part of a volume claim: (dict "size" … "storageClass" …). */}}
{{- define "iconedge.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}

{{- define "iconedge.budget" -}}
{{- $ := index . 0 -}}
{{- $part := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "iconedge.name" $ }}-{{ $part }}
  labels:
    {{- include "iconedge.labels" (list $ $part) | nindent 4 }}
spec:
  maxUnavailable: {{ (index $.Values $part).disruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "iconedge.selector" (list $ $part) | nindent 6 }}
{{- end }}
