const systems = /^(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)$/;
const processors = /^(arm|arm64|ia32|loong64|ppc64|riscv64|s390x|x64)$/;
/** Other names of packages for the values of Node's `process.arch`. */
const synonyms: Record<string, string> = { armv6: 'arm', armv7: 'arm', aarch64: 'arm64', ppc64le: 'ppc64' };
const libraries: Record<string, string> = { gnu: 'glibc', gnueabihf: 'glibc', musl: 'musl', musleabihf: 'musl' };

/**
 * The platform that a package of native code is for, as npm compares it with the machine, by the words of its name: `@biomejs/cli-linux-arm64-musl` is for
 * linux, arm64 and musl. Undefined if the name contains no system and processor, i.e. for other packages.
 */
export function platformOf(name: string) {
  const words = name.split(/[/-]/).map((word) => synonyms[word] ?? word);
  const os = words.find((word) => systems.test(word));
  const cpu = words.find((word) => processors.test(word));
  if (!os || !cpu) return undefined;
  const libc = os === 'linux' ? words.flatMap((word) => libraries[word] ?? []).slice(0, 1) : [];
  return { cpu: [cpu], ...(libc.length > 0 && { libc }), os: [os] };
}
