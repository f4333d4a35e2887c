import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { bridge, podsRange, servicesRange } from './addresses.ts';
import { findHierarchies, missingControllers } from './cgroups.ts';
import { notInstalled } from './programs.ts';

/** The properties of a machine that a cluster depends on. */
export interface Machine {
  platform: string;
  /** The effective user id. `capabilities`: a bit set. */
  uid: number;
  capabilities: bigint;
  /** The content of /proc/filesystems. */
  filesystems: string;
  missingControllers: string[];
  /** Reports whether PATH contains the program. */
  has(program: string): boolean;
  /** The output of `go version`; undefined if there is no Go, or if no program needs to be built. */
  goVersion: string | undefined;
  /** Whether programs must still be built with Go. `unpacks`: whether packages must still be unpacked. */
  builds: boolean;
  unpacks: boolean;
  /** The IPv4 addresses of this machine's other network interfaces. */
  addresses: { interface: string; address: string }[];
}

const commands = ['flock', 'ip', 'mount', 'nsenter', 'openssl', 'setpriv', 'unshare'];
/** CoreDNS requires the newest Go of all programs. */
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
  if (!/\boverlay$/mu.test(machine.filesystems)) lacks.push('the file system overlay: modprobe overlay');
  if (machine.missingControllers.length > 0)
    lacks.push(`the cgroup controllers ${machine.missingControllers.join(', ')}`);
  const programs = commands.filter((each) => !machine.has(each));
  if (programs.length > 0) lacks.push(`the programs ${programs.join(', ')} (packages util-linux, iproute2, openssl)`);
  if (machine.unpacks && !(machine.has('apt-get') && machine.has('dpkg')))
    lacks.push('apt-get and dpkg, to get containerd');
  if (machine.builds && !isRecent(machine.goVersion)) {
    lacks.push(
      `Go 1.${oldestGo} or newer, to build Kubernetes${machine.goVersion ? `; there is ${machine.goVersion}` : ''}`,
    );
  }
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

/** Reads the properties of this machine. */
export async function lookAtMachine(tools: string): Promise<Machine> {
  const open = notInstalled(tools);
  const isLinux = process.platform === 'linux';
  const capability = isLinux ? /^CapEff:\s*(\S+)/mu.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] : undefined;
  const builds = open.some(({ from }) => from === 'go');
  return {
    platform: process.platform,
    uid: process.geteuid?.() ?? -1,
    capabilities: BigInt(`0x${capability ?? '0'}`),
    filesystems: isLinux ? readFileSync('/proc/filesystems', 'utf8') : '',
    missingControllers: isLinux ? missingControllers(findHierarchies()) : [],
    has,
    goVersion: builds ? (await exec('go', ['version']).catch(() => '')).trim() || undefined : undefined,
    builds,
    unpacks: open.some(({ from }) => from === 'apt'),
    addresses: isLinux && has('ip') ? await otherAddresses() : [],
  };
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
