// Pods are spread over two nodes, and one of them is drained under load.
import { setTimeout as delay } from 'node:timers/promises';
import { unitNames } from '@parley/units';
import { isReady, unitOf } from '../src/install/kubectl.ts';
import { readNodes } from '../src/nodes.ts';
import { broken, type Cluster, clusterStory } from './support/cluster-story.ts';
import { figuresOf, startTraffic } from './support/traffic.ts';

const lookAgainMs = 500;

/** Ready pods of a unit by their node. */
async function spread({ kubectl }: Cluster, unit: string): Promise<Record<string, number>> {
  const nodes = (await kubectl.pods(unit)).filter(isReady).map(({ spec }) => spec.nodeName ?? '');
  return Object.fromEntries([...Map.groupBy(nodes, (name) => name)].map(([name, { length }]) => [name, length]));
}

clusterStory(
  'a node is drained under load: each unit keeps a process, and no request is lost',
  25,
  async (t, cluster) => {
    const { kubectl, url } = cluster;
    const nodes = readNodes(cluster.folders).map(({ name }) => name);
    if (nodes.length < 2) return t.fail('one node: scripts/cluster up --nodes 2');
    if (broken === 'pdb') await kubectl.run(['delete', 'poddisruptionbudgets', '--all']);
    t.teardown(() => cluster.upgrade());
    // Pods that were there before the second node, or a drain, are not spread by themselves.
    await kubectl.run(['rollout', 'restart', 'deployment', '--selector', 'app.kubernetes.io/name=parley']);
    await cluster.allReady();
    const spreads = await Promise.all(
      unitNames.map(async (unit) => [unit, Object.values(await spread(cluster, unit))] as const),
    );
    for (const [unit, counts] of spreads) t.deepEqual(counts, [1, 1], `${unit} is on both nodes`);

    const traffic = await startTraffic(url);
    t.teardown(() => traffic.leave());
    const drained = nodes.at(-1) ?? '';
    t.teardown(() => kubectl.run(['uncordon', drained]));
    const fewest = new Map<string, number>(unitNames.map((unit) => [unit, Number.POSITIVE_INFINITY]));
    const over = new AbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        const ready = (await kubectl.pods()).filter(isReady).map(unitOf);
        for (const [unit, minReady] of fewest)
          fewest.set(unit, Math.min(minReady, ready.filter((each) => each === unit).length));
        await delay(lookAgainMs);
      }
    })();
    const begun = performance.now();
    await kubectl.run([
      'drain',
      drained,
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--timeout=15m',
      '--selector=app.kubernetes.io/name=parley',
    ]);
    const took = (performance.now() - begun) / 1000;
    over.abort();
    await watching;
    await cluster.allReady();
    const outcome = await traffic.end();
    t.log(
      `drained in ${took.toFixed(0)} s; the fewest ready pods of a unit: ${Math.min(...fewest.values())}`,
      figuresOf(outcome),
    );
    t.deepEqual(
      [...fewest].filter(([, minReady]) => minReady < 1),
      [],
      'units without a ready process',
    );
    t.deepEqual([outcome.unanswered, outcome.twice, outcome.lost, outcome.repeated], [[], [], [], {}]);
  },
);
