// Pods are replaced, deleted and killed under load. Each acknowledged message still gets its reply or its error, exactly once.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '@parley/servers/root';
import type { ExecutionContext } from 'ava';
import { provideImages } from '../src/images/images.ts';
import { type Cluster, clusterStory } from './support/cluster-story.ts';
import { containerIds, killContainer } from './support/containers.ts';
import { figuresOf, nothingWasLost, type Outcome, startTraffic } from './support/traffic.ts';

/** How long traffic runs before the tested operation and after it, so that all effects of the operation are observed. */
const calmMs = 5_000;

/** Runs `work` while ten users send messages and fifty subscriptions are idle. Asserts what must be true after every kind of restart. */
async function underTraffic(t: ExecutionContext, { url }: Cluster, work: () => Promise<void>): Promise<Outcome> {
  const traffic = await startTraffic(url);
  t.teardown(() => traffic.leave());
  await delay(calmMs);
  const begun = performance.now();
  await work();
  const took = (performance.now() - begun) / 1000;
  await delay(calmMs);
  const outcome = await traffic.end();
  t.log(`${took.toFixed(0)} s: ${figuresOf(outcome)}`, outcome.lost.slice(0, 10));
  t.true(outcome.messages > 20, `${outcome.messages} messages`);
  t.deepEqual(outcome.unanswered, []);
  t.deepEqual(outcome.twice, []);
  t.is(outcome.idle.wrong, 0);
  return outcome;
}

clusterStory('all Deployments are restarted, and no request is lost', 20, async (t, cluster) => {
  const outcome = await underTraffic(t, cluster, async () => {
    await cluster.kubectl.run(['rollout', 'restart', 'deployment', '--selector', 'app.kubernetes.io/name=parley']);
    await cluster.allReady();
  });
  nothingWasLost(t, outcome);
});

clusterStory('a pod of gateway and one of session are deleted, and no request is lost', 10, async (t, cluster) => {
  const outcome = await underTraffic(t, cluster, async () => {
    for (const unit of ['gateway', 'session']) {
      const [pod] = await cluster.kubectl.pods(unit);
      await cluster.kubectl.run(['delete', 'pod', pod?.metadata.name ?? '']);
      await cluster.allReady();
    }
  });
  nothingWasLost(t, outcome);
});

clusterStory('pods are killed with SIGKILL, and nobody waits for a reply in vain', 10, async (t, cluster) => {
  await underTraffic(t, cluster, async () => {
    for (const unit of ['session', 'agent']) {
      const [pod] = await cluster.kubectl.pods(unit);
      const [container] = containerIds(pod);
      await killContainer(cluster.folders, pod?.spec.nodeName ?? '', container ?? '');
      await restarted(cluster, pod?.metadata.name ?? '');
      await cluster.allReady();
    }
  });
});

clusterStory('an upgrade to the commit before and back loses no request', 60, async (t, cluster) => {
  const commit = changedBefore();
  const { folders } = cluster;
  const { signal } = new AbortController();
  const { tag, checkout } = await provideImages({ folders, commit, signal, say: (line) => t.log(line) });
  t.teardown(() => cluster.upgrade());
  for (const [what, upgrade] of [
    [
      `to ${commit.slice(0, 8)}`,
      () => cluster.upgrade({ 'image.tag': tag }, { chart: join(checkout, 'charts/parley') }),
    ],
    ['back', () => cluster.upgrade()],
  ] as const) {
    t.log(what);
    nothingWasLost(t, await underTraffic(t, cluster, upgrade));
  }
});

/** Returns the parent of the last commit that changed a unit. */
function changedBefore(): string {
  const sources = ['gateway', 'services', 'protos', ':!*.md', ':!*.test.ts'];
  return execFileSync('git', ['log', '-1', '--format=%H^', '--', ...sources], { cwd: root, encoding: 'utf8' }).trim();
}

/** Resolves when kubelet has started the container of this pod again. */
async function restarted({ kubectl }: Cluster, name: string): Promise<void> {
  for (;;) {
    const [state] =
      (await kubectl.pods()).find(({ metadata }) => metadata.name === name)?.status.containerStatuses ?? [];
    if (state && state.restartCount > 0) return;
    await delay(500);
  }
}
