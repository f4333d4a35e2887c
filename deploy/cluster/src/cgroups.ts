import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exec } from '@parley/servers/exec';

/** The control group that contains all processes of a cluster, in every hierarchy. Pods have their own groups inside it. */
export const clusterGroup = 'parley-cluster';

/** A mounted hierarchy of control groups. */
export interface Hierarchy {
  folder: string;
  version: 1 | 2;
  controllers: string[];
}

/**
 * The CPU weight of the cluster, in units of the weight of one process. When CPU time is scarce, the cluster gets as much of it as 20
 * processes that are in no group. By default, the kernel gives a whole group the weight of one process.
 */
const processorShare = 20;
const needed = ['cpu', 'cpuset', 'memory', 'pids'];

/**
 * Parses `/proc/self/mountinfo`. This file does not list the controllers of a hierarchy of version 2; a file in that hierarchy lists them.
 */
export function parseHierarchies(mountinfo: string): Hierarchy[] {
  return mountinfo.split('\n').flatMap((line): Hierarchy[] => {
    const [mount = '', filesystem = ''] = line.split(' - ');
    const folder = mount.split(' ')[4] ?? '';
    const [type, , options = ''] = filesystem.split(' ');
    if (type === 'cgroup') return [{ folder, version: 1, controllers: options.split(',') }];
    if (type === 'cgroup2') return [{ folder, version: 2, controllers: [] }];
    return [];
  });
}

/** Returns the hierarchies of this machine, without those that a later mount hides. */
export function findHierarchies(): Hierarchy[] {
  const mounted = parseHierarchies(readFileSync('/proc/self/mountinfo', 'utf8'));
  const visible = new Map(mounted.map((each) => [each.folder, each]));
  return [...visible.values()].flatMap((each) => {
    const file = join(each.folder, each.version === 1 ? 'tasks' : 'cgroup.controllers');
    if (!existsSync(file)) return [];
    return each.version === 1 ? [each] : [{ ...each, controllers: readFileSync(file, 'utf8').trim().split(/\s+/u) }];
  });
}

/**
 * Returns the controllers that a kubelet needs but no hierarchy of version 1 has. Version 2 does not count: its controllers work only if
 * they are enabled for the cluster's groups, and this package does not enable them.
 */
export function missingControllers(hierarchies: Hierarchy[]): string[] {
  const present = hierarchies.filter(({ version }) => version === 1).flatMap(({ controllers }) => controllers);
  return needed.filter((controller) => !present.includes(controller));
}

/**
 * Returns the hierarchy that is used to find all processes of the cluster. A process stays in its group even when it gets another parent,
 * session or namespace.
 */
function trackingHierarchy(hierarchies: Hierarchy[]): Hierarchy | undefined {
  return hierarchies.find(({ controllers }) => controllers.includes('pids'));
}

/**
 * Creates the cluster's group and its subgroups: `system`, and one for each of `names`.
 * @returns the file to which each program of the cluster writes its pid
 */
export function makeGroups(names: string[], hierarchies = findHierarchies()): string {
  for (const hierarchy of hierarchies) {
    for (const name of ['', 'system', ...names]) makeGroup(hierarchy, join(clusterGroup, name));
  }
  for (const { folder, version } of hierarchies) {
    const [file, ofOne] = version === 1 ? (['cpu.shares', 1024] as const) : (['cpu.weight', 100] as const);
    const target = join(folder, clusterGroup, file);
    if (existsSync(target)) writeFileSync(target, String(processorShare * ofOne));
  }
  return join(trackingHierarchy(hierarchies)?.folder ?? '', clusterGroup, 'system/cgroup.procs');
}

/** Makes one group in one hierarchy. @returns the folder of the group */
function makeGroup({ folder, version }: Hierarchy, name: string): string {
  const group = join(folder, name);
  if (!existsSync(group)) mkdirSync(group);
  // A new group of version 1 has no assigned processors, and accepts no process until processors are assigned.
  if (version === 1) for (const file of ['cpuset.cpus', 'cpuset.mems']) inherit(group, file);
  return group;
}

/** Makes a group in every hierarchy, runs a process in each group, and removes the groups. @throws Error if one of these steps fails */
export async function tryGroups(hierarchies = findHierarchies()): Promise<void> {
  const name = `${clusterGroup}-try-${process.pid}`;
  try {
    for (const hierarchy of hierarchies) {
      const group = makeGroup(hierarchy, name);
      await exec('sh', ['-c', 'echo $$ >"$1"', 'sh', join(group, 'cgroup.procs')]);
    }
  } finally {
    for (const { folder } of hierarchies) if (existsSync(join(folder, name))) rmdirSync(join(folder, name));
  }
}

function inherit(group: string, file: string): void {
  const target = join(group, file);
  if (!existsSync(target) || readFileSync(target, 'utf8').trim() !== '') return;
  writeFileSync(target, readFileSync(join(group, '..', file), 'utf8'));
}

/** Returns a group and all its subgroups, the deepest first. */
function groupsBelow(group: string): string[] {
  if (!existsSync(group)) return [];
  const inner = readdirSync(group, { withFileTypes: true }).filter((each) => each.isDirectory());
  return [...inner.flatMap(({ name }) => groupsBelow(join(group, name))), group];
}

/** Returns the pids of all processes of the cluster. */
function clusterProcesses(hierarchies: Hierarchy[]): number[] {
  const tracking = trackingHierarchy(hierarchies);
  if (!tracking) return [];
  return groupsBelow(join(tracking.folder, clusterGroup)).flatMap((group) => {
    try {
      return readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    } catch {
      return []; // the group was just removed
    }
  });
}

/** Kills all processes of the cluster, including those of pods. Then removes the cluster's groups. @throws Error if processes do not end */
export async function endGroups(): Promise<void> {
  const deadline = Date.now() + 30_000;
  const hierarchies = findHierarchies();
  for (;;) {
    const pids = clusterProcesses(hierarchies);
    for (const pid of pids) kill(pid);
    if (pids.length === 0 && removeGroups(hierarchies)) return;
    if (Date.now() > deadline) throw new Error(`these processes of the cluster do not end: ${pids.join(' ')}`);
    await delay(50);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has just ended.
  }
}

/**
 * Removes all groups that can be removed. A group cannot be removed while its last process is still ending.
 * @returns whether all groups were removed
 */
function removeGroups(hierarchies: Hierarchy[]): boolean {
  let done = true;
  for (const group of hierarchies.flatMap(({ folder }) => groupsBelow(join(folder, clusterGroup)))) {
    try {
      rmdirSync(group);
    } catch {
      done = false;
    }
  }
  return done;
}
