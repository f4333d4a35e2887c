import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Kernel settings that kubelet and this package change. They apply to the whole machine, not to one network namespace. */
const changed = [
  'kernel/keys/root_maxbytes',
  'kernel/keys/root_maxkeys',
  'kernel/panic',
  'kernel/panic_on_oops',
  'net/ipv4/ip_forward',
  'vm/overcommit_memory',
  'vm/panic_on_oom',
];

const path = (name: string) => join('/proc/sys', name);
const read = (name: string) => readFileSync(path(name), 'utf8').trim();

/** Stores the current values in a file, unless the file exists from an earlier start. */
export function keepSysctls(file: string): void {
  if (existsSync(file)) return;
  const present = changed.filter((name) => existsSync(path(name)));
  writeFileSync(file, JSON.stringify(Object.fromEntries(present.map((name) => [name, read(name)]))));
}

/** Restores the stored values. */
export function restoreSysctls(file: string): void {
  if (!existsSync(file)) return;
  const values: Record<string, string> = JSON.parse(readFileSync(file, 'utf8'));
  for (const [name, value] of Object.entries(values)) if (read(name) !== value) writeFileSync(path(name), value);
}

export function setSysctl(name: string, value: string): void {
  writeFileSync(path(name), value);
}
