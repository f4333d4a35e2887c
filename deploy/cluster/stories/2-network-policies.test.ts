// From its pods, each unit reaches exactly the targets in the chart's table.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@parley/servers/root';
import { dnsService, hostAddress } from '../src/addresses.ts';
import { isReady, unitOf } from '../src/install/kubectl.ts';
import { readNodes } from '../src/nodes.ts';
import { broken, type Cluster, clusterStory } from './support/cluster-story.ts';
import { listenIn, reachedFrom, startNeighbour, type Target } from './support/reach.ts';
import { startStranger } from './support/stranger.ts';
import { startWorld } from './support/world.ts';

interface ChartUnit {
  name: string;
  serves: ('public' | 'graph' | 'rpc')[];
  uses: { unit: string; endpoint: 'public' | 'graph' | 'rpc' }[];
  engines: string[];
  callsOut: boolean;
}

const ports = { public: 4000, graph: 4001, rpc: 50_051, ops: 9464 };
const { units }: { units: ChartUnit[] } = JSON.parse(
  readFileSync(join(root, 'charts/parley/files/units.json'), 'utf8'),
);
/** Ports of a node's programs: kubelet and its health check, kube-proxy's metrics and health check, and kube-router's health check. */
const nodePorts = [10_250, 10_248, 10_249, 10_256, 20_244];

/**
 * Returns everything that accepts connections: the ports of one pod of each unit, the engines, the model server, the API server and DNS of
 * the cluster, the programs of the nodes, and a server at a public address.
 */
async function targets({ kubectl, installed, folders }: Cluster, world: string): Promise<Target[]> {
  const pods = (await kubectl.pods()).filter(isReady);
  const ofUnits = units.flatMap(({ name, serves }) => {
    const ip = pods.findLast((pod) => unitOf(pod) === name)?.status.podIP ?? '';
    return [...serves, 'ops' as const].map((endpoint) => ({
      name: `${name} ${endpoint}`,
      address: `${ip}:${ports[endpoint]}`,
    }));
  });
  const { DATABASE_URL = '', REDIS_URL = '', KAFKA_BROKERS = '', S3_ENDPOINT = '', SMTP_URL = '' } = installed.env;
  const engines = {
    postgres: DATABASE_URL,
    redis: REDIS_URL,
    kafka: `tcp://${KAFKA_BROKERS}`,
    s3: S3_ENDPOINT,
    smtp: SMTP_URL,
  };
  const ofEngines = Object.entries(engines).map(([name, url]) => ({ name, address: new URL(url).host }));
  const others = [
    { name: 'the model', address: new URL(installed.modelUrl).host },
    { name: 'the API of the cluster', address: `${hostAddress}:6443` },
    { name: 'the world', address: world },
    { name: 'DNS by UDP', address: `${dnsService}:53`, protocol: 'udp' as const },
  ];
  const ofNodes = readNodes(folders).flatMap(({ name, address }) =>
    nodePorts.map((port) => ({ name: `${name} ${port}`, address: `${address}:${port}` })),
  );
  return [...ofUnits, ...ofEngines, ...others, ...ofNodes];
}

/** Returns the names of the targets that a unit must reach, according to the chart's table and the values of this installation. */
function expected({ name, uses, engines, callsOut }: ChartUnit): string[] {
  const used = uses.map(({ unit, endpoint }) => `${unit} ${endpoint}`);
  const own = engines.filter((engine) => engine !== 'telemetry');
  return [
    ...new Set([
      'DNS by UDP',
      ...used,
      ...own,
      ...(callsOut ? ['the world'] : []),
      ...(name === 'agent' ? ['the model'] : []),
    ]),
  ].toSorted();
}

clusterStory('each unit reaches what the chart names for it, and nothing else', 10, async (t, cluster) => {
  const { kubectl } = cluster;
  if (broken === 'policy') {
    await cluster.upgrade({ 'networkPolicy.enabled': false });
    t.teardown(() => cluster.upgrade());
  }
  // The next story creates a namespace with the same name, so this story waits until its own namespace is removed.
  t.teardown(() => kubectl.run(['delete', 'namespace', 'strangers', '--ignore-not-found', '--timeout=120s']));
  const stranger = await startStranger(t, cluster);
  const ofStranger = await listenIn(t, stranger);
  t.deepEqual(await reachedFrom(stranger.kubectl, stranger.name, ofStranger), ['stranger by TCP', 'stranger by UDP']);
  const all = [...(await targets(cluster, await startWorld(t))), ...ofStranger];
  let [tried, reached] = [0, 0];
  for (const unit of units) {
    // Connects from the first pod of a unit. The unit's own target is its last pod, so connections between two pods of the same unit are
    // tested, too.
    const pod = (await kubectl.pods(unit.name)).find(isReady);
    // If a policy admits everybody to a port, kube-router also lets the policy's own pods connect to that port.
    const others = all.filter((target) => target.name !== `${unit.name} public`);
    const found = await reachedFrom(kubectl, pod?.metadata.name ?? '', others);
    tried += others.length;
    reached += found.length;
    t.deepEqual(found, expected(unit), `${unit.name} reaches`);
  }
  t.log(`${tried} connections tried from within ${units.length} units, ${reached} reached something`);
});

clusterStory("a stranger's pod reaches the public ports alone", 5, async (t, cluster) => {
  const pod = await startStranger(t, cluster);
  const all = (await targets(cluster, '')).filter(({ name }) => units.some((unit) => name.startsWith(`${unit.name} `)));
  const open = units.filter(({ serves }) => serves.includes('public')).map(({ name }) => `${name} public`);
  const found = await reachedFrom(pod.kubectl, pod.name, all);
  t.deepEqual(found, open.toSorted());
  t.log(`${all.length} ports tried by a stranger, open: ${found.join(', ')}`);
});

clusterStory('a host of another network reaches nothing of the cluster', 5, async (t, cluster) => {
  const neighbour = await startNeighbour(t);
  const all = (await targets(cluster, '')).filter(({ name }) => name !== 'the world');
  t.deepEqual(await neighbour.reached([...all, neighbour.machine]), [neighbour.machine.name]);
  t.log(`${all.length} ports tried by a host of another network, none is open`);
});
