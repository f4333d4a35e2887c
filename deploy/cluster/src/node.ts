import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import type { Node } from './addresses.ts';
import { get } from './api.ts';
import { connectNode } from './host-network.ts';
import {
  cniConfig,
  containerdConfig,
  containerdSocket,
  inside,
  ipv6Setting,
  kubeletArgs,
  kubeletConfig,
  ports,
  proxyConfig,
  resolvConf,
  routerArgs,
} from './node-files.ts';
import { command, findProgram, type Run, startOne } from './process.ts';
import { programFolder, scriptsFolder } from './programs.ts';

/** Returns the folder of a node, which its programs see as `/run/parley`. */
export const nodeFolder = ({ state }: Pick<Run, 'state'>, { name }: Node) => join(state, name);

/** Returns the names of a node's programs, which are also the names of their folders in `programs`. */
export const programsOfNode = ({ name }: Node) =>
  ['namespaces', 'containerd', 'kubelet', 'kube-proxy', 'kube-router'].map((program) => `${name}-${program}`);

/** Writes the files that a node's programs read. */
export function writeNodeFiles(run: Run, node: Node): void {
  const folder = nodeFolder(run, node);
  mkdirSync(join(folder, 'cni'), { recursive: true, mode: 0o700 });
  const certificates = join(run.state, 'certificates');
  for (const file of ['ca.crt', `${node.name}.crt`, `${node.name}.key`])
    copyFileSync(join(certificates, file), join(folder, file));
  for (const name of [node.name, 'kube-proxy', 'kube-router']) {
    copyFileSync(join(run.state, `${name}.kubeconfig`), join(folder, `${name}.kubeconfig`));
  }
  const cniPlugins = join(programFolder(run.tools, 'packages'), 'usr/lib/cni');
  const files = {
    'containerd.toml': containerdConfig({ cniPlugins }),
    'cni/10-parley.conflist': cniConfig(node, { hasIpv6: existsSync(ipv6Setting) }),
    'kubelet.json': kubeletConfig(node),
    'kube-proxy.json': proxyConfig(node),
    'resolv.conf': resolvConf(readFileSync('/etc/resolv.conf', 'utf8')),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
}

/** Returns the command prefix that runs a program in a node's namespaces. */
function inNode(run: Pick<Run, 'state'>, { name }: Node): string[] {
  const pid = findProgram(run, `${name}-namespaces`);
  if (pid === undefined) throw new Error(`${name} does not run`);
  return ['nsenter', '--net', '--mount', '--target', String(pid)];
}

/** Creates a node's namespaces, connects them to the bridge, and starts containerd. */
export async function startContainerd(run: Run, node: Node): Promise<void> {
  const folder = nodeFolder(run, node);
  const unshared = [
    'unshare',
    '--net',
    '--mount',
    '--propagation',
    'private',
    'sh',
    join(scriptsFolder, 'node.sh'),
    folder,
  ];
  const isReady = async () => {
    if (!existsSync(join(folder, 'ready'))) throw new Error('it has not made its mounts yet');
  };
  const pid = await startOne(run, `${node.name}-namespaces`, unshared, isReady);
  await connectNode(node, pid, run.signal);
  const enter = inNode(run, node);
  const args = [...enter, command(run.tools, 'packages', 'containerd'), '--config', `${inside}/containerd.toml`];
  await startOne(run, `${node.name}-containerd`, args, () => ctr(run, node, ['version']));
}

/** Runs `ctr` on a node's containerd. */
export async function ctr(run: Pick<Run, 'state' | 'tools' | 'signal'>, node: Node, args: string[]): Promise<string> {
  const [nsenter = '', ...enter] = inNode(run, node);
  const program = [command(run.tools, 'packages', 'ctr'), '--address', containerdSocket, '--namespace', 'k8s.io'];
  return exec(nsenter, [...enter, ...program, ...args], { signal: run.signal });
}

/** Starts kubelet, which registers the node, and kube-proxy, which serves Services. */
export async function startKubelet(run: Run, node: Node): Promise<void> {
  const kubernetes = (name: string) => command(run.tools, 'kubernetes', name);
  await Promise.all([
    startIn(run, node, 'kubelet', [kubernetes('kubelet'), ...kubeletArgs(node)], ports.kubeletHealth),
    startIn(
      run,
      node,
      'kube-proxy',
      [kubernetes('kube-proxy'), `--config=${inside}/kube-proxy.json`],
      ports.proxyHealth,
    ),
  ]);
}

/** Starts kube-router, which enforces NetworkPolicies. Its node must be registered, otherwise kube-router ends at once. */
export async function startRouter(run: Run, node: Node): Promise<void> {
  await startIn(run, node, 'kube-router', [command(run.tools, 'kube-router'), ...routerArgs(node)], ports.routerHealth);
}

async function startIn(run: Run, node: Node, name: string, args: string[], port: number): Promise<void> {
  const health = `http://${node.address}:${port}/healthz`;
  await startOne(run, `${node.name}-${name}`, [...inNode(run, node), ...args], () => get(health));
}
