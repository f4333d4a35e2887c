import { BlockList } from 'node:net';
import { isPublicAddress } from '@parley/outbound/public-address';
import { units } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';
import test from 'ava';
import { testWith } from '../testing/test-with.ts';
import { isHook, ofKind, requiredValues as required, unitOf } from './environment.ts';
import { helm, type Rule, render } from './render.ts';

const chartTest = await testWith(helm);
const sorted = (texts: Iterable<string>) => [...texts].toSorted((a, b) => a.localeCompare(b));

chartTest(
  'pods reach and are reached by the units that they call, their engines and DNS, and nothing else',
  async (t) => {
    const labelled = (name: string) => [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': name } } }];
    const engines = ['postgres', 'redis', 'kafka', 's3', 'smtp', 'telemetry'];
    const to = engines.map((name) => [`networkPolicy.engines.${name}.to`, labelled(name)]);
    const manifests = await render('small', {
      ...Object.fromEntries(to),
      'networkPolicy.dnsTo': labelled('DNS'),
      'networkPolicy.gatewayFrom': labelled('ingress'),
    });
    const policies = ofKind(manifests, 'NetworkPolicy').filter((each) => !isHook(each));
    const nameOf = (peer: NonNullable<Rule['to']>[number]): string => {
      const name = peer.podSelector?.matchLabels?.['app.kubernetes.io/component'];
      return name ?? (peer.ipBlock ? 'the world' : JSON.stringify(peer));
    };
    const portNames: Record<number | string, string> = { 50051: 'rpc', 4001: 'graph', 4000: 'public' };
    const edges = (direction: 'ingress' | 'egress', peers: 'from' | 'to') =>
      policies.flatMap((policy) =>
        policy.spec[direction].flatMap((rule) =>
          [...new Set((rule[peers] ?? []).map(nameOf))].map((other) => {
            const ports = rule.ports.map(({ port }) => portNames[port] ?? port).join();
            const [from, called] = direction === 'egress' ? [unitOf(policy), other] : [other, unitOf(policy)];
            return `${from} → ${called} ${ports}`;
          }),
        ),
      );
    const subgraphs = units.filter(({ serves }) => serves.some((endpoint) => endpoint === 'graph'));
    const streams = units.filter(({ hasSubscriptions }) => hasSubscriptions);
    const calls = new Set([
      ...units.flatMap(({ name, calls: called = [] }) => called.map((other) => `${name} → ${other} rpc`)),
      ...units.flatMap(({ name, callsByHttp = [] }) => callsByHttp.map((other) => `${name} → ${other} public`)),
      ...subgraphs.map(({ name }) => `gateway → ${name} graph`),
      ...streams.map(({ name }) => `gateway → ${name} rpc`),
    ]);
    const outside = units.flatMap(({ name, callsOut, schema, keepsFiles, publishes = [], consumes = [] }) => [
      `${name} → DNS 53,53`,
      `${name} → redis 6379`,
      `${name} → telemetry 4317,4318`,
      ...(schema ? [`${name} → postgres 5432`] : []),
      ...(publishes.length + consumes.length > 0 ? [`${name} → kafka 9092`] : []),
      ...(keepsFiles ? [`${name} → s3 9000`] : []),
      ...(name === 'identity' ? [`${name} → smtp 465,587`] : []),
      ...(callsOut ? [`${name} → the world 80,443,8080,8443`] : []),
    ]);
    t.deepEqual(sorted(edges('egress', 'to')), sorted([...calls, ...outside]));
    const clients = ['ingress → gateway public', 'ingress → voice public'];
    t.deepEqual(sorted(edges('ingress', 'from')), sorted([...calls, ...clients]));
    for (const { spec } of policies) t.deepEqual(spec.policyTypes, ['Ingress', 'Egress']);
  },
);

/**
 * Addresses that serve a node's credentials; usual addresses of pods, Services and nodes; and IPv6 addresses that lead to any of these
 * addresses.
 */
const inside = [
  '169.254.169.254 168.63.129.16 192.0.0.192 100.100.100.200 fd00:ec2::254 fe80::a9fe:a9fe',
  '10.96.0.1 172.20.0.10 192.168.1.10 100.64.0.1 127.0.0.1 198.18.0.1 fd00::1 ::1',
  '::ffff:10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:a00:1::1 2001::1 224.0.0.1 ff02::1',
].flatMap((line) => line.split(' '));
const outside = ['1.1.1.1', '8.8.8.8', '52.95.110.1', '2606:4700:4700::1111', '2a00:1450:4001::1'];

for (const example of ['small', 'production'])
  chartTest(`only units that call out reach the world, and none of them the cluster: ${example}`, async (t) => {
    const own = ['9.9.0.0/16', '2a01:4f8::/32'];
    const manifests = await render(example, { 'networkPolicy.clusterRanges': own });
    const callers: string[] = units.filter(({ callsOut }) => callsOut).map(({ name }) => name);
    t.false(callers.includes('parser'), 'it reads files of anybody');
    for (const policy of ofKind(manifests, 'NetworkPolicy')) {
      const reached = (address: string) => policy.spec.egress.some((rule) => reaches(rule, address));
      const isCaller = [...callers, 'doctor'].includes(unitOf(policy));
      for (const address of outside) t.is(reached(address), isCaller, `${unitOf(policy)}: ${address}`);
      for (const address of [...inside, '9.9.9.9', '2a01:4f8::1'])
        t.false(reached(address), `${unitOf(policy)}: ${address}`);
    }
  });

test('policies and units define public addresses in the same way', (t) => {
  for (const address of inside) t.false(isPublicAddress(address), address);
  for (const address of outside) t.true(isPublicAddress(address), address);
});

function reaches({ to = [] }: Rule, address: string): boolean {
  return to.some(({ ipBlock }) => {
    if (!ipBlock) return false;
    const { cidr, except = [] } = ipBlock;
    return isWithin(address, cidr) && !except.some((range) => isWithin(address, range));
  });
}

/** Policies treat an IPv4-mapped address as IPv6. */
function isWithin(address: string, range: string): boolean {
  const [network = '', bits] = range.split('/');
  const family = network.includes(':') ? 'ipv6' : 'ipv4';
  if (address.includes(':') !== (family === 'ipv6')) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(address, family);
}

chartTest('only the peers that an operator lists can read metrics', async (t) => {
  const onOps = async (set: object) =>
    ofKind(await render('small', set), 'NetworkPolicy').flatMap(({ spec }) =>
      spec.ingress.filter(({ ports }) => ports.some(({ port }) => port === 'ops')),
    );
  t.deepEqual(await onOps({}), []);
  const prometheus = [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'prometheus' } } }];
  const rules = await onOps({ 'networkPolicy.metricsFrom': prometheus });
  t.is(rules.length, units.length);
  for (const rule of rules) t.deepEqual(rule, { ports: [{ port: 'ops' }], from: prometheus });
});

