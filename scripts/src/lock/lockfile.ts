/** One package of package-lock.json (lockfileVersion 3); its key is its folder. */
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
 * The optional dependencies that the lockfile lacks: npm leaves them out if its registry does not have them, and npm ci then
 * rejects the lockfile.
 */
export function missingOptionals({ packages }: Lockfile) {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !folders(parent).some((folder) => `${folder}node_modules/${name}` in packages))
      .map(([name, range]) => ({ parent, name, range })),
  );
}

/** The entries with the host of a registry, which other machines may not be able to access. */
export function entriesWithHost({ packages }: Lockfile): string[] {
  return Object.keys(packages).filter((path) => !packages[path]?.link && packages[path]?.resolved?.includes('://'));
}

/** The folders in which Node looks for the imports of the package in `path`, nearest first; each ends with a slash or is ''. */
function folders(path: string): string[] {
  if (path === '') return [''];
  const parent = path.lastIndexOf('node_modules/');
  // A workspace is outside of node_modules, and the root follows it.
  return [`${path}/`, ...folders(parent > 0 ? path.slice(0, parent - 1) : '')];
}

/**
 * The lockfile with an entry for each optional package of another platform that npm left out, so that `npm ci` accepts it on
 * every platform. The entries have no integrity, since the registry did not know them; npm on such a platform adds it.
 * @throws Error if a missing one is not for one platform, or has no exact version.
 */
export function complete(lockfile: Lockfile): Lockfile {
  const packages = { ...lockfile.packages };
  for (const { parent, name, range: version } of missingOptionals(lockfile)) {
    const platform = platformOf(name);
    if (!platform || !/^\d/.test(version)) {
      throw new Error(`${parent} names ${name}@${version}, which is missing: run npm install again`);
    }
    const shared = `node_modules/${name}`;
    // npm nests a package if another version is already in the shared folder.
    const path = shared in packages ? `${parent}/${shared}` : shared;
    packages[path] = { version, ...(packages[parent]?.dev && { dev: true }), optional: true, ...platform };
  }
  // The order of npm, so that its next install does not reorder lines.
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lockfile, packages: Object.fromEntries(sorted) };
}

/** How the names of packages of native code end: system, processor and, on Linux, the C library. */
const platform =
  /[/-](aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-([a-z\d]+)(?:-([a-z]+))?$/;
/** Node's `process.arch` by the processor names that packages use instead. */
const processors: Record<string, string> = { armv6: 'arm', armv7: 'arm', aarch64: 'arm64', ppc64le: 'ppc64' };
const libraries: Record<string, string> = { gnu: 'glibc', gnueabihf: 'glibc', musl: 'musl', musleabihf: 'musl' };

/** The platform that a package is for by its name, as npm compares it with the machine; undefined for other packages. */
function platformOf(name: string) {
  const [, os, cpu, abi = ''] = platform.exec(name) ?? [];
  if (!os || !cpu) return undefined;
  const libc = os === 'linux' && libraries[abi];
  return { cpu: [processors[cpu] ?? cpu], ...(libc && { libc: [libc] }), os: [os] };
}
