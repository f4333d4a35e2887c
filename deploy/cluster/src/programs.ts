import { join } from 'node:path';
import { ensureInstalled, type InstallOptions, isInstalled } from '@parley/servers/install';

const scripts = join(import.meta.dirname, '../programs');

/**
 * The programs of a cluster. Increment `revision` when `install.sh` installs something else. `minutes`: the approximate build time on two
 * processors.
 */
const declared = {
  packages: { title: 'containerd, runc, CNI, iptables', version: '1', revision: 1, minutes: 1, from: 'apt' },
  kubernetes: { title: 'Kubernetes', version: '1.34.4', revision: 1, minutes: 8, from: 'go' },
  etcd: { title: 'etcd', version: '3.5.21', revision: 1, minutes: 2, from: 'go' },
  pause: { title: 'pause', version: '3.10', revision: 1, minutes: 1, from: 'go' },
  coredns: { title: 'CoreDNS', version: '1.14.7', revision: 1, minutes: 3, from: 'go' },
  'kube-router': { title: 'kube-router', version: '2.1.0', revision: 1, minutes: 3, from: 'go' },
  'metrics-server': { title: 'metrics-server', version: '0.8.0', revision: 1, minutes: 3, from: 'go' },
} as const;

export type ProgramName = keyof typeof declared;

export const programs = Object.entries(declared).map(([name, { version, revision, ...rest }]) => ({
  ...rest,
  name: name as ProgramName,
  version,
  folder: `${name}-${version}-${revision}`,
  scripts: join(scripts, name),
}));

/** The folder with the scripts that belong to no single program. */
export const scriptsFolder = scripts;

/** Returns the folder in which a program is installed. */
export function programFolder(tools: string, name: ProgramName): string {
  const { version, revision } = declared[name];
  return join(tools, `${name}-${version}-${revision}`);
}

/** The names of images that contain a program. */
export const images = {
  pause: `registry.k8s.io/pause:${declared.pause.version}`,
  coredns: `registry.k8s.io/coredns/coredns:v${declared.coredns.version}`,
  'metrics-server': `registry.k8s.io/metrics-server/metrics-server:v${declared['metrics-server'].version}`,
};

/** Returns the programs that are not installed yet. */
export function notInstalled(tools: string) {
  return programs.filter((program) => !isInstalled(program, tools));
}

/** Installs missing programs one after the other, because each build uses all processors. */
export async function installPrograms({ tools, signal, say }: InstallOptions): Promise<void> {
  for (const program of notInstalled(tools)) {
    await ensureInstalled(program, { tools, signal, say: (line) => say(`${program.title}: ${line}`) });
  }
}
