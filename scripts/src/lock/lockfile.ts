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
 * Returns the optional dependencies that the lockfile lacks. npm omits them if its registry does not have them, and npm ci then rejects the
 * lockfile.
 */
export function missingOptionals({ packages }: Lockfile) {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !folders(parent).some((folder) => `${folder}node_modules/${name}` in packages))
      .map(([name, range]) => ({ parent, name, range })),
  );
}

/** Returns the entries that contain a registry's host, which other machines may be unable to reach. */
export function entriesWithHost({ packages }: Lockfile): string[] {
  return Object.keys(packages).filter((path) => !packages[path]?.link && packages[path]?.resolved?.includes('://'));
}

/**
 * Returns the folders in which Node looks for the imports of the package in `path`, nearest first. A folder ends with a slash, or is ''.
 */
function folders(path: string): string[] {
  if (path === '') return [''];
  const parent = path.lastIndexOf('node_modules/');
  // A workspace is not inside node_modules, so the root is the next folder.
  return [`${path}/`, ...folders(parent > 0 ? path.slice(0, parent - 1) : '')];
}

/**
 * Adds an entry for each optional package of another platform that npm omitted, so that `npm ci` accepts the lockfile on every platform.
 * The entries have no integrity hash; npm adds it when it installs the package on the package's own platform.
 * @throws Error if npm omitted a package that is not limited to one platform, or that has no exact version
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
  // Sorts like npm, so that npm's next install does not reorder lines.
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lockfile, packages: Object.fromEntries(sorted) };
}

/** The suffix of the names of native packages: system, processor and, on Linux, the C library. */
const platform =
  /[/-](aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-([a-z\d]+)(?:-([a-z]+))?$/;
/** Maps the processor names in names of packages to Node's `process.arch`. */
const processors: Record<string, string> = { armv6: 'arm', armv7: 'arm', aarch64: 'arm64', ppc64le: 'ppc64' };
const libraries: Record<string, string> = { gnu: 'glibc', gnueabihf: 'glibc', musl: 'musl', musleabihf: 'musl' };

/** Returns the platform in a package's name, in the form that npm compares with the machine; undefined for names without a platform. */
function platformOf(name: string) {
  const [, os, cpu, abi = ''] = platform.exec(name) ?? [];
  if (!os || !cpu) return undefined;
  const libc = os === 'linux' && libraries[abi];
  return { cpu: [processors[cpu] ?? cpu], ...(libc && { libc: [libc] }), os: [os] };
}
