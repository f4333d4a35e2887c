import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkImports } from './check.ts';

const folders = ['gateway', 'services', 'protos', 'deploy', 'scripts'];

function manifestWith(packages: string[], name: string): string {
  const exports = { '.': './src/service.ts', './*': './src/*.ts' };
  return JSON.stringify({
    name,
    type: 'module',
    exports,
    dependencies: Object.fromEntries(packages.map((each) => [each, '*'])),
  });
}

/** The folder of each workspace, and the packages that it may import. */
const workspaces: Record<string, [folder: string, ...packages: string[]]> = {
  kernel: ['services/chassis/kernel'],
  rpc: ['services/chassis/rpc'],
  graph: ['services/chassis/graph'],
  testing: ['services/chassis/testing'],
  agent: ['services/agent'],
  session: ['services/session', ...['kernel', 'rpc', 'graph', 'testing'].map(ours), 'graphql', 'nice-grpc'],
  gateway: ['gateway'],
  protos: ['protos'],
  local: ['deploy/local', ...['agent', 'session'].map(ours)],
  servers: ['deploy/servers', ours('kernel')],
  mesh: ['deploy/mesh', ...['servers', 'local'].map(ours)],
  stories: ['deploy/stories', ...['mesh', 'testing'].map(ours)],
  bench: ['deploy/bench', ...['mesh', 'agent'].map(ours)],
  scripts: ['scripts', ...['mesh', 'bench'].map(ours)],
};

function ours(name: string): string {
  return `@parley/${name}`;
}

