// Pods are spread over two nodes. Then both nodes are drained under load, one after the other; at the second drain, one node has all pods.
import { setTimeout as delay } from 'node:timers/promises';
import { unitNames } from '@parley/units';
import { isReady, unitOf } from '../src/install/kubectl.ts';
import { readNodes } from '../src/nodes.ts';
import { broken, type Cluster, clusterStory } from './support/cluster-story.ts';
import { figuresOf, nothingWasLost, startTraffic } from './support/traffic.ts';

const lookAgainMs = 500;
const ours = 'app.kubernetes.io/name=parley';

/** Returns how many ready pods of a unit run on each node. Omits nodes that run none of them. */
async function spread({ kubectl }: Cluster, unit: string): Promise<number[]> {
  const ready = (await kubectl.pods(unit)).filter(isReady);
  return [...Map.groupBy(ready, ({ spec }) => spec.nodeName).values()].map(({ length }) => length);
}

/** Moves all pods of a node elsewhere. @returns the duration, and for each unit the lowest number of ready pods during the drain */
async function drain({ kubectl, allReady }: Cluster, node: string) {
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
  const pods = [`--pod-selector=${ours}`, '--ignore-daemonsets', '--delete-emptydir-data', '--force'];
  try {
    await kubectl.run(['drain', node, ...pods, '--timeout=15m']);
    await allReady();
  } finally {
    over.abort();
    await watching;
  }
  return { seconds: Math.round((performance.now() - begun) / 1000), fewest };
}

clusterStory('two nodes are drained in turn under load: each unit keeps a process', 40, async (t, cluster) => {
  const { kubectl, url } = cluster;
  const nodes = readNodes(cluster.folders).map(({ name }) => name);
  if (nodes.length !== 2) return t.fail(`${nodes.length} nodes: scripts/cluster up --nodes 2`);
  for (const node of nodes) t.teardown(() => kubectl.run(['uncordon', node]));
  // Restarts all pods, because Kubernetes does not move running pods to a node that was added, or to one that was drained earlier.
  await kubectl.run(['rollout', 'restart', 'deployment', '--selector', ours]);
  await cluster.allReady();
  for (const unit of unitNames) t.deepEqual(await spread(cluster, unit), [1, 1], `${unit} is on both nodes`);
  if (broken !== undefined) t.teardown(() => cluster.upgrade());
  // A drain ends a pod as soon as another pod is ready. Callers may not know yet that the old pod ended and the new one started.
  if (broken === 'prestop') await cluster.upgrade({ preStopSeconds: 0 });
  if (broken === 'pdb') {
    await kubectl.run(['delete', 'poddisruptionbudgets', '--all']);
  }

  const traffic = await startTraffic(url);
  t.teardown(() => traffic.leave());
  for (const node of nodes) {
    const { seconds, fewest } = await drain(cluster, node);
    await kubectl.run(['uncordon', node]);
    t.log(`${node} drained in ${seconds} s; the fewest ready pods of a unit: ${Math.min(...fewest.values())}`);
    const without = [...fewest].filter(([, minReady]) => minReady < 1).map(([unit]) => unit);
    t.deepEqual(without, [], `units without a ready process while ${node} was drained`);
  }
  const outcome = await traffic.end();
  t.log(figuresOf(outcome));
  nothingWasLost(t, outcome);
});
