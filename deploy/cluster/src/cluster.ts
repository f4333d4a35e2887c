import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '@parley/servers/exec';
import { freePorts } from '@parley/servers/ports';
import { untilItAnswers } from '@parley/servers/server';
import { apiUsers, kubeconfig, tokenFile } from './access.ts';
import { applyAddons } from './addons.ts';
import { apiUrl, hostAddress, type Node } from './addresses.ts';
import { get } from './api.ts';
import { certificatesFor, makeCertificates } from './certificates.ts';
import { makeGroups } from './cgroups.ts';
import type { ClusterOptions } from './cluster-options.ts';
import {
  apiServerArgs,
  type ControlPlaneFiles,
  controllerManagerArgs,
  etcdAccess,
  etcdArgs,
  schedulerArgs,
} from './control-plane.ts';
import type { ClusterFolders } from './folders.ts';
import { hasBridge, makeBridge, makeHostNetwork, routeServices, standingCluster } from './host-network.ts';
import { exclusively, machineLock } from './lock.ts';
import { ctr, programsOfNode, startContainerd, startKubelet, startRouter, writeNodeFiles } from './node.ts';
import { readNodes, writeNodes } from './nodes.ts';
import { command, findProgram, type Run, startOne } from './process.ts';
import { installPrograms, programFolder } from './programs.ts';
import { nodesIn, type ObjectList, podsIn, type Readiness } from './readiness.ts';
import { clear, keepTraces, type Removed, sysctlsOf, undoStart } from './removal.ts';
import { lookAtMachine, missingOn } from './requirements.ts';
import { keepSetSysctls, keepSysctls } from './sysctls.ts';
import { isMarkedUp, markUp } from './up-mark.ts';

const controlPlane = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const readyTimeoutMs = 120_000;

/**
 * Installs missing programs, and starts a cluster unless one is up. After a failed or aborted start, only the state folder with the logs
 * remains.
 * @throws UnavailableError that names everything this machine lacks
 */
export async function up(nodes: Node[], options: ClusterOptions): Promise<void> {
  const { folders, signal, say } = options;
  const lacks = missingOn(await lookAtMachine(folders));
  if (lacks.length > 0) throw new UnavailableError(`This machine lacks:${lacks.map((each) => `\n  ${each}`).join('')}`);
  refuseOther(folders);
  await installPrograms({ tools: folders.tools, signal, say });
  await exclusively(machineLock, signal, async () => {
    refuseOther(folders);
    if (isUp(nodes, folders)) return;
    const removed = await clear(options);
    for (const failure of removed?.failures ?? []) say(failure);
    await start(nodes, options);
  });
}

/**
 * Reports whether a cluster with these nodes is up. Two kinds of clusters do not count: one whose start was killed, and one whose programs
 * have all ended, as they do when the machine restarts.
 * @throws Error if the cluster is up with another number of nodes, or if only some of its programs run
 */
function isUp(nodes: Node[], folders: ClusterFolders): boolean {
  if (!isMarkedUp(folders)) return false;
  const present = readNodes(folders);
  const ended = stopped(folders);
  if (ended.length === programsOf(present).length) return false;
  if (ended.length > 0) throw new Error(`these have ended: ${ended.join(', ')}; scripts/cluster down comes first`);
  if (present.length === nodes.length) return true;
  throw new Error(`a cluster of ${present.length} nodes is up: scripts/cluster down comes first`);
}

/**
 * Stops the cluster and removes everything it created on this machine, including its data.
 * @returns undefined if there was no cluster
 * @throws Error if a process or the network of the cluster remains
 */
export async function down(options: ClusterOptions): Promise<Removed | undefined> {
  const { folders, signal } = options;
  if (!hasBridge() && !existsSync(folders.state)) return undefined;
  return exclusively(machineLock, signal, () => {
    refuseOther(folders);
    return clear(options);
  });
}

