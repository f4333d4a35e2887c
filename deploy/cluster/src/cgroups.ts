import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The group of all processes of a cluster, in every hierarchy. Pods have groups of their own below it. */
export const clusterGroup = 'parley-cluster';

/** A mounted hierarchy of control groups. */
export interface Hierarchy {
  folder: string;
  version: 1 | 2;
  controllers: string[];
}

/**
 * The share of the processors that a cluster gets when others want them, as that of so many processes: what runs outside of groups
 * counts by the process, a group as one.
 */
const processorShare = 20;
const needed = ['cpu', 'cpuset', 'memory', 'pids'];

/** The hierarchies in `/proc/self/mountinfo`. Those of version 2 have their controllers in a file. */
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

/** Those of this machine. One that lies below a later mount is left out. */
export function findHierarchies(): Hierarchy[] {
  const mounted = parseHierarchies(readFileSync('/proc/self/mountinfo', 'utf8'));
  const visible = new Map(mounted.map((each) => [each.folder, each]));
  return [...visible.values()].flatMap((each) => {
    const file = join(each.folder, each.version === 1 ? 'tasks' : 'cgroup.controllers');
    if (!existsSync(file)) return [];
    return each.version === 1 ? [each] : [{ ...each, controllers: readFileSync(file, 'utf8').trim().split(/\s+/u) }];
  });
}

/** The controllers that a kubelet needs and that are in none of these. */
export function missingControllers(hierarchies: Hierarchy[]): string[] {
  return needed.filter((controller) => !hierarchies.some(({ controllers }) => controllers.includes(controller)));
}

/**
 * The hierarchy in which all processes of the cluster are found: a member of a group stays one when it leaves its parent, its
 * session, or its namespaces.
 */
function trackingHierarchy(hierarchies: Hierarchy[]): Hierarchy | undefined {
  return hierarchies.find(({ controllers }) => controllers.includes('pids'));
}

/**
 * Makes the cluster's groups, of which `names` are below the first one.
 * @returns the file to which a program of the cluster writes its pid.
 */
export function makeGroups(names: string[], hierarchies = findHierarchies()): string {
  for (const { folder, version } of hierarchies) {
    for (const name of ['', 'system', ...names]) {
      const group = join(folder, clusterGroup, name);
      mkdirSync(group, { recursive: true });
      // An empty set of processors admits no process; a new group of version 1 has one.
      if (version === 1) for (const file of ['cpuset.cpus', 'cpuset.mems']) inherit(group, file);
    }
  }
  for (const { folder, version } of hierarchies) {
    const [file, ofOne] = version === 1 ? (['cpu.shares', 1024] as const) : (['cpu.weight', 100] as const);
    const target = join(folder, clusterGroup, file);
    if (existsSync(target)) writeFileSync(target, String(processorShare * ofOne));
  }
  return join(trackingHierarchy(hierarchies)?.folder ?? '', clusterGroup, 'system/cgroup.procs');
}

function inherit(group: string, file: string): void {
  const target = join(group, file);
  if (!existsSync(target) || readFileSync(target, 'utf8').trim() !== '') return;
  writeFileSync(target, readFileSync(join(group, '..', file), 'utf8'));
}

/** The groups at and below one, the deepest first. */
function groupsBelow(group: string): string[] {
  if (!existsSync(group)) return [];
  const inner = readdirSync(group, { withFileTypes: true }).filter((each) => each.isDirectory());
  return [...inner.flatMap(({ name }) => groupsBelow(join(group, name))), group];
}

/** The pids of all processes of the cluster. */
function clusterProcesses(hierarchies: Hierarchy[]): number[] {
  const tracking = trackingHierarchy(hierarchies);
  if (!tracking) return [];
  return groupsBelow(join(tracking.folder, clusterGroup)).flatMap((group) => {
    try {
      return readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    } catch {
      return []; // the group has just gone
    }
  });
}

/** Kills all processes of the cluster, those of pods included, and removes its groups. @throws Error when some do not end. */
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
    // It has just ended.
  }
}

/** @returns whether none is left: one with a process that is about to end cannot be removed yet. */
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
