import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { bridge, podsRange, servicesRange } from './addresses.ts';
import { findHierarchies, missingControllers, tryGroups } from './cgroups.ts';
import type { ClusterFolders } from './folders.ts';
import { notInstalled } from './programs.ts';

/** The properties of a machine that a cluster depends on. */
export interface Machine {
  platform: string;
  /** The effective user id. */
  uid: number;
  /** The effective capabilities of the process, as a bit set. */
  capabilities: bigint;
  /** The controllers that no hierarchy of control groups of version 1 has. */
  missingControllers: string[];
  /** The operations that were tried on this machine and failed, each with its error. */
  failures: string[];
  /** Reports whether PATH contains the program. */
  has(program: string): boolean;
  /** The output of `go version`; undefined if there is no Go, or if no program needs to be built. */
  goVersion: string | undefined;
  /** Whether programs must still be built with Go and `go version` can be run. */
  builds: boolean;
  /** Whether packages must still be unpacked. */
  unpacks: boolean;
  /** The IPv4 addresses of all network interfaces of this machine except the cluster's bridge. */
  addresses: { interface: string; address: string }[];
}

const commands = ['flock', 'ip', 'mount', 'nsenter', 'openssl', 'setpriv', 'unshare'];
/** The minor version of the oldest Go that builds all programs; CoreDNS requires it. */
const oldestGo = 25;
const capabilities = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n };

/** Lists everything that this machine lacks, in one sentence each. */
export function missingOn(machine: Machine): string[] {
  if (machine.platform !== 'linux') return ['Linux: Kubernetes needs its namespaces and cgroups'];
  const lacks: string[] = [];
  if (machine.uid !== 0) lacks.push('root: networks, mounts and cgroups are made');
  for (const [name, bit] of Object.entries(capabilities)) {
    if (machine.uid === 0 && !((machine.capabilities >> bit) & 1n))
      lacks.push(`${name}: the container has not the rights of root`);
  }
  if (machine.missingControllers.length > 0) {
    const names = machine.missingControllers.join(', ');
    lacks.push(
      `version 1 of the cgroup controllers ${names}: on the kernel command line, systemd.unified_cgroup_hierarchy=0`,
    );
  }
  const programs = commands.filter((each) => !machine.has(each));
  if (programs.length > 0) lacks.push(`the programs ${programs.join(', ')} (packages util-linux, iproute2, openssl)`);
  if (machine.unpacks && !(machine.has('apt-get') && machine.has('dpkg')))
    lacks.push('apt-get and dpkg, to get containerd');
  if (machine.builds && !isRecent(machine.goVersion)) {
    lacks.push(
      `Go 1.${oldestGo} or newer, to build Kubernetes${machine.goVersion ? `; there is ${machine.goVersion}` : ''}`,
    );
  }
  lacks.push(...machine.failures);
  const range = /^10\.(?:88|96)\./u;
  for (const other of machine.addresses.filter(({ address }) => range.test(address))) {
    lacks.push(`the addresses ${podsRange} and ${servicesRange}: ${other.interface} has ${other.address}`);
  }
  return lacks;
}

function isRecent(version: string | undefined): boolean {
  const [, major, minor] = /go(\d+)\.(\d+)/u.exec(version ?? '') ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= oldestGo);
}

/** Reads the properties of this machine. Tries operations to find out the properties that cannot be read. */
export async function lookAtMachine({ tools, state }: ClusterFolders): Promise<Machine> {
  const open = notInstalled(tools);
  const isLinux = process.platform === 'linux';
  const capability = isLinux ? /^CapEff:\s*(\S+)/mu.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] : undefined;
  // Without setpriv no program can be run, so the version of Go is unknown.
  const builds = has('setpriv') && open.some(({ from }) => from === 'go');
  const uid = process.geteuid?.() ?? -1;
  const controllers = isLinux ? missingControllers(findHierarchies()) : [];
  const failures: string[] = [];
  /**
   * Calls `work` and records its failure. If a program that it needs is missing, does nothing, because missing programs are reported
   * separately.
   */
  const tried = async <T>(what: string, needs: string[], work: () => Promise<T>): Promise<T | undefined> => {
    if (!isLinux || !['setpriv', ...needs].every(has)) return undefined;
    return work().catch((error: unknown) => void failures.push(`${what}: ${lastLine(error)}`));
  };
  const addresses = await tried('ip of the package iproute2', ['ip'], otherAddresses);
  if (uid === 0) {
    await tried(`mounts of overlay and tmpfs, with files in ${dirname(state)}`, ['unshare', 'mount'], () =>
      tryMounts(dirname(state)),
    );
    if (controllers.length === 0) await tried('cgroups', [], tryGroups);
  }
  return {
    platform: process.platform,
    uid,
    capabilities: BigInt(`0x${capability ?? '0'}`),
    missingControllers: controllers,
    failures,
    has,
    goVersion: builds ? (await exec('go', ['version']).catch(() => '')).trim() || undefined : undefined,
    builds,
    unpacks: open.some(({ from }) => from === 'apt'),
    addresses: addresses ?? [],
  };
}

/**
 * Makes the same mounts as `node.sh` makes for a node, in a mount namespace that exists only for this test. @throws Error if a mount fails
 */
async function tryMounts(parent: string): Promise<void> {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'try-'));
  const overlay = 'mount -n -t overlay -o lowerdir=/var,upperdir=upper,workdir=work try /var';
  // Without -n, mount creates the folder /run/mount on this machine.
  const script = `cd "$1" && mkdir upper work && mount -n -t tmpfs try /run && ${overlay}`;
  try {
    await exec('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', folder]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function lastLine(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).trimEnd().split('\n');
  return lines.findLast((line) => !line.includes('dmesg(1)'))?.trim() ?? '';
}

function has(program: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)) && isExecutable(join(folder, program)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function otherAddresses(): Promise<Machine['addresses']> {
  const links: { ifname: string; addr_info: { local: string }[] }[] = JSON.parse(
    await exec('ip', ['-4', '-json', 'addr']),
  );
  return links
    .filter(({ ifname }) => ifname !== bridge)
    .flatMap(({ ifname, addr_info }) => addr_info.map(({ local }) => ({ interface: ifname, address: local })));
}
