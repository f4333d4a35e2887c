import { Client } from '@parley/stories/client';
import test, { type ExecutionContext } from 'ava';
import { folders } from '../../src/folders.ts';
import { allReady, findInstalled, namespace, openHelm, valueArgs } from '../../src/install/install.ts';
import { openKubectl } from '../../src/install/kubectl.ts';
import { podStates, withinTime } from '../../src/install/pod-states.ts';

export type Promised = 'policy' | 'pdb' | 'prestop';

/** What the run takes away (`scripts/test --cluster --break`), for the story of it to fail. */
export const broken = process.env.PARLEY_CLUSTER_BREAK;

export type Cluster = ReturnType<typeof openCluster>;

/** An installation in the cluster of this checkout, and what works on it. */
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
    /** Upgrades the release with values over those of its install; resolves when all pods are of it and ready. */
    async upgrade(set: Record<string, unknown> = {}, { chart = 'charts/parley' } = {}): Promise<void> {
      const over = Object.entries(set).flatMap(([path, value]) => ['--set-json', `${path}=${JSON.stringify(value)}`]);
      // Stories scale Deployments by kubectl, which then owns their replicas: without this flag Helm 4 refuses to set them.
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
 * Registers a story on the installation that is there. One that takes longer than its time, or fails, ends with the states of all
 * pods and the last lines of the logs of those that are not ready.
 */
export function clusterStory(title: string, minutes: number, story: Story): void {
  test.serial(title, async (t) => {
    t.timeout((minutes + 2) * 60_000);
    const cluster = openCluster();
    if (broken !== undefined) t.log(`without what is promised: ${broken}`);
    await withinTime(cluster.kubectl, title, minutes * 60_000, () => story(t, cluster));
  });
}