chartTest('clients reach gateway and voice only from the peers that an operator lists', async (t) => {
  const onPublic = async (set: object) =>
    ofKind(await render('small', set), 'NetworkPolicy').flatMap((policy) =>
      policy.spec.ingress.flatMap((rule) =>
        rule.ports.some(({ port }) => port === 'public') ? [[unitOf(policy), rule]] : [],
      ),
    );
  const gatewayFrom = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }];
  const open = { ports: [{ port: 'public' }] };
  const labelsOf = (unit: string) => ({
    'app.kubernetes.io/name': 'parley',
    'app.kubernetes.io/instance': 'parley',
    'app.kubernetes.io/component': unit,
  });
  const callers = units
    .filter(({ callsByHttp = [] }) => callsByHttp.length > 0)
    .map(({ name }) => ['voice', { ...open, from: [{ podSelector: { matchLabels: labelsOf(name) } }] }]);
  t.deepEqual(await onPublic({}), [
    ['voice', open],
    ['gateway', open],
  ]);
  t.deepEqual(await onPublic({ 'networkPolicy.gatewayFrom': gatewayFrom }), [
    ['voice', { ...open, from: gatewayFrom }],
    ...callers,
    ['gateway', { ...open, from: gatewayFrom }],
  ]);
});

chartTest('every rule except that of the public port lists its peers', async (t) => {
  for (const example of ['small', 'production']) {
    for (const { metadata, spec } of ofKind(await render(example), 'NetworkPolicy')) {
      const open = [...spec.ingress, ...spec.egress].filter(({ from, to }) => !(from ?? to)?.length);
      t.deepEqual(
        open.flatMap(({ ports }) => ports.map(({ port }) => port)).filter((port) => port !== 'public'),
        [],
        metadata.name,
      );
    }
  }
});

test('a unit with a setting for an outside address declares that it calls out', (t) => {
  const own = /^(RESET_URL|PARLEY_PUBLIC_URL|VOICE_PUBLIC_URL)$|_(?:GRAPH|HTTP)_URL$|DATABASE_URL$/;
  const withAddress = units.filter((unit) =>
    settingsOfUnit(unit).own.some(({ name, type }) => type === 'URL' && !own.test(name)),
  );
  t.deepEqual(
    withAddress.filter(({ callsOut }) => !callsOut).map(({ name }) => name),
    [],
  );
});

chartTest('units reach only the engines that they use', async (t) => {
  const ports = { postgres: 1, redis: 2, kafka: 3, s3: 4, smtp: 5, telemetry: 6 };
  const engines = Object.entries(ports).map(([name, port]) => [name, { to: [{ podSelector: {} }], ports: [port] }]);
  const manifests = await render(undefined, { ...required, 'networkPolicy.engines': Object.fromEntries(engines) });
  const reached = (unit: string) => {
    const policy = ofKind(manifests, 'NetworkPolicy').find((each) => unitOf(each) === unit);
    const numbers = policy?.spec.egress.map((rule) => Number(rule.ports[0].port)) ?? [];
    return numbers.filter((port) => port < 7).toSorted((a, b) => a - b);
  };
  t.deepEqual(reached('gateway'), [ports.redis, ports.telemetry]);
  t.deepEqual(reached('identity'), [ports.postgres, ports.redis, ports.kafka, ports.smtp, ports.telemetry]);
  t.deepEqual(reached('parser'), [ports.postgres, ports.redis, ports.kafka, ports.s3, ports.telemetry]);
  // A hook that cannot reach its engine would wait for it until Helm gives up.
  t.deepEqual(reached('migrate'), [ports.postgres]);
  t.deepEqual(reached('topics'), [ports.kafka]);
  t.deepEqual(reached('doctor'), Object.values(ports));
});
