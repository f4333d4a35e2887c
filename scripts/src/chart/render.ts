import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { parseAllDocuments } from 'yaml';
import { tools } from '../install-tool.ts';
import { root } from '../root.ts';

export const chart = join(root, 'charts/parley');

export const helm = {
  name: 'Helm',
  version: '4.3.1',
  folder: 'helm-4.3.1-1',
  scripts: join(import.meta.dirname, 'helm'),
};

/** A peer in a rule of a NetworkPolicy. */
interface Peer {
  podSelector?: { matchLabels?: Record<string, string> };
  namespaceSelector?: object;
  ipBlock?: { cidr: string; except?: string[] };
}
export interface Rule {
  ports: [{ port: number | string }, ...{ port: number | string }[]];
  from?: Peer[];
  to?: Peer[];
}

/** A rule of a PrometheusRule. */
export interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string; unit?: string };
  annotations: { summary: string; runbook: string };
}

/**
 * The fields that tests read from Deployments, Jobs, Pods, Services, scalers, budgets, policies and alerts. Each kind has some of these
 * fields.
 */
export interface Spec extends PodSpec {
  replicas?: number;
  minReadySeconds?: number;
  minReplicas?: number;
  minReplicaCount?: number;
  metrics?: object[];
  endpoints?: object[];
  rules?: object[];
  selector: unknown;
  podSelector?: unknown;
  strategy: unknown;
  unhealthyPodEvictionPolicy?: string;
  template: { metadata: { annotations?: Record<string, string> }; spec: PodSpec };
  activeDeadlineSeconds: number;
  scaleTargetRef: { name: string };
  triggers: { type: string; metadata: Record<string, string>; authenticationRef?: { name: string } }[];
  env?: AuthenticationRef[];
  secretTargetRef?: AuthenticationRef[];
  configMapTargetRef?: AuthenticationRef[];
  policyTypes: string[];
  clusterIP?: string;
  publishNotReadyAddresses?: boolean;
  ports: [{ name: string; port: number; targetPort: string }];
  ingress: Rule[];
  egress: Rule[];
  groups: { rules: Alert[] }[];
  externalTrafficPolicy?: string;
  loadBalancerSourceRanges?: string[];
}

/** The source of a trigger parameter in KEDA. */
interface AuthenticationRef {
  parameter: string;
  name: string;
  key?: string;
}

interface PodSpec {
  serviceAccountName: string;
  enableServiceLinks: boolean;
  automountServiceAccountToken: boolean;
  terminationGracePeriodSeconds: number;
  topologySpreadConstraints: { topologyKey: string }[];
  securityContext: { runAsNonRoot: boolean; seccompProfile: { type: string } };
  containers: [Container];
  nodeSelector?: object;
  tolerations?: object[];
  affinity?: {
    podAffinity?: unknown;
    podAntiAffinity?: {
      preferredDuringSchedulingIgnoredDuringExecution: {
        podAffinityTerm: { topologyKey: string; labelSelector: unknown };
      }[];
    };
  };
  volumes: {
    name: string;
    secret?: { secretName: string };
    configMap?: { name: string };
    emptyDir?: { sizeLimit: string };
  }[];
}

interface Container {
  image: string;
  args?: string[];
  env: { name: string; value?: string; valueFrom: { secretKeyRef: { name: string; optional: boolean } } }[];
  envFrom?: { configMapRef: { name: string } }[];
  startupProbe: Probe;
  readinessProbe: Probe;
  livenessProbe: Probe;
  resources: Record<'limits' | 'requests', { cpu?: string; memory?: string }>;
  lifecycle: { preStop: { exec: { command: [string, string] } } };
  ports: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  securityContext: {
    readOnlyRootFilesystem: boolean;
    allowPrivilegeEscalation: boolean;
    capabilities: object;
    runAsUser: number;
    runAsGroup: number;
  };
}

interface Probe {
  httpGet: { path: string; port: string };
  periodSeconds: number;
  failureThreshold: number;
}

/** The fields of a manifest that tests read. */
export interface Manifest {
  kind: string;
  metadata: { name: string; namespace: string; labels: Record<string, string>; annotations?: Record<string, string> };
  data?: Record<string, string>;
  spec: Spec;
  automountServiceAccountToken?: boolean;
}

const rendered = new Map<string, Promise<string>>();

/**
 * Renders the chart with the values of an example, if given, overridden by `set`.
 * @param folder the chart's folder. Default: the chart of this version.
 * @throws Error with Helm's output
 */
export async function render(
  example?: string,
  set: object = {},
  folder = chart,
  release = 'parley',
  namespace = 'parley',
): Promise<Manifest[]> {
  const text = await renderText(example, set, folder, release, namespace);
  return parseAllDocuments(text).flatMap((document) => (document.contents === null ? [] : [document.toJS()]));
}

/** Renders the chart, as `render` does, and returns the YAML. */
export function renderText(
  example?: string,
  set: object = {},
  folder = chart,
  release = 'parley',
  namespace = 'parley',
): Promise<string> {
  const files = example === undefined ? [] : ['--values', join(folder, `examples/${example}.yaml`)];
  const over = Object.entries(set).flatMap(([path, value]) => ['--set-json', `${path}=${JSON.stringify(value)}`]);
  const args = ['template', release, folder, '--namespace', namespace, ...files, ...over];
  const key = args.join(' ');
  const text = rendered.get(key) ?? runHelm(...args);
  rendered.set(key, text);
  return text;
}

/** Runs Helm. @returns Helm's output */
export function runHelm(...args: string[]): Promise<string> {
  const folder = join(tools, helm.folder);
  const homes = { HELM_CONFIG_HOME: folder, HELM_CACHE_HOME: folder, HELM_DATA_HOME: folder, HELM_PLUGINS: folder };
  return exec(join(folder, 'helm'), args, { env: { PATH: process.env.PATH, HOME: folder, ...homes } });
}
