import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { findHierarchies } from './cgroups.ts';
import { programs } from './programs.ts';

/** State of a machine that a cluster could change, as lines of text for each kind. */
export type Traces = Record<string, string[]>;

/** Folders that Kubernetes and container runtimes create outside their configured folders. */
const folders = [
  '/etc/cni',
  '/opt/cni',
  '/opt/containerd',
  '/run/calico',
  '/run/cni',
  '/run/containerd',
  '/run/mount',
  '/run/netns',
  '/run/xtables.lock',
  '/usr/libexec/kubernetes',
  '/var/lib/cni',
  '/var/lib/containerd',
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
];

/** The names of folders and files that image builds may create in /var/tmp, where every user could read them. */
const buildFiles = /^(?:buildah|container_images|storage)/u;

const legacyTables = '/proc/net/ip_tables_names';
const sysctls = ['kernel/keys', 'net/bridge', 'net/ipv4', 'net/ipv4/conf/all', 'net/netfilter', 'vm'];
/** Settings that change by themselves, or that must not be read. */
const volatile = /\/(?:nf_conntrack_count|stat_refresh|compact_memory|drop_caches)$/u;

/** Reads everything that a cluster may change on this machine. */
export async function lookForTraces({ tools, nft }: { tools: string; nft: string }): Promise<Traces> {
  const ip = async (...args: string[]) => linesOf(await exec('ip', args));
  return {
    links: (await ip('-oneline', 'link')).map(linkName),
    addresses: (await ip('-oneline', 'addr')).map((line) => line.replace(/^\d+: |\\.*| +valid_lft.*/gu, '').trim()),
    routes: await ip('route', 'show', 'table', 'all'),
    rules: await ip('rule'),
    nftables: linesOf(await exec(nft, ['list', 'ruleset'])),
    // Legacy iptables tables, which are not part of nftables.
    iptables: existsSync(legacyTables) ? linesOf(readFileSync(legacyTables, 'utf8')) : [],
    mounts: linesOf(readFileSync('/proc/self/mountinfo', 'utf8')).map((line) => line.split(' ').slice(3, 5).join(' ')),
    cgroups: findHierarchies().flatMap(({ folder }) => foldersIn(folder)),
    processes: processesOf(tools),
    sysctls: sysctlValues(),
    folders: folders.filter((folder) => existsSync(folder)),
    temporary: readdirSync('/var/tmp').filter((name) => buildFiles.test(name)),
    hosts: linesOf(readFileSync('/etc/hosts', 'utf8')),
  };
}

const linesOf = (text: string) => text.split('\n').filter(Boolean);
const linkName = (line: string) => /^\d+: ([^:@]+)/u.exec(line)?.[1] ?? line;

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // the process has ended
  }
}

/** Returns the running processes of programs that were installed for clusters. */
function processesOf(tools: string): string[] {
  const installed = programs.map(({ folder }) => `${join(tools, folder)}/`);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
  return pids.flatMap((pid) => {
    const program = linkOf(`/proc/${pid}/exe`);
    return installed.some((folder) => program.startsWith(folder)) ? [`${pid} ${program}`] : [];
  });
}

function foldersIn(folder: string): string[] {
  const inner = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
  return inner.map(({ name }) => join(folder, name));
}

function sysctlValues(): string[] {
  return sysctls.flatMap((folder) => {
    const path = join('/proc/sys', folder);
    if (!existsSync(path)) return [];
    const files = readdirSync(path, { withFileTypes: true }).filter((each) => each.isFile());
    return files.map(({ name }) => join(path, name)).flatMap((file) => (volatile.test(file) ? [] : valueOf(file)));
  });
}

function valueOf(file: string): string[] {
  try {
    return [`${file} ${readFileSync(file, 'utf8').trim()}`];
  } catch {
    return []; // a write-only setting
  }
}

/** Compares two states. Returns one line for each difference: `+` marks what was added, `-` what was removed. */
export function differences(before: Traces, after: Traces): string[] {
  return Object.keys({ ...before, ...after }).flatMap((kind) => {
    const [was, is] = [new Set(before[kind]), new Set(after[kind])];
    const more = [...is].filter((line) => !was.has(line)).map((line) => `+ ${kind}: ${line}`);
    return [...more, ...[...was].filter((line) => !is.has(line)).map((line) => `- ${kind}: ${line}`)];
  });
}
