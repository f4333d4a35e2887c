/** What npm compares with the machine before it installs an optional package. */
export interface Platform {
  os: string[];
  cpu: string[];
  libc?: string[];
}

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];

// Longer names that packages use for what npm calls by Node's `process.arch`.
const processors: Record<string, string> = {
  arm: 'arm',
  armv6: 'arm',
  armv7: 'arm',
  aarch64: 'arm64',
  arm64: 'arm64',
  ia32: 'ia32',
  loong64: 'loong64',
  ppc64: 'ppc64',
  ppc64le: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  x64: 'x64',
};

const libraries: Record<string, string> = {
  gnu: 'glibc',
  gnueabihf: 'glibc',
  musl: 'musl',
  musleabihf: 'musl',
};

/**
 * The platform that a package of native code is for, by the words of its name: `@biomejs/cli-linux-arm64-musl` is for
 * linux, arm64 and musl. Undefined when the name tells no system and processor: then it is no such package.
 */
export function platformOf(name: string): Platform | undefined {
  const words = name.split(/[/-]/);
  const os = words.find((word) => systems.includes(word));
  const cpu = words.flatMap((word) => processors[word] ?? [])[0];
  if (os === undefined || cpu === undefined) return undefined;

  const libc = os === 'linux' ? words.flatMap((word) => libraries[word] ?? [])[0] : undefined;
  return { os: [os], cpu: [cpu], ...(libc !== undefined && { libc: [libc] }) };
}
