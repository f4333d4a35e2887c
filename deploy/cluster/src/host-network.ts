import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { exec, UnavailableError } from '@parley/servers/exec';
import { bridge, hostAddress, maxNodes, type Node, nodesOf, podsRange, servicesRange } from './addresses.ts';
import { setSysctl } from './sysctls.ts';

const table = 'parley_cluster';

/** The name that the bridge has before it gets an owner. */
const draftBridge = `${bridge}-new`;
/** The kernel's limit for the length of a link's alias (IFALIASZ, without the terminating zero). */
const maxAliasBytes = 255;

const isThere = (link: string) => existsSync(`/sys/class/net/${link}`);

/**
 * Returns the state folder of the cluster that is up on this machine, even if another checkout started it. A bridge without an alias
 * belongs to no cluster.
 */
export function standingCluster(): string | undefined {
  const file = `/sys/class/net/${bridge}/ifalias`;
  return (existsSync(file) && readFileSync(file, 'utf8').trim()) || undefined;
}

/** Reports whether the bridge exists, with or without an owner. */
export function hasBridge(): boolean {
  return isThere(bridge) || isThere(draftBridge);
}

/**
 * Creates the bridge. A machine has only one, so only one cluster can be up. The bridge gets its final name last, so that a bridge with
 * this name always has an owner, even if this process is killed.
 * @param owner the state folder, stored as the bridge's alias
 * @throws UnavailableError if the path of the folder is too long for an alias
 */
export async function makeBridge(owner: string, signal: AbortSignal): Promise<void> {
  if (Buffer.byteLength(owner) > maxAliasBytes)
    throw new UnavailableError(
      `the path ${owner} has more than ${maxAliasBytes} bytes: use a checkout with a shorter path`,
    );
  const ip = (...args: string[]) => exec('ip', ['link', ...args], { signal });
  await removeLink(draftBridge); // a killed process may not have removed the draft bridge
  await ip('add', draftBridge, 'type', 'bridge');
  await ip('set', draftBridge, 'alias', owner);
  await ip('set', draftBridge, 'name', bridge);
}

/**
 * Gives this machine its address on the bridge, and masquerades traffic from pods to other networks. Drops connections to the cluster from
 * hosts of other networks: by default, Linux would accept packets for the bridge's address from every link, and would forward packets to
 * nodes and pods.
 */
export async function makeHostNetwork(nft: string, signal: AbortSignal): Promise<void> {
  const ip = (...args: string[]) => exec('ip', args, { signal });
  const masquerade = `ip saddr ${podsRange} ip daddr != { ${podsRange}, ${servicesRange} } masquerade`;
  const fromOutside = `iifname != { lo, ${bridge} } ct state != { established, related }`;
  const drop = `${fromOutside} ip daddr { ${podsRange}, ${servicesRange} } drop`;
  const chains = [
    `chain prerouting { type filter hook prerouting priority filter; ${drop}; }`,
    `chain postrouting { type nat hook postrouting priority srcnat; ${masquerade}; }`,
  ];
  await exec(nft, [`table ip ${table} { ${chains.join('; ')}; }`], { signal });
  await ip('addr', 'add', `${hostAddress}/24`, 'dev', bridge);
  await ip('link', 'set', bridge, 'up');
  setSysctl('net/ipv4/ip_forward', '1');
}

/** Connects a node to the bridge. @param pid the process that holds the node's namespaces */
export async function connectNode(node: Node, pid: number, signal: AbortSignal): Promise<void> {
  const { name, address, link, pods } = node;
  const ip = (...args: string[]) => exec('ip', args, { signal });
  const inside = (...args: string[]) => exec('nsenter', ['--net', '--target', String(pid), 'ip', ...args], { signal });
  await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
  await ip('link', 'set', link, 'master', bridge, 'up');
  await inside('link', 'set', 'lo', 'up');
  await inside('addr', 'add', `${address}/24`, 'dev', 'eth0');
  await inside('link', 'set', 'eth0', 'up');
  await inside('route', 'add', 'default', 'via', hostAddress);
  const others = nodesOf(maxNodes).filter((other) => other.name !== name);
  for (const other of others) await inside('route', 'add', other.pods, 'via', other.address);
  await ip('route', 'add', pods, 'via', address, 'dev', bridge);
}

/** Routes this machine's traffic to Services through the given node. */
export async function routeServices({ address }: Node, signal: AbortSignal): Promise<void> {
  await exec('ip', ['route', 'replace', servicesRange, 'via', address, 'dev', bridge], { signal });
}

/** Removes the links, the bridge with its routes, and the masquerading. */
export async function removeHostNetwork(nft: string): Promise<void> {
  for (const { link } of nodesOf(maxNodes)) await removeLink(link);
  for (const link of [bridge, draftBridge]) await removeLink(link);
  if (existsSync(nft)) await exec(nft, ['delete', 'table', 'ip', table]).catch(() => undefined); // the table does not exist
}

/** Removes a link if it exists. The kernel may remove the link at the same time, because the namespace at its other end has disappeared. */
async function removeLink(link: string): Promise<void> {
  for (let attempt = 0; isThere(link); attempt++) {
    await exec('ip', ['link', 'delete', link]).catch((error: unknown) => {
      if (attempt > 20 && isThere(link)) throw error;
    });
    await delay(50);
  }
}
