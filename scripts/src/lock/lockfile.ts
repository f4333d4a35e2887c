/** One package of package-lock.json (lockfileVersion 3); its key is the folder that npm puts it in. */
export interface LockEntry {
  version?: string;
  resolved?: string;
  integrity?: string;
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

/** An optional dependency that its parent names and the lockfile lacks. */
export interface MissingOptional {
  parent: string;
  name: string;
  range: string;
}

/** What npm left out of the lockfile because the registry it asked did not have it: for npm ci, an error. */
export function missingOptionals({ packages }: Lockfile): MissingOptional[] {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !folders(parent).some((folder) => `${folder}node_modules/${name}` in packages))
      .map(([name, range]) => ({ parent, name, range })),
  );
}

/** The entries that name a registry's host, which only serves whom that registry serves. */
export function entriesWithHost({ packages }: Lockfile): string[] {
  return Object.entries(packages)
    .filter(([, { resolved = '', link }]) => !link && resolved.includes('://'))
    .map(([path]) => path);
}

/** Where Node looks for a package that the one in `path` imports, nearest first; each ends with a slash or is ''. */
function folders(path: string): string[] {
  if (path === '') return [''];
  const parent = path.lastIndexOf('node_modules/');
  // A workspace stands outside node_modules: next after it comes the root.
  return [`${path}/`, ...folders(parent > 0 ? path.slice(0, parent - 1) : '')];
}
