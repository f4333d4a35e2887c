// Calls between units are encrypted, and the certificate and authority of units can be replaced under load.
import { X509Certificate } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import { type TestAuthority, type TestCertificate, testAuthority } from '@parley/testing/test-authority';
import { unitNames } from '@parley/units';
import { type Pod, unitOf } from '../src/install/kubectl.ts';
import { type Cluster, clusterStory } from './support/cluster-story.ts';
import { metricsOf, sumOf } from './support/metrics.ts';
import { figuresOf, nothingWasLost, startTraffic } from './support/traffic.ts';

const secret = 'parley-mesh';
/** Twice the two minutes that the operators' manual allows for all pods to receive a changed Secret, because test machines may be busy. */
const mountedWithinMs = 240_000;

const plainRequest = `
const socket = require('node:net').connect({ host: process.argv[1], port: 4001 });
let answer = '';
socket.on('connect', () => socket.write('POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\n\\r\\n'));
socket.on('data', (bytes) => { answer += bytes.toString('latin1'); });
socket.on('error', () => undefined).on('close', () => console.log(JSON.stringify(answer)));
setTimeout(() => socket.destroy(), 5_000).unref();`;

/** Sends an HTTP request without TLS from a gateway's pod to the session service, and returns the response. */
async function plainAnswer({ kubectl }: Cluster): Promise<string> {
  const [gateway] = await kubectl.pods('gateway');
  const host = `parley-session-rpc.${kubectl.namespace}.svc`;
  return JSON.parse(await kubectl.run(['exec', gateway?.metadata.name ?? '', '--', 'node', '-e', plainRequest, host]));
}

/** Resolves when the processes of all pods use the given certificate. @returns the time until then, in seconds */
async function usedByAll({ kubectl }: Cluster, { cert }: TestCertificate): Promise<number> {
  const begun = performance.now();
  const expiresAt = new X509Certificate(cert).validToDate.getTime() / 1000;
  const uses = async (pod: Pod) =>
    sumOf(await metricsOf(kubectl, pod.metadata.name), 'parley_mesh_certificate_expires_seconds') === expiresAt;
  await eventually(
    'all pods use the certificate',
    async () => {
      for (const pod of (await kubectl.pods()).filter((each) => unitNames.some((unit) => unit === unitOf(each))))
        if (!(await uses(pod))) return false;
      return true;
    },
    { timeoutMs: mountedWithinMs },
  );
  return Math.round((performance.now() - begun) / 1000);
}

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

/** Switches encryption on or off with the steps of the operators' manual. All units are stopped first. */
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
    const [old, next] = [testAuthority('old', 60), testAuthority('next', 60)];
    const first = old.issue(names, 20);
    await setCertificate(cluster, first, [old]);
    t.teardown(() => change(cluster, {}));
    t.regex(await plainAnswer(cluster), /^HTTP\/1\.1 /u, 'without certificates');
    const begun = performance.now();
    await change(cluster, { 'tls.mesh.secret': secret });
    t.log(`encrypted after ${((performance.now() - begun) / 1000).toFixed(0)} s, units stopped and started`);
    t.notRegex(await plainAnswer(cluster), /HTTP/u, 'with certificates');
    await usedByAll(cluster, first);

    const traffic = await startTraffic(cluster.url);
    t.teardown(() => traffic.leave());
    // Each step has a different certificate. A process that reports the expiry of a step's certificate has also read the authorities of
    // that step.
    const steps: [string, TestCertificate, TestAuthority[]][] = [
      ['a new certificate of the same authority', old.issue(names, 21), [old]],
      ['both authorities', old.issue(names, 22), [old, next]],
      ['a certificate of the new authority', next.issue(names, 23), [old, next]],
      ['the new authority alone', next.issue(names, 24), [next]],
    ];
    for (const [what, certificate, authorities] of steps) {
      const [from, sent] = [traffic.lost.length, traffic.sent];
      await setCertificate(cluster, certificate, authorities);
      const seconds = await usedByAll(cluster, certificate);
      t.log(
        `${what}: used after ${seconds} s, ${traffic.sent - sent} messages, ${traffic.lost.length - from} queries lost`,
      );
    }
    // All processes are restarted, so that they open their connections with the new authority alone.
    await cluster.kubectl.run(['rollout', 'restart', 'deployment', '--selector', 'app.kubernetes.io/name=parley']);
    await cluster.allReady();
    const outcome = await traffic.end();
    t.log(figuresOf(outcome));
    nothingWasLost(t, outcome);
  },
);
