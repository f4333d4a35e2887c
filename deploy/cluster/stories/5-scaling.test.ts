// The number of processes grows and shrinks under load. Each unit is scaled by hand; gateway and session are also scaled by
// HorizontalPodAutoscalers.
import { setTimeout as delay } from 'node:timers/promises';
import { unitNames } from '@parley/units';
import { isReady, type Kubectl, readySince } from '../src/install/kubectl.ts';
import { type Cluster, clusterStory } from './support/cluster-story.ts';
import { callsServedBy } from './support/metrics.ts';
import { figuresOf, nothingWasLost, startTraffic } from './support/traffic.ts';

const [minReplicas, maxReplicas, usual] = [1, 4, 2];
/** The maximum time from a new pod's readiness to its first call, as the chart's README states it. */
const callsWithinMs = 30_000;
/** This time is long enough for every pod of a unit to receive calls, because callers spread their calls over the pods. */
const shareMs = 20_000;
/**
 * The CPU request to which HorizontalPodAutoscalers compare the usage of pods. Idle pods use far less than this. The installation's own
 * requests are too small for this test: idle pods use as much as they request.
 */
const requestedCpu = '200m';
/** Units that other units call all the time during conversations. */
const called = ['session', 'agent', 'identity'];

async function scale({ kubectl, allReady }: Cluster, unit: string, replicas: number): Promise<void> {
  await kubectl.run(['scale', 'deployment', `parley-${unit}`, `--replicas=${replicas}`]);
  await allReady(300_000);
}

/** Returns for each new pod of a unit the time from its readiness to its first call, in ms. */
async function untilCalled(kubectl: Kubectl, unit: string, known: ReadonlySet<string>): Promise<number[]> {
  const waited = new Map<string, number>();
  const deadline = performance.now() + 2 * callsWithinMs + 60_000;
  for (;;) {
    const added = (await kubectl.pods(unit)).filter(({ metadata }) => !known.has(metadata.name));
    for (const pod of added.filter(isReady)) {
      const { name } = pod.metadata;
      if (!waited.has(name) && (await callsServedBy(kubectl, name)) > 0)
        waited.set(name, Date.now() - (readySince(pod)?.getTime() ?? 0));
    }
    if (waited.size === maxReplicas - minReplicas) return [...waited.values()];
    if (performance.now() > deadline) throw new Error(`${unit}: ${waited.size} of ${added.length} new pods are called`);
    await delay(500);
  }
}

/** Counts the calls of a unit for 20 seconds. Returns the share of these calls that each of the unit's pods received. */
async function sharesOf(kubectl: Kubectl, unit: string): Promise<number[]> {
  const pods = (await kubectl.pods(unit)).filter(isReady);
  const count = () => Promise.all(pods.map(({ metadata }) => callsServedBy(kubectl, metadata.name)));
  const before = await count();
  await delay(shareMs);
  const calls = (await count()).map((now, n) => now - (before[n] ?? 0));
  const all = calls.reduce((sum, each) => sum + each, 0);
  return calls.map((each) => each / all);
}

clusterStory(
  'each unit grows from one process to four and shrinks to two under load, and no request is lost',
  45,
  async (t, cluster) => {
    const { kubectl, url } = cluster;
    t.teardown(() => cluster.upgrade());
    for (const unit of unitNames) {
      await scale(cluster, unit, minReplicas);
      const traffic = await startTraffic(url);
      t.teardown(() => traffic.leave());
      const known = new Set((await kubectl.pods(unit)).map(({ metadata }) => metadata.name));
      await kubectl.run(['scale', 'deployment', `parley-${unit}`, `--replicas=${maxReplicas}`]);
      if (called.includes(unit)) {
        const waits = await untilCalled(kubectl, unit, known);
        const shares = await sharesOf(kubectl, unit);
        t.true(Math.max(...waits) <= callsWithinMs, `${unit}: called ${waits.join(', ')} ms after ready`);
        t.true(Math.min(...shares) > 0.4 / maxReplicas, `${unit}: ${shares.join(', ')}`);
        t.log(
          `${unit}: new pods called ${waits.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s after ready, shares ${shares.map((part) => `${(part * 100).toFixed()} %`).join(', ')}`,
        );
      }
      await cluster.allReady(300_000);
      await scale(cluster, unit, usual);
      const outcome = await traffic.end();
      t.log(`${unit}: ${figuresOf(outcome)}`);
      nothingWasLost(t, outcome, unit);
    }
  },
);

clusterStory('autoscalers add gateways and sessions under load, and take them away after', 40, async (t, cluster) => {
  const { kubectl, url } = cluster;
  const autoscaling = { enabled: true, maxReplicas, targetCPUUtilizationPercentage: 20 };
  t.teardown(() => cluster.upgrade());
  const scaled = ['gateway', 'session'];
  await cluster.upgrade(
    Object.fromEntries(
      scaled.flatMap((unit) => [
        [`units.${unit}.autoscaling`, autoscaling],
        [`units.${unit}.resources.requests.cpu`, requestedCpu],
      ]),
    ),
  );
  const replicas = async (unit: string) => (await kubectl.pods(unit)).filter(isReady).length;
  const begun = performance.now();
  const seconds = () => ((performance.now() - begun) / 1000).toFixed(0);
  const traffic = await startTraffic(url, { conversations: 20 });
  t.teardown(() => traffic.leave());
  for (const unit of scaled) {
    while ((await replicas(unit)) <= usual) await delay(1_000);
    t.log(`${unit}: a third process is ready after ${seconds()} s of load`);
  }
  const outcome = await traffic.end();
  t.log(figuresOf(outcome));
  nothingWasLost(t, outcome, 'autoscaling');
  const over = performance.now();
  for (const unit of scaled) {
    while ((await replicas(unit)) > usual) await delay(5_000);
    t.log(`${unit}: back at ${usual} ${((performance.now() - over) / 1000).toFixed(0)} s after the load`);
  }
});
