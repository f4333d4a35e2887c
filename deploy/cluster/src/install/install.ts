import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeDataFolder } from '@parley/servers/folders';
import { root } from '@parley/servers/root';
import { hostAddress } from '../addresses.ts';
import { type ClusterFolders, clientEnv } from '../folders.ts';
import { runningNodes } from '../images/load-images.ts';
import { exclusively } from '../lock.ts';
import { startEngines } from './engines.ts';
import { undoInterrupted } from './interrupted.ts';
import { isReady, type Kubectl, openKubectl, runProgram } from './kubectl.ts';
import { startOutside } from './outside.ts';
import { engineFolders, folderOf, installLockOf } from './places.ts';
import { withinTime } from './pod-states.ts';
import { keptKeys } from './secrets.ts';
import { toolFolder } from './tools.ts';
import { valuesOf } from './values.ts';

export const namespace = 'parley';
const release = 'parley';
const chart = join(root, 'charts/parley');
const readyWithinMs = 900_000;

/** An installation, as `install` stores it for stories. */
export interface Installed {
  /** The GraphQL endpoint that this machine can reach. */
  url: string;
  tag: string;
  /** The engines' settings, and the keys of the Secret. */
  env: Record<string, string>;
  modelUrl: string;
  /** The file with values that override the values of the chart's small example. */
  values: string;
  seconds: { hooks: number; ready: number };
}

export interface InstallOptions {
  folders: ClusterFolders;
  /** The tag of the images. */
  tag: string;
  signal: AbortSignal;
  say(line: string): void;
}

const fileOf = (folders: ClusterFolders) => join(folderOf(folders), 'installed.json');

/** Returns the current installation. @throws Error if there is none */
export function findInstalled(folders: ClusterFolders): Installed {
  const file = fileOf(folders);
  if (!existsSync(file)) throw new Error('Parley is not installed: scripts/cluster up, then scripts/cluster install');
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Returns a function that runs Helm on this cluster. */
export function openHelm(folders: ClusterFolders, kubectl: Kubectl) {
  const own = toolFolder(folders.tools, 'helm');
  const home = folderOf(folders);
  const env = { ...clientEnv(folders), HELM_CONFIG_HOME: home, HELM_CACHE_HOME: home, HELM_DATA_HOME: home };
  const on = ['--kubeconfig', kubectl.kubeconfig, '--namespace', kubectl.namespace];
  return (...args: string[]) => runProgram(join(own, 'helm'), [...on, ...args], { env });
}

/** Returns the arguments with which Helm reads the values of the small example, and then the file `values`. */
export const valueArgs = (values: string, of = chart) => [
  '--values',
  join(of, 'examples/small.yaml'),
  '--values',
  values,
];

/**
 * Installs the chart with the values of its small example. The installation uses engines of this machine, and a namespace that enforces Pod
 * Security `restricted`. Resolves when all pods are ready. While another process runs `install` or `leave`, waits for it.
 */
export function install(options: InstallOptions): Promise<Installed> {
  return exclusively(installLockOf(options.folders), options.signal, () => installLocked(options));
}

async function installLocked({ folders, tag, signal, say }: InstallOptions): Promise<Installed> {
  const nodes = runningNodes(folders); // `down` may have removed the cluster while this call waited
  const folder = folderOf(folders);
  makeDataFolder(folder);
  const engines = await startEngines({ ...engineFolders(folders), signal, say });
  const { modelUrl, model, smtpUrl } = await startOutside(folder, hostAddress);
  const values = join(folder, 'values.json');
  writeFileSync(values, JSON.stringify(valuesOf({ engines, modelUrl, model, smtpUrl }, tag), null, 2), { mode: 0o600 });
  const keys = keptKeys(join(folder, 'keys.json'));
  const { HOSTED_SMALL_MODEL_KEY = '' } = model;
  const secrets = { ...keys, ...secretsOf(engines), SMTP_URL: smtpUrl, HOSTED_SMALL_MODEL_KEY };

  const kubectl = openKubectl(folders, namespace);
  await kubectl.apply(restrictedNamespace);
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: release, namespace },
    stringData: secrets,
  });
  await undoInterrupted(kubectl, release, nodes);
  const helm = openHelm(folders, kubectl);
  const begun = performance.now();
  await withinTime(kubectl, 'the hooks of the install', readyWithinMs, () =>
    // A killed story may have scaled a unit with kubectl, which then owns the field `replicas`.
    helm('upgrade', '--install', release, chart, ...valueArgs(values), '--force-conflicts', '--timeout', '15m'),
  );
  const hooks = seconds(begun);
  say(`helm install returned after ${hooks} s, hooks included`);
  await allReady(kubectl, { say, signal });
  const ready = seconds(begun);
  const { spec } = await kubectl.get<{ spec: { clusterIP: string } }>('service', 'parley-gateway');
  const installed: Installed = {
    url: `http://${spec.clusterIP}/graphql`,
    tag,
    env: { ...engines, ...secrets },
    modelUrl,
    values,
    seconds: { hooks, ready },
  };
  writeFileSync(fileOf(folders), JSON.stringify(installed, null, 2), { mode: 0o600 });
  return installed;
}

/**
 * Resolves when each Deployment has the requested number of pods, and all its pods are ready and have the newest version of the Deployment.
 */
export async function allReady(
  kubectl: Kubectl,
  {
    say,
    signal,
    timeoutMs = readyWithinMs,
  }: { say?(line: string): void; signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<void> {
  await withinTime(kubectl, 'all pods are ready', timeoutMs, async (late) => {
    let said = '';
    for (;;) {
      const { items } = await kubectl.get<{ items: Deployment[] }>('deployments');
      const [waiting, pods] = [items.filter((each) => !isComplete(each)), await kubectl.pods()];
      if (waiting.length === 0) return;
      const line = `${pods.filter(isReady).length} of ${pods.length} pods are ready`;
      if (line !== said) say?.(line);
      said = line;
      late.throwIfAborted();
      await delay(1_000, undefined, { signal });
    }
  });
}

interface Deployment {
  metadata: { name: string; generation: number };
  spec: { replicas: number };
  status: { observedGeneration?: number; replicas?: number; updatedReplicas?: number; readyReplicas?: number };
}

function isComplete({ metadata, spec, status }: Deployment): boolean {
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, readyReplicas = 0 } = status;
  const counts = [replicas, updatedReplicas, readyReplicas];
  return observedGeneration >= metadata.generation && counts.every((count) => count === spec.replicas);
}

const restrictedNamespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};

function secretsOf({ DATABASE_URL = '', REDIS_URL = '', S3_SECRET_ACCESS_KEY = '' }: Record<string, string>) {
  return { DATABASE_URL, REDIS_URL, S3_SECRET_ACCESS_KEY };
}

const seconds = (since: number) => Math.round((performance.now() - since) / 1000);
