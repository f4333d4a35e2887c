import type { IForbiddenRuleType } from 'dependency-cruiser';

const service = '^services/(?!chassis/)([^/]+)/';
const testCode = '(/test/|/testing/|\\.test\\.ts$)';
const innerEdge = `${service}src/(rpc\\.ts$|on-[^/]+\\.ts$|graph/)`;
const wiring = `${service}src/(service|main|wiring)\\.ts$`;

/** What a service's tables are read and written by; an object store keeps files instead. */
export const store = '(?<!object)-store\\.ts$';

/** Who may import whom; `$1` in a `to` stands for the first group of its `from`, which is the service's name. */
export const rules: IForbiddenRuleType[] = [
  {
    name: 'import-leads-nowhere',
    comment: 'It would escape every rule below.',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'service-imports-service',
    comment: 'Services meet only through protos/.',
    from: { path: service },
    to: { path: service, pathNot: '^services/$1/' },
  },
  {
    name: 'service-imports-gateway',
    comment: 'Nothing behind the gateway knows it.',
    from: { path: '^services/' },
    to: { path: '^gateway/' },
  },
  {
    name: 'gateway-imports-service',
    comment: 'The gateway reaches services by the supergraph and by protos/.',
    from: { path: '^gateway/' },
    to: { path: service },
  },
  {
    name: 'chassis-imports-service',
    comment: 'What every service stands on knows none of them.',
    from: { path: '^services/chassis/' },
    to: { path: service },
  },
  {
    name: 'protos-import-ours',
    comment: 'Messages know nobody who sends them.',
    from: { path: '^protos/' },
    to: { path: '^(services|gateway|deploy|scripts)/' },
  },
  {
    name: 'mesh-imported',
    comment: 'deploy/ and scripts/ put the units together and are outermost.',
    from: { path: '^(services|gateway|protos)/' },
    to: { path: '^(deploy|scripts)/' },
  },
  {
    name: 'production-imports-test-code',
    comment:
      'Tests and their helpers stay out of what runs. The bench and what stories stand on use the same stand-ins.',
    from: { path: '^(services|gateway|protos|deploy|scripts)/', pathNot: [testCode, '^deploy/(bench|stories)/'] },
    to: { path: [testCode, '(^|/)node_modules/ava/'], pathNot: '(^|/)node_modules/(?!ava/)' },
  },
  {
    name: 'use-case-imports-edge',
    comment: 'main.ts → service.ts → rpc.ts, graph/, on-*.ts → use cases → *-store.ts, and never back.',
    from: { path: service, pathNot: [innerEdge, wiring, testCode] },
    to: { path: innerEdge },
  },
  {
    name: 'use-case-imports-transport',
    comment: 'Use cases and stores know nothing of gRPC, GraphQL or Kafka: edges and wiring do. Types may pass.',
    from: { path: `${service}src/`, pathNot: [innerEdge, wiring, `${service}src/ports\\.ts$`, testCode] },
    to: {
      path: [
        '^services/chassis/src/(rpc|graph)/',
        '(^|/)node_modules/(nice-grpc[^/]*|@grpc/[^/]+|graphql|kafkajs)(/|$)',
      ],
      dependencyTypesNot: ['type-only'],
    },
  },
  {
    name: 'wiring-imported',
    comment: 'Only main.ts, tests and the mesh take the service as a whole.',
    from: { path: service, pathNot: [wiring, testCode] },
    to: { path: wiring },
  },
  {
    name: 'edge-imports-store',
    comment: 'An edge translates; it asks a use case, which asks the store. Types may pass.',
    from: { path: innerEdge, pathNot: testCode },
    to: { path: store, dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'main-imported',
    comment: 'main.ts runs when it is imported; nothing else does.',
    from: {},
    to: { path: '^(gateway|services/[^/]+)/src/main\\.ts$' },
  },
  {
    name: 'cycle',
    comment: 'Files that import each other cannot be read one after the other. Types may.',
    from: {},
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
];
