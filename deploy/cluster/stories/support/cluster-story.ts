import { Client } from '@parley/stories/client';
import test, { type ExecutionContext } from 'ava';
import { folders } from '../../src/folders.ts';
import { allReady, findInstalled, namespace, openHelm, valueArgs } from '../../src/install/install.ts';
import { openKubectl } from '../../src/install/kubectl.ts';
import { podStates, withinTime } from '../../src/install/pod-states.ts';

export type Promised = 'policy' | 'pdb' | 'prestop';

/** The protection that this run removes (`scripts/test --cluster --break`). The story of this protection must then fail. */
export const broken = process.env.PARLEY_CLUSTER_BREAK;

export type Cluster = ReturnType<typeof openCluster>;

/** Opens the installation in the cluster of this checkout, with functions for stories. */
export function openCluster() {
  const installed = findInstalled(folders);
  const kubectl = openKubectl(folders, namespace);
  const helm = openHelm(folders, kubectl);
  return {
    folders,
    installed,
    kubectl,
    helm,
    url: installed.url,
    /** Upgrades the release with values that override those of its install. Resolves when all pods have the new revision and are ready. */
    async upgrade(set: Record<string, unknown> = {}, { chart = 'charts/parley' } = {}): Promise<void> {
      const over = Object.entries(set).flatMap(([path, value]) => ['--set-json', `${path}=${JSON.stringify(value)}`]);
      // Stories scale Deployments with kubectl, which then owns the field `replicas`. Without --force-conflicts, Helm 4 refuses to set the
      // field.
      const flags = ['--force-conflicts', '--timeout', '15m'];
      await helm('upgrade', 'parley', chart, ...valueArgs(installed.values, chart), ...over, ...flags);
      await allReady(kubectl);
    },
    allReady: (timeoutMs?: number) => allReady(kubectl, timeoutMs === undefined ? {} : { timeoutMs }),
    async person(): Promise<Client> {
      const client = new Client(installed.url);
      await client.register();
      return client;
    },
    states: () => podStates(kubectl),
  };
}

type Story = (t: ExecutionContext, cluster: Cluster) => Promise<unknown>;

/**
 * Registers a story that uses the current installation. If the story fails or takes longer than `minutes`, its error contains the states of
 * all pods, and the last log lines of pods that are not ready.
 */
export function clusterStory(title: string, minutes: number, story: Story): void {
  test.serial(title, async (t) => {
    t.timeout((minutes + 2) * 60_000);
    const cluster = openCluster();
    if (broken !== undefined) t.log(`without what is promised: ${broken}`);
    await withinTime(cluster.kubectl, title, minutes * 60_000, () => story(t, cluster));
  });
}
