import { platformOf } from './platform.ts';

/** One package of package-lock.json (lockfileVersion 3); its key is the folder that npm puts it in. */
export interface LockEntry {
  version?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

export interface Lockfile {
  lockfileVersion: number;
  packages: Record<string, LockEntry>;
}

/**
 * The optional dependencies that a parent names and the lockfile lacks: npm leaves them out when the registry that it asked does
 * not have them, and npm ci then refuses the lockfile.
 */
export function missingOptionals({ packages }: Lockfile) {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !folders(parent).some((folder) => `${folder}node_modules/${name}` in packages))
      .map(([name, range]) => ({ parent, name, range })),
  );
}

/** The entries that name a registry's host, which only serves whom that registry serves. */
export function entriesWithHost({ packages }: Lockfile): string[] {
  return Object.keys(packages).filter((path) => !packages[path]?.link && packages[path]?.resolved?.includes('://'));
}

/** Where Node looks for a package that the one in `path` imports, nearest first; each ends with a slash or is ''. */
function folders(path: string): string[] {
  if (path === '') return [''];
  const parent = path.lastIndexOf('node_modules/');
  // A workspace stands outside node_modules: next after it comes the root.
  return [`${path}/`, ...folders(parent > 0 ? path.slice(0, parent - 1) : '')];
}

/**
 * The lockfile with an entry for each optional package of another platform that npm left out, so that `npm ci` takes
 * it everywhere. They carry no integrity, since the registry did not know them; npm on such a platform adds it.
 * @throws Error where a missing one is bound to no platform, or to no exact version.
 */
export function complete(lockfile: Lockfile): Lockfile {
  const packages = { ...lockfile.packages };
  for (const { parent, name, range: version } of missingOptionals(lockfile)) {
    const platform = platformOf(name);
    if (!platform || !/^\d/.test(version)) {
      throw new Error(`${parent} names ${name}@${version}, which is missing: run npm install again`);
    }
    const shared = `node_modules/${name}`;
    // Where another parent's version already took the shared place, npm nests.
    const path = shared in packages ? `${parent}/${shared}` : shared;
    packages[path] = { version, ...(packages[parent]?.dev && { dev: true }), optional: true, ...platform };
  }
  // npm's own order, so that its next install moves no line.
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lockfile, packages: Object.fromEntries(sorted) };
}