/** Creates a checkout in which all imports are allowed, then adds or replaces the files in `changes`. Returns the violations. */
async function violationsWith(t: ExecutionContext, changes: Record<string, string>): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), 'parley-imports-'));
  t.teardown(() => rmSync(root, { recursive: true }));

  const manifests = Object.entries(workspaces).map(([name, [folder, ...packages]]) => [
    `${folder}/package.json`,
    manifestWith(packages, ours(name)),
  ]);
  const files: Record<string, string> = {
    ...Object.fromEntries(manifests),
    'package.json': JSON.stringify({
      type: 'module',
      workspaces: Object.values(workspaces).map(([folder]) => folder),
      devDependencies: { ava: '*' },
    }),
    'gateway/src/main.ts': 'export const gateway = 1;',
    'gateway/src/gateway.ts': '',
    'protos/gen/turn.ts': 'export const turn = 1;',
    'deploy/local/src/mesh.ts': "import '@parley/agent'; import '@parley/session';",
    'deploy/servers/src/redis.ts': "import '@parley/kernel/errors';",
    'deploy/mesh/src/replicas.ts': "import '../../servers/src/redis.ts'; import '../../local/src/mesh.ts';",
    'deploy/stories/src/stories.ts': "import '../../mesh/src/replicas.ts'; import '@parley/testing/clock';",
    'deploy/bench/src/timer.ts': 'export async function time() { await using stack = new AsyncDisposableStack(); }',
    'deploy/bench/src/bench.ts': "import './timer.ts'; import '../../mesh/src/replicas.ts'; import '@parley/agent';",
    'scripts/src/up.ts': "import '../../deploy/mesh/src/replicas.ts'; import '../../deploy/bench/src/bench.ts';",
    'services/chassis/kernel/src/errors.ts': 'export const errors = 1;',
    'services/chassis/testing/src/clock.ts': "import test from 'ava';",
    'services/chassis/rpc/src/client.ts': '',
    'services/chassis/graph/src/scalars.ts': '',
    'services/agent/src/service.ts': 'export const agent = 1;',
    'services/session/src/main.ts': "import './service.ts';",
    'services/session/src/service.ts':
      "import './rpc.ts'; import '@parley/rpc/client'; import './graph/resolvers.ts'; import './on-ended.ts';",
    'services/session/src/ports.ts': "import type { RpcClient } from '@parley/rpc/client';",
    'services/session/src/rpc.ts':
      "import 'nice-grpc'; import './send-message.ts'; import type { Row } from './session-store.ts';",
    'services/session/src/graph/resolvers.ts': "import './dates.ts'; import '../send-message.ts';",
    'services/session/src/graph/dates.ts': "import '@parley/graph/scalars';",
    'services/session/src/on-ended.ts':
      "import './send-message.ts'; const show = (row: import('./session-store.ts').Row) => row;",
    'services/session/src/send-message.ts': "import './session-store.ts'; import '@parley/kernel/errors';",
    'services/session/src/send-message.test.ts': "import '@parley/testing/clock'; import './send-message.ts';",
    'services/session/src/session-store.ts': "import './cursor.ts'; import type { Read } from './read-session.ts';",
    'services/session/src/read-session.ts': "import './tenant-store.ts';",
    'services/session/src/tenant-store.ts': '',
    'services/session/src/cursor.ts': "import type { GraphQLError } from 'graphql';",
    ...changes,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  mkdirSync(join(root, 'node_modules/@parley'), { recursive: true });
  for (const name of ['ava', 'graphql', 'kafkajs', 'nice-grpc']) {
    mkdirSync(join(root, 'node_modules', name));
    writeFileSync(join(root, 'node_modules', name, 'index.js'), '');
  }
  for (const [name, [folder]] of Object.entries(workspaces)) {
    symlinkSync(join(root, folder), join(root, 'node_modules/@parley', name));
  }

  const { files: read, violations } = await checkImports(root, folders);
  t.deepEqual(
    read.toSorted(),
    Object.keys(files)
      .filter((path) => path.endsWith('.ts'))
      .toSorted(),
  );
  return violations.map((line) => line.replace(/ \(.*/, ''));
}

test('packages that depend on each other in a circle are found', async (t) => {
  const violations = await violationsWith(t, {
    'services/chassis/kernel/package.json': manifestWith(['@parley/rpc'], '@parley/kernel'),
    'services/chassis/rpc/package.json': manifestWith(['@parley/kernel'], '@parley/rpc'),
  });
  t.deepEqual(violations, ['package-cycle: @parley/kernel, @parley/rpc']);
});

test('a workspace may import only packages in its package.json', async (t) => {
  const manifest = manifestWith(['@parley/rpc', '@parley/kernel', 'nice-grpc'], '@parley/session');
  t.deepEqual(await violationsWith(t, { 'services/session/package.json': manifest }), [
    'undeclared-dependency: services/session/src/cursor.ts → graphql',
    'undeclared-dependency: services/session/src/graph/dates.ts → @parley/graph',
    'undeclared-dependency: services/session/src/send-message.test.ts → @parley/testing',
  ]);
});

test("an import by path counts as an import of the file's package", async (t) => {
  const violations = await violationsWith(t, {
    'gateway/src/main.ts': "import '../../services/chassis/rpc/src/client.ts'; import './gateway.ts';",
    'scripts/package.json': manifestWith(['@parley/mesh'], '@parley/scripts'),
  });
  t.deepEqual(violations, [
    'undeclared-dependency: gateway/src/main.ts → @parley/rpc',
    'undeclared-dependency: scripts/src/up.ts → @parley/bench',
  ]);
});

test('files in every folder of a workspace are checked, and files outside workspaces are reported', async (t) => {
  const violations = await violationsWith(t, {
    'protos/announcements.ts': "import 'kafkajs'; import 'graphql';",
    'protos/package.json': manifestWith(['graphql'], '@parley/protos'),
    'deploy/loose.ts': '',
  });
  t.deepEqual(violations, [
    'outside-workspaces: deploy/loose.ts',
    'undeclared-dependency: protos/announcements.ts → kafkajs',
  ]);
});

test('a checkout that follows the import rules has no violations', async (t) => {
  t.deepEqual(await violationsWith(t, {}), []);
});

const refused: [what: string, file: string, text: string, violation: string][] = [
  [
    'a service that imports another by its package',
    'services/session/src/send-message.ts',
    "import '@parley/agent';",
    'service-imports-service: services/session/src/send-message.ts → services/agent/src/service.ts',
  ],
  [
    'a service that imports a type of another by its path',
    'services/session/src/send-message.ts',
    "import type { agent } from '../../agent/src/service.ts';",
    'service-imports-service: services/session/src/send-message.ts → services/agent/src/service.ts',
  ],
  ...(
    [
      ['an annotation', "export function send(agent: import('@parley/agent').Agent): void;"],
      ['an alias', "export type Agent = import('../../agent/src/service.ts').Agent;"],
      ['a type argument', "export const agents = new Set<import('@parley/agent').Agent>();"],
      ['a `typeof`', "export type Agents = { all: (typeof import('@parley/agent'))[] };"],
    ] as const
  ).map(([place, text]): [string, string, string, string] => [
    `a service that imports a type of another in ${place}`,
    'services/session/src/send-message.ts',
    text,
    'service-imports-service: services/session/src/send-message.ts → services/agent/src/service.ts',
  ]),
  [
    'a test that imports another service',
    'services/session/test/wire.test.ts',
    "await import('@parley/agent');",
    'service-imports-service: services/session/test/wire.test.ts → services/agent/src/service.ts',
  ],
  [
    'a service that imports the mesh',
    'services/agent/src/service.ts',
    "import '../../../deploy/local/src/ports.ts';",
    'mesh-imported: services/agent/src/service.ts → deploy/local/src/ports.ts',
  ],
  ...(
    [
      ['servers/src/redis.ts', 'servers-import-ours', 'deploy/local/src/mesh.ts'],
      ['local/src/mesh.ts', 'deploy-imports-upper', 'deploy/mesh/src/replicas.ts'],
      ['mesh/src/replicas.ts', 'deploy-imports-upper', 'deploy/stories/src/stories.ts'],
      ['mesh/src/replicas.ts', 'mesh-imports-unit', 'gateway/src/gateway.ts'],
      ['bench/src/bench.ts', 'scripts-imported', 'scripts/src/up.ts'],
    ] as const
  ).map(([file, rule, to]): [string, string, string, string] => [
    `${rule} in deploy/${file}`,
    `deploy/${file}`,
    `import '../../../${to}';`,
    `${rule}: deploy/${file} → ${to}`,
  ]),
  [
    'a chassis that knows a service',
    'services/chassis/kernel/src/errors.ts',
    "import '@parley/agent';",
    'chassis-imports-service: services/chassis/kernel/src/errors.ts → services/agent/src/service.ts',
  ],
  [
    'a gateway that imports a service',
    'gateway/src/main.ts',
    "import '@parley/agent';",
    'gateway-imports-service: gateway/src/main.ts → services/agent/src/service.ts',
  ],
  [
    'a message that imports the chassis',
    'protos/gen/turn.ts',
    "import '@parley/kernel/errors';",
    'protos-import-ours: protos/gen/turn.ts → services/chassis/kernel/src/errors.ts',
  ],
  [
    'a use case that turns back to an edge',
    'services/session/src/send-message.ts',
    "import './graph/dates.ts';",
    'use-case-imports-edge: services/session/src/send-message.ts → services/session/src/graph/dates.ts',
  ],
  [
    'an edge that passes the use case by',
    'services/session/src/on-ended.ts',
    "import './session-store.ts';",
    'edge-imports-store: services/session/src/on-ended.ts → services/session/src/session-store.ts',
  ],
  [
    'a store that turns back to a use case',
    'services/session/src/session-store.ts',
    "import { end } from './end-session.ts';",
    'store-imports-use-case: services/session/src/session-store.ts → services/session/src/end-session.ts',
  ],
  [
    'production code that imports a helper of the tests',
    'services/session/src/send-message.ts',
    "import '@parley/testing/clock';",
    'production-imports-test-code: services/session/src/send-message.ts → services/chassis/testing/src/clock.ts',
  ],
  [
    'production code that imports the test runner',
    'services/session/src/cursor.ts',
    "import test from 'ava';",
    'production-imports-test-code: services/session/src/cursor.ts → node_modules/ava/index.js',
  ],
  [
    'a use case that takes the service as a whole',
    'services/session/src/send-message.ts',
    "import type { App } from './service.ts';",
    'wiring-imported: services/session/src/send-message.ts → services/session/src/service.ts',
  ],
  [
    'a use case that calls by gRPC itself',
    'services/session/src/send-message.ts',
    "import { rpcClient } from '@parley/rpc/client';",
    'use-case-imports-transport: services/session/src/send-message.ts → services/chassis/rpc/src/client.ts',
  ],
  [
    'a use case that knows the errors of gRPC',
    'services/session/src/send-message.ts',
    "import { Status } from 'nice-grpc';",
    'use-case-imports-transport: services/session/src/send-message.ts → node_modules/nice-grpc/index.js',
  ],
  [
    'a use case that knows GraphQL',
    'services/session/src/send-message.ts',
    "import { GraphQLError } from 'graphql';",
    'use-case-imports-transport: services/session/src/send-message.ts → node_modules/graphql/index.js',
  ],
  [
    'a store that knows Kafka',
    'services/session/src/session-store.ts',
    "import { Kafka } from 'kafkajs';",
    'use-case-imports-transport: services/session/src/session-store.ts → node_modules/kafkajs/index.js',
  ],
  [
    'an import of what runs when it is imported',
    'deploy/local/src/mesh.ts',
    "import '../../../services/session/src/main.ts';",
    'main-imported: deploy/local/src/mesh.ts → services/session/src/main.ts',
  ],
  [
    'two files that import each other',
    'services/session/src/cursor.ts',
    "import './send-message.ts';",
    'cycle: services/session/src/cursor.ts → services/session/src/send-message.ts',
  ],
  [
    'two files that import each other for a type',
    'services/session/src/cursor.ts',
    "import type { Sent } from './send-message.ts';",
    'cycle: services/session/src/cursor.ts → services/session/src/send-message.ts',
  ],
  [
    'an import that leads nowhere',
    'services/session/src/cursor.ts',
    "import './gone.ts';",
    'import-leads-nowhere: services/session/src/cursor.ts → ./gone.ts',
  ],
];

for (const [what, file, text, violation] of refused) {
  test(`found: ${what}`, async (t) => {
    const beside = {
      'deploy/local/src/ports.ts': '',
      'services/session/src/end-session.ts': "import type { row } from './tenant-store.ts';",
    };
    t.true((await violationsWith(t, { ...beside, [file]: text })).includes(violation));
  });
}
