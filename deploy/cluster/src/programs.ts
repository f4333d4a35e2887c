import { join } from 'node:path';
import { ensureInstalled, type InstallOptions, isInstalled } from '@parley/servers/install';

const scripts = join(import.meta.dirname, '../programs');

/**
 * The programs of a cluster. `revision` is incremented when `install.sh` changes what it installs, `minutes` is about what that takes
 * on two processors.
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

/** The folder with the manifests and scripts that are no program's own. */
export const scriptsFolder = scripts;

/** Where a program is installed. */
export function programFolder(tools: string, name: ProgramName): string {
  const { version, revision } = declared[name];
  return join(tools, `${name}-${version}-${revision}`);
}

/** The name of the image that is made of a program. */
export const images = {
  pause: `registry.k8s.io/pause:${declared.pause.version}`,
  coredns: `registry.k8s.io/coredns/coredns:v${declared.coredns.version}`,
  'metrics-server': `registry.k8s.io/metrics-server/metrics-server:v${declared['metrics-server'].version}`,
};

/** The programs that are not installed yet. */
export function notInstalled(tools: string) {
  return programs.filter((program) => !isInstalled(program, tools));
}

/** Installs what is missing, one after the other, because each build uses all processors. */
export async function installPrograms({ tools, signal, say }: InstallOptions): Promise<void> {
  for (const program of notInstalled(tools)) {
    await ensureInstalled(program, { tools, signal, say: (line) => say(`${program.title}: ${line}`) });
  }
}
