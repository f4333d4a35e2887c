// Calls between units are encrypted, and their certificate and authority are replaced under load.
import { setTimeout as delay } from 'node:timers/promises';
import { type TestAuthority, type TestCertificate, testAuthority } from '@parley/testing/test-authority';
import { type Cluster, clusterStory } from './support/cluster-story.ts';
import { figuresOf, startTraffic } from './support/traffic.ts';

const secret = 'parley-mesh';
/** By then all pods have a changed Secret, as the operators' manual says. */
const mountedWithinMs = 120_000;

async function setCertificate(
  { kubectl }: Cluster,
  { cert, key }: TestCertificate,
  authorities: TestAuthority[],
): Promise<void> {
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret, namespace: kubectl.namespace },
    stringData: { 'tls.crt': cert, 'tls.key': key, 'ca.crt': authorities.map((each) => each.cert).join('') },
  });
}

/** Turning encryption on or off is no rolling change: the steps of the operators' manual. */
async function change(cluster: Cluster, set: Record<string, unknown>): Promise<void> {
  const units = 'app.kubernetes.io/instance=parley,app.kubernetes.io/component!=operator';
  await cluster.kubectl.run(['scale', 'deployment', '--selector', units, '--replicas=0']);
  await cluster.kubectl.run(['wait', '--for=delete', 'pod', '--selector', units, '--timeout=3m']);
  await cluster.upgrade(set);
}

clusterStory(
  'mesh certificates and their authority are replaced under load, and no request is lost',
  25,
  async (t, cluster) => {
    const names = [`*.${cluster.kubectl.namespace}.svc`];
    const [old, next] = [testAuthority('old', 30), testAuthority('next', 30)];
    await setCertificate(cluster, old.issue(names), [old]);
    t.teardown(() => change(cluster, {}));
    const begun = performance.now();
    await change(cluster, { 'tls.mesh.secret': secret });
    t.log(`encrypted after ${((performance.now() - begun) / 1000).toFixed(0)} s, units stopped and started`);

    const traffic = await startTraffic(cluster.url);
    t.teardown(() => traffic.leave());
    const first = old.issue(names);
    const second = next.issue(names);
    const steps: [string, () => Promise<void>][] = [
      ['a new certificate of the same authority', () => setCertificate(cluster, first, [old])],
      ['both authorities', () => setCertificate(cluster, first, [old, next])],
      ['a certificate of the new authority', () => setCertificate(cluster, second, [old, next])],
      ['the new authority alone', () => setCertificate(cluster, second, [next])],
    ];
    for (const [what, step] of steps) {
      const [from, sent] = [traffic.lost.length, traffic.sent];
      await step();
      await delay(mountedWithinMs);
      t.log(`${what}: ${traffic.sent - sent} messages, ${traffic.lost.length - from} queries lost`);
    }
    // Every process opens its connections anew, by the new authority alone.
    await cluster.kubectl.run(['rollout', 'restart', 'deployment', '--selector', 'app.kubernetes.io/name=parley']);
    await cluster.allReady();
    const outcome = await traffic.end();
    t.log(figuresOf(outcome));
    t.deepEqual([outcome.unanswered, outcome.twice, outcome.lost, outcome.repeated], [[], [], [], {}]);
    t.is(outcome.idle.wrong, 0);
  },
);
