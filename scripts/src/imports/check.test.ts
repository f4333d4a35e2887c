import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkImports } from './check.ts';

const folders = ['gateway', 'services', 'protos', 'deploy', 'scripts'];

/** A checkout in which every import is allowed; each argument adds or replaces a file. */
async function violationsWith(t: ExecutionContext, changes: Record<string, string>): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), 'parley-imports-'));
  t.teardown(() => rmSync(root, { recursive: true }));

  const workspaces = { chassis: 'services/chassis', agent: 'services/agent', session: 'services/session' };
  const manifest = JSON.stringify({ type: 'module', exports: { '.': './src/service.ts', './*': './src/*.ts' } });
  const files: Record<string, string> = {
    'package.json': '{"type": "module"}',
    'gateway/src/main.ts': 'export const gateway = 1;',
    'gateway/src/gateway.ts': '',
    'protos/gen/turn.ts': 'export const turn = 1;',
    'deploy/local/src/mesh.ts': "import '@parley/agent'; import '@parley/session';",
    'deploy/servers/src/redis.ts': "import '@parley/chassis/errors';",
    'deploy/mesh/src/replicas.ts': "import '../../servers/src/redis.ts'; import '../../local/src/mesh.ts';",
    'deploy/stories/src/stories.ts': "import '../../mesh/src/replicas.ts'; import '@parley/chassis/testing/clock';",
    'deploy/bench/src/timer.ts': 'export async function time() { await using stack = new AsyncDisposableStack(); }',
    'deploy/bench/src/bench.ts': "import './timer.ts'; import '../../mesh/src/replicas.ts'; import '@parley/agent';",
    'scripts/src/up.ts': "import '../../deploy/mesh/src/replicas.ts'; import '../../deploy/bench/src/bench.ts';",
    'services/chassis/package.json': manifest,
    'services/chassis/src/errors.ts': 'export const errors = 1;',
    'services/chassis/src/testing/clock.ts': "import test from 'ava';",
    'services/chassis/src/rpc/client.ts': '',
    'services/chassis/src/graph/scalars.ts': '',
    'services/agent/package.json': manifest,
    'services/agent/src/service.ts': 'export const agent = 1;',
    'services/session/package.json': manifest,
    'services/session/src/main.ts': "import './service.ts';",
    'services/session/src/service.ts':
      "import './rpc.ts'; import '@parley/chassis/rpc/client'; import './graph/resolvers.ts'; import './on-ended.ts';",
    'services/session/src/ports.ts': "import type { RpcClient } from '@parley/chassis/rpc/client';",
    'services/session/src/rpc.ts':
      "import 'nice-grpc'; import './send-message.ts'; import type { Row } from './session-store.ts';",
    'services/session/src/graph/resolvers.ts': "import './dates.ts'; import '../send-message.ts';",
    'services/session/src/graph/dates.ts': "import '@parley/chassis/graph/scalars';",
    'services/session/src/on-ended.ts': "import './send-message.ts';",
    'services/session/src/send-message.ts': "import './session-store.ts'; import '@parley/chassis/errors';",
    'services/session/src/send-message.test.ts': "import '@parley/chassis/testing/clock'; import './send-message.ts';",
    'services/session/src/session-store.ts': "import './cursor.ts'; import type { Sent } from './send-message.ts';",
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
  for (const [name, folder] of Object.entries(workspaces)) {
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

test('a checkout that keeps to the arrows has no forbidden import', async (t) => {
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
      ['local/src/mesh.ts', 'room-imports-outer', 'deploy/mesh/src/replicas.ts'],
      ['mesh/src/replicas.ts', 'room-imports-outer', 'deploy/stories/src/stories.ts'],
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
    'services/chassis/src/errors.ts',
    "import '@parley/agent';",
    'chassis-imports-service: services/chassis/src/errors.ts → services/agent/src/service.ts',
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
    "import '@parley/chassis/errors';",
    'protos-import-ours: protos/gen/turn.ts → services/chassis/src/errors.ts',
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
    "import '@parley/chassis/testing/clock';",
    'production-imports-test-code: services/session/src/send-message.ts → services/chassis/src/testing/clock.ts',
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
    "import { rpcClient } from '@parley/chassis/rpc/client';",
    'use-case-imports-transport: services/session/src/send-message.ts → services/chassis/src/rpc/client.ts',
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
      'services/session/src/tenant-store.ts': '',
    };
    t.true((await violationsWith(t, { ...beside, [file]: text })).includes(violation));
  });
}
