import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from './whole-file.ts';

const forwarding = 'net/ipv4/ip_forward';

/** Kernel settings that kubelet and this package change. They apply to the whole machine, not to one network namespace. */
const changed = [
  'kernel/keys/root_maxbytes',
  'kernel/keys/root_maxkeys',
  'kernel/panic',
  'kernel/panic_on_oops',
  forwarding,
  'vm/overcommit_memory',
  'vm/panic_on_oom',
];

type Values = Record<string, string>;

/** The settings and the network interfaces of this machine. */
export interface SysctlState {
  values: Values;
  links: string[];
}

interface Kept {
  before: SysctlState;
  /** The values that the cluster has set; undefined until its start has completed. */
  set?: Values;
}

const path = (name: string) => join('/proc/sys', name);

function readState(): SysctlState {
  const present = changed.filter((name) => existsSync(path(name)));
  const values = Object.fromEntries(present.map((name) => [name, readFileSync(path(name), 'utf8').trim()]));
  return { values, links: readdirSync('/sys/class/net') };
}

/** Stores this machine's values of the settings before a cluster changes them. */
export function keepSysctls(file: string): void {
  writeJson(file, { before: readState() } satisfies Kept);
}

/** Stores the values that the cluster has set. Later, the stored values show which values another program has changed since. */
export function keepSetSysctls(file: string): void {
  const kept = readJson<Kept>(file);
  if (kept) writeJson(file, { ...kept, set: readState().values } satisfies Kept);
}

/** Restores the stored values, except those that another program needs. */
export function restoreSysctls(file: string): void {
  const kept = readJson<Kept>(file);
  if (!kept) return;
  for (const [name, value] of Object.entries(valuesToRestore(kept, readState()))) setSysctl(name, value);
}

/**
 * Returns the values to restore. Omits a value that another program has changed since the cluster set it. Also omits forwarding if there
 * are new network interfaces: for example, a container runtime that started after the cluster needs forwarding, which was already switched
 * on.
 */
export function valuesToRestore({ before, set }: Kept, now: SysctlState): Values {
  const hasNewLinks = now.links.some((link) => !before.links.includes(link));
  const restored = Object.entries(before.values).filter(([name, value]) => {
    const current = now.values[name];
    if (current === value || (name === forwarding && hasNewLinks)) return false;
    return set === undefined || current === set[name];
  });
  return Object.fromEntries(restored);
}

export function setSysctl(name: string, value: string): void {
  writeFileSync(path(name), value);
}