/**
 * Checks that no other checkout's cluster is up, because a machine has only one bridge, one set of ports and one cgroup for clusters.
 * @throws Error if another checkout's cluster is up
 */
function refuseOther({ state }: ClusterFolders): void {
  const other = standingCluster();
  if (other !== undefined && other !== state)
    throw new Error(`the cluster of another checkout is up, in ${other}: stop that one first`);
}

async function start(nodes: Node[], options: ClusterOptions): Promise<void> {
  const { folders, signal, say } = options;
  const { tools, state } = folders;
  mkdirSync(state, { recursive: true, mode: 0o700 });
  await keepTraces(folders);
  keepSysctls(sysctlsOf(folders));
  const stop = new AbortController();
  /** Waits for all promises, unlike Promise.all, so that no start is still running when this function rejects. */
  const together = async (work: Promise<unknown>[]) => {
    for (const each of work) each.catch((error: unknown) => stop.abort(error));
    await Promise.allSettled(work);
    await Promise.all(work);
  };
  try {
    await makeBridge(state, signal);
    const group = makeGroups(nodes.map(({ name }) => name));
    const run: Run = { tools, state, signal: AbortSignal.any([signal, stop.signal]), group };
    await startParts(nodes, run, { folders, signal: run.signal, say }, together);
    keepSetSysctls(sysctlsOf(folders));
    markUp(folders);
  } catch (error) {
    for (const failure of await undoStart(options)) say(failure);
    throw error;
  }
}

type Together = (work: Promise<unknown>[]) => Promise<void>;

async function startParts(
  nodes: Node[],
  run: Run,
  { folders, signal, say }: ClusterOptions,
  together: Together,
): Promise<void> {
  const began = performance.now();
  const step = (line: string) => say(`${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${line}`);
  await makeHostNetwork(command(run.tools, 'packages', 'nft'), signal);
  writeNodes(folders, nodes);
  const files = await writeAccess(run, nodes);
  for (const node of nodes) writeNodeFiles(run, node);
  await together([startControlPlane(run, files), ...nodes.map((node) => startRuntime(run, node))]);
  step('the API server and containerd answer');
  await together(nodes.map((node) => startKubelet(run, node)));
  const registeredSignal = AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]);
  for (const { name } of nodes) await untilItAnswers(() => ask(run, `/api/v1/nodes/${name}`), registeredSignal);
  await together(nodes.map((node) => startRouter(run, node)));
  const [first] = nodes;
  if (first) await routeServices(first, signal);
  step(nodes.length === 1 ? 'the node runs' : `${nodes.length} nodes run`);
  await applyAddons(run, nodes);
  await untilReady(folders, signal);
  step('DNS and metrics-server are ready');
}

/** Starts a node's containerd and imports the images of the cluster's own pods. */
async function startRuntime(run: Run, node: Node): Promise<void> {
  await startContainerd(run, node);
  for (const program of ['pause', 'coredns', 'metrics-server'] as const) {
    await ctr(run, node, ['images', 'import', join(programFolder(run.tools, program), 'image.tar')]);
  }
}

async function startControlPlane(run: Run, files: ControlPlaneFiles): Promise<void> {
  const [client = 0, peer = 0] = await freePorts(2);
  const kubernetes = (name: string) => command(run.tools, 'kubernetes', name);
  const etcd = [command(run.tools, 'etcd'), ...etcdArgs(files, { client, peer })];
  await startOne(run, 'etcd', etcd, () => get(`https://127.0.0.1:${client}/health`, etcdAccess(files)));
  const api = [kubernetes('kube-apiserver'), ...apiServerArgs(files, client)];
  await startOne(run, 'kube-apiserver', api, () => ask(run, '/readyz'));
  const controllers = [kubernetes('kube-controller-manager'), ...controllerManagerArgs(files)];
  const scheduler = [kubernetes('kube-scheduler'), ...schedulerArgs(files)];
  await Promise.all([
    startOne(run, 'kube-controller-manager', controllers, () => get(`https://${hostAddress}:10257/healthz`)),
    startOne(run, 'kube-scheduler', scheduler, () => get(`https://${hostAddress}:10259/healthz`)),
  ]);
}

