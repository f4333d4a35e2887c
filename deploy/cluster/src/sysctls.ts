import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The kernel's settings that a kubelet and this package change, as they belong to the machine and not to a network namespace. */
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

/** Stores the present values in a file, unless it has them from an earlier start. */
export function keepSysctls(file: string): void {
  if (existsSync(file)) return;
  const present = changed.filter((name) => existsSync(path(name)));
  writeFileSync(file, JSON.stringify(Object.fromEntries(present.map((name) => [name, read(name)]))));
}

/** Sets the stored values again. */
export function restoreSysctls(file: string): void {
  if (!existsSync(file)) return;
  const values: Record<string, string> = JSON.parse(readFileSync(file, 'utf8'));
  for (const [name, value] of Object.entries(values)) if (read(name) !== value) writeFileSync(path(name), value);
}

export function setSysctl(name: string, value: string): void {
  writeFileSync(path(name), value);
}
