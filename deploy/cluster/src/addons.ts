import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { dnsService, type Node } from './addresses.ts';
import { adminKubeconfig, clientEnv } from './folders.ts';
import { resolvConf } from './node-files.ts';
import { command, type Run } from './process.ts';
import { images } from './programs.ts';

const folder = join(import.meta.dirname, '../manifests');

/** Replaces the `${…}` placeholders of a manifest. @throws Error for a placeholder without a value */
export function fill(manifest: string, values: Record<string, string>): string {
  return manifest.replaceAll(/\$\{(\w+)\}/gu, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for ${name}`);
    return value;
  });
}

/** Returns the values of the placeholders in the manifests. */
export function addonValues({ nodes, resolver }: { nodes: Node[]; resolver: string }): Record<string, string> {
  return {
    dnsService,
    dnsReplicas: nodes.length > 1 ? '2' : '1',
    corednsImage: images.coredns,
    metricsImage: images['metrics-server'],
    // If pods can reach no DNS server of this machine, DNS resolves only names of the cluster.
    forward: resolver === '' ? '' : 'forward . /etc/resolv.conf',
  };
}

/** Applies the manifests of the cluster's own pods: DNS and metrics. */
export async function applyAddons({ state, tools, signal }: Run, nodes: Node[]): Promise<void> {
  const values = addonValues({ nodes, resolver: resolvConf(readFileSync('/etc/resolv.conf', 'utf8')) });
  const manifests = ['coredns.yaml', 'metrics-server.yaml'].map((name) =>
    fill(readFileSync(join(folder, name), 'utf8'), values),
  );
  const file = join(state, 'addons.yaml');
  writeFileSync(file, manifests.join('\n---\n'));
  const kubeconfig = adminKubeconfig({ state });
  await exec(command(tools, 'kubernetes', 'kubectl'), ['--kubeconfig', kubeconfig, 'apply', '--filename', file], {
    signal,
    env: clientEnv({ state }),
  });
}
