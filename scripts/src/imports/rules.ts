import type { IRegularForbiddenRuleType as Rule } from 'dependency-cruiser';

const service = '^services/(?!chassis/)([^/]+)/';
const testCode = '(/test/|/testing/|\\.test\\.ts$)';
const innerEdge = `${service}src/(rpc\\.ts$|on-[^/]+\\.ts$|graph/)`;
const wiring = `${service}src/(service|main|wiring)\\.ts$`;
const transport = [
  '^services/chassis/src/(rpc|graph)/',
  '(^|/)node_modules/(nice-grpc[^/]*|@grpc/[^/]+|graphql|kafkajs)(/|$)',
];
const dependencyTypesNot: Rule['to']['dependencyTypesNot'] = ['type-only'];

/** What a service's tables are read and written by; an object store keeps files instead. */
export const store = '(?<!object)-store\\.ts$';

const forbidden = (name: string, comment: string, from: Rule['from'], to: Rule['to']) => ({ name, comment, from, to });

/** Who may import whom; `$1` in a `to` stands for the first group of its `from`, which is the service's name. */
export const rules: Rule[] = [
  forbidden('import-leads-nowhere', 'It would escape every rule below.', {}, { couldNotResolve: true }),
  forbidden(
    'service-imports-service',
    'Services meet only through protos/.',
    { path: service },
    { path: service, pathNot: '^services/$1/' },
  ),
  forbidden(
    'service-imports-gateway',
    'Nothing behind the gateway knows it.',
    { path: '^services/' },
    { path: '^gateway/' },
  ),
  forbidden(
    'gateway-imports-service',
    'The gateway reaches services by the supergraph and by protos/.',
    { path: '^gateway/' },
    { path: service },
  ),
  forbidden(
    'chassis-imports-service',
    'What every service stands on knows none of them.',
    { path: '^services/chassis/' },
    { path: service },
  ),
  forbidden(
    'protos-import-ours',
    'Messages know nobody who sends them.',
    { path: '^protos/' },
    { path: '^(services|gateway|deploy|scripts)/' },
  ),
  forbidden(
    'mesh-imported',
    'deploy/ and scripts/ put the units together and are outermost.',
    { path: '^(services|gateway|protos)/' },
    { path: '^(deploy|scripts)/' },
  ),
  forbidden(
    'servers-import-ours',
    'Real servers are for whoever wants one, whatever else Parley is.',
    { path: '^deploy/servers/' },
    { path: '^(gateway|protos|scripts|services|deploy)/', pathNot: '^(deploy/servers|services/chassis)/' },
  ),
  forbidden(
    'room-imports-outer',
    'local and servers, then mesh, then stories and bench: each knows those before it.',
    { path: '^deploy/(local|mesh)/' },
    { path: '^deploy/', pathNot: ['^deploy/$1/', '^deploy/(local|servers)/'] },
  ),
  forbidden(
    'mesh-imports-unit',
    'A unit is a process there, known by its file and its settings.',
    { path: '^deploy/mesh/' },
    { path: [service, '^gateway/'] },
  ),
  forbidden('scripts-imported', 'Commands are outermost.', { pathNot: '^scripts/' }, { path: '^scripts/' }),
  forbidden(
    'production-imports-test-code',
    'Tests and their helpers stay out of what runs. The bench and what stories stand on use the same stand-ins.',
    { path: '^(services|gateway|protos|deploy|scripts)/', pathNot: [testCode, '^deploy/(bench|stories)/'] },
    { path: [testCode, '(^|/)node_modules/ava/'], pathNot: '(^|/)node_modules/(?!ava/)' },
  ),
  forbidden(
    'use-case-imports-edge',
    'main.ts → service.ts → rpc.ts, graph/, on-*.ts → use cases → *-store.ts, and never back.',
    { path: service, pathNot: [innerEdge, wiring, testCode] },
    { path: innerEdge },
  ),
  forbidden(
    'use-case-imports-transport',
    'Use cases and stores know nothing of gRPC, GraphQL or Kafka: edges and wiring do. Types may pass.',
    { path: `${service}src/`, pathNot: [innerEdge, wiring, `${service}src/ports\\.ts$`, testCode] },
    { path: transport, dependencyTypesNot },
  ),
  forbidden(
    'wiring-imported',
    'Only main.ts, tests and the mesh take the service as a whole.',
    { path: service, pathNot: [wiring, testCode] },
    { path: wiring },
  ),
  forbidden(
    'edge-imports-store',
    'An edge translates; it asks a use case, which asks the store. Types may pass.',
    { path: innerEdge, pathNot: testCode },
    { path: store, dependencyTypesNot },
  ),
  forbidden(
    'main-imported',
    'main.ts runs when it is imported; nothing else does.',
    {},
    { path: '^(gateway|services/[^/]+)/src/main\\.ts$' },
  ),
  forbidden(
    'cycle',
    'Files that import each other cannot be read one after the other. Types may.',
    {},
    { circular: true, viaOnly: { dependencyTypesNot } },
  ),
];
