import { type LockEntry, type Lockfile, type MissingOptional, missingOptionals } from './lockfile.ts';
import { platformOf } from './platform.ts';

/**
 * The lockfile with an entry for each optional package of another platform that npm left out, so that `npm ci` takes
 * it everywhere. They carry no integrity, since the registry did not know them; npm on such a platform adds it.
 */
export function complete(lockfile: Lockfile): Lockfile {
  const packages = { ...lockfile.packages };
  for (const missing of missingOptionals(lockfile)) {
    const shared = `node_modules/${missing.name}`;
    // Where another parent's version already took the shared place, npm nests.
    const path = shared in packages ? `${missing.parent}/${shared}` : shared;
    packages[path] = entryOf(missing, packages[missing.parent]?.dev);
  }
  // npm's own order, so that its next install moves no line.
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lockfile, packages: Object.fromEntries(sorted) };
}

function entryOf({ parent, name, range }: MissingOptional, dev?: boolean): LockEntry {
  const at = `${parent} names ${name}@${range}, which is missing`;
  const platform = platformOf(name);
  if (!platform) throw new Error(`${at}, and its name tells no platform: run npm install again`);
  if (!/^\d/.test(range)) throw new Error(`${at}, and ${range} is no exact version: run npm install again`);

  const { cpu, libc, os } = platform;
  return { version: range, cpu, ...(dev && { dev }), ...(libc && { libc }), optional: true, os };
}