/** Makes certificates, tokens and kubeconfigs. */
async function writeAccess({ state, signal }: Run, nodes: Node[]): Promise<ControlPlaneFiles> {
  const certificates = join(state, 'certificates');
  await makeCertificates(certificates, certificatesFor(nodes), signal);
  const authority = readFileSync(join(certificates, 'ca.crt'), 'utf8');
  const users = apiUsers(nodes);
  const tokens = new Map(users.map(({ file }) => [file, randomBytes(24).toString('hex')]));
  const file = join(state, 'tokens.csv');
  writeFileSync(file, tokenFile(users, tokens), { mode: 0o600 });
  for (const user of users) {
    const token = tokens.get(user.file) ?? '';
    const content = kubeconfig(user, { token, authority, server: apiUrl });
    writeFileSync(join(state, `${user.file}.kubeconfig`), content, { mode: 0o600 });
  }
  return { certificates, kubeconfigs: state, tokens: file };
}

/** Sends a GET request to the API as the administrator. */
export function ask({ state }: Pick<ClusterFolders, 'state'>, path: string): Promise<string> {
  const { users }: { users: [{ user: { token: string } }] } = JSON.parse(
    readFileSync(join(state, 'admin.kubeconfig'), 'utf8'),
  );
  const authority = readFileSync(join(state, 'certificates/ca.crt'), 'utf8');
  return get(`${apiUrl}${path}`, { authority, token: users[0].user.token });
}

export interface ClusterState {
  /** Whether `up` has completed. */
  isComplete: boolean;
  /** Names of programs that should run but do not. */
  stopped: string[];
  nodes: Readiness[];
  pods: Readiness[];
}

/** Returns the state of the cluster; undefined if there is none. */
export async function status(folders: ClusterFolders): Promise<ClusterState | undefined> {
  refuseOther(folders);
  if (standingCluster() === undefined) return undefined;
  const list = async (path: string): Promise<ObjectList> => JSON.parse(await ask(folders, path));
  const down = stopped(folders);
  const isComplete = isMarkedUp(folders);
  if (down.includes('kube-apiserver')) return { isComplete, stopped: down, nodes: [], pods: [] };
  const [nodes, pods] = await Promise.all([list('/api/v1/nodes'), list('/api/v1/pods')]);
  return { isComplete, stopped: down, nodes: nodesIn(nodes), pods: podsIn(pods) };
}

const programsOf = (nodes: Node[]) => [...controlPlane, ...nodes.flatMap(programsOfNode)];

/** Returns the names of programs that should run but do not. */
function stopped(folders: Pick<ClusterFolders, 'state'>): string[] {
  return programsOf(readNodes(folders)).filter((name) => findProgram(folders, name) === undefined);
}

/** Waits until all nodes and all pods are ready. @throws Error if they are not ready in time; the error names those that are not ready */
async function untilReady(folders: ClusterFolders, signal: AbortSignal): Promise<void> {
  const readySignal = AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]);
  for (;;) {
    const current = await status(folders).catch(() => undefined);
    const all = [...(current?.nodes ?? []), ...(current?.pods ?? [])];
    const open = all.filter(({ ready }) => !ready);
    if (current && current.nodes.length === readNodes(folders).length && current.pods.length > 0 && open.length === 0)
      return;
    if (current && current.stopped.length > 0)
      throw new Error(`these have ended: ${current.stopped.join(', ')}; their logs say why`);
    signal.throwIfAborted();
    if (readySignal.aborted) {
      throw new Error(`not ready in time:${open.map(({ name, reason }) => `\n  ${name}: ${reason}`).join('')}`);
    }
    await delay(200);
  }
}
