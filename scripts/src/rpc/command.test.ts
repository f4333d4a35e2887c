import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, createCallers } from '@parley/kernel/caller';
import type { Environment } from '@parley/kernel/config';
import { DomainError, invalid } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/log';
import { createMetrics } from '@parley/kernel/metrics';
import { units } from '@parley/local/units';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import { type MeshContext, rpcServer } from '@parley/rpc/server';
import { stubRpc } from '@parley/testing/stub-rpc';
import test, { type ExecutionContext } from 'ava';
import { startChild } from '../testing/child.ts';
import { rpcCommand, type Typed } from './command.ts';

const meshKey = randomBytes(32);

/** A data folder of this test's own. */
function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-rpc-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

/** What somebody sees who types `scripts/rpc …`. */
async function typed(t: ExecutionContext, args: string[], env: Record<string, string> = {}) {
  const child = startChild(t, 'rpc', { args, env: { PARLEY_DATA_DIR: folder(t), ...env } });
  const code = await child.ended;
  return { code, stdout: child.stdout, stderr: child.stderr };
}

/** A `session` unit of real wire that answers by `handlers`. */
async function sessionServer(t: ExecutionContext, handlers: Partial<SessionServiceImplementation<MeshContext>>) {
  let address = '';
  const server = rpcServer({
    unit: 'session',
    port: 0,
    callers: createCallers(meshKey),
    log: createLogger('session', { LOG_LEVEL: 'silent' }),
    metrics: createMetrics('session'),
    services: (grpc) =>
      grpc.add(
        SessionServiceDefinition,
        stubRpc<SessionServiceImplementation<MeshContext>>(SessionServiceDefinition, {
          getTranscript: async () => ({ messages: [] }),
          ...handlers,
        }),
      ),
    onListening: (bound) => {
      address = bound;
    },
  });
  await server.start();
  t.teardown(() => server.stop());
  return { address, env: { MESH_KEY: meshKey.toString('base64'), SESSION_RPC_URL: address } };
}

const getTranscript = ['session', 'GetTranscript'];

test('without arguments all methods of all units are listed; with a unit, its proto', async (t) => {
  const { code, stdout } = await typed(t, []);
  t.is(code, 0);
  for (const { name, serves } of units)
    t.is(new RegExp(`^  ${name} \\w+$`, 'm').test(stdout), serves.includes('rpc'), name);
  t.regex(stdout, /^ {2}session GetTranscript$/m);

  const one = await typed(t, ['session']);
  t.regex(one.stdout, /rpc GetTranscript\(GetTranscriptRequest\)[^]*\nmessage GetTranscriptRequest \{/);
  t.notRegex(one.stdout, /GetAgent/);
});

test('an answer is JSON with text for int64 and RFC 3339 for times, and shows zeros', async (t) => {
  const at = new Date(Date.UTC(2026, 0, 31, 12, 0, 0, 250));
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => ({
      messages: [{ id: 1, sessionId, role: 'USER', text: 'été', costUsdE8: 2n ** 60n, createdAt: at }],
    }),
  });
  const { code, stdout, stderr } = await typed(t, [...getTranscript, '{"sessionId": 5}'], env);
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  t.like(JSON.parse(stdout).messages[0], {
    sessionId: 5,
    text: 'été',
    costUsdE8: '1152921504606846976',
    createdAt: '2026-01-31T12:00:00.250Z',
    turnIndex: 0,
  });
});

test('a request arrives as it was typed, names as in the proto and numbers as text included', async (t) => {
  const asked: unknown[] = [];
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => {
      asked.push(sessionId);
      return { messages: [] };
    },
  });
  for (const json of ['{"session_id": 9}', '{"sessionId": "8"}', '{"sessionId": null}']) {
    t.is((await typed(t, [...getTranscript, json], env)).code, 0);
  }
  t.deepEqual(asked, [9, 8, 0]);
});

test('the caller is whom the options name', async (t) => {
  const callers: Caller[] = [];
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { caller }) => {
      callers.push(caller);
      return { messages: [] };
    },
  });
  const cases: [string, Partial<Caller>][] = [
    ['', { kind: 'service', tenantId: null, service: 'scripts/rpc' }],
    ['--tenant 7', { kind: 'service', tenantId: 7, service: 'scripts/rpc' }],
    ['--tenant 7 --user 3', { kind: 'user', tenantId: 7, userId: 3, displayName: 'scripts/rpc' }],
    ['--user 3', { kind: 'user', tenantId: null, userId: 3, displayName: 'scripts/rpc' }],
    ['--tenant 7 --session 4', { kind: 'session', tenantId: 7, sessionId: 4 }],
    ['--tenant 7 --api-key', { kind: 'apiKey', tenantId: 7 }],
  ];
  for (const [flags] of cases) {
    t.is((await typed(t, [...getTranscript, ...flags.split(' ').filter(Boolean)], env)).code, 0);
  }
  t.deepEqual(
    callers.map(({ requestId: _requestId, ...caller }) => caller),
    cases.map(([, caller]) => caller as Omit<Caller, 'requestId'>),
  );
  t.is(new Set(callers.map(({ requestId }) => requestId)).size, cases.length);
});

test('a stream shows each answer, and a signal ends it at the unit too', async (t) => {
  const left = Promise.withResolvers<void>();
  const { env } = await sessionServer(t, {
    async *watchSession(_request, { signal }) {
      yield { event: { eventId: '1-0', sessionId: 5 } };
      yield { event: { eventId: '1-1', sessionId: 5 } };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      left.resolve();
    },
  });
  const child = startChild(t, 'rpc', { args: ['session', 'WatchSession', '{"sessionId": 5}'], env });
  await child.says(/"1-0"[^]*"1-1"/);
  child.kill('SIGTERM');
  t.is(await child.ended, 130);
  await left.promise;
});

test('a refusal tells code, message, reason and fields', async (t) => {
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => {
      if (sessionId === 1) throw invalid({ path: 'sessionId', message: 'is odd' });
      if (sessionId === 2) throw new DomainError('unavailable', 'no model', { reason: 'MODEL_UNAVAILABLE' });
      throw new Error('secret detail');
    },
  });
  const failure = async (sessionId: number) => {
    const { code, stdout, stderr } = await typed(t, [...getTranscript, JSON.stringify({ sessionId })], env);
    t.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    const { requestId, ...error } = JSON.parse(stderr);
    t.regex(requestId, /^[0-9a-f-]{36}$/);
    return error;
  };
  const fieldViolations = [{ field: 'sessionId', description: 'is odd' }];
  t.like(await failure(1), {
    code: 'invalid_argument',
    message: 'sessionId is odd',
    details: [{ metadata: { kind: 'invalid' } }, { fieldViolations }],
  });
  t.like(await failure(2), { code: 'unavailable', message: 'no model', details: [{ reason: 'MODEL_UNAVAILABLE' }] });
  t.deepEqual(await failure(3), { code: 'internal', message: 'Something went wrong on our side', details: [] });
});

test('a call that takes longer than it may is reported as that', async (t) => {
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { messages: [] };
    },
  });
  const { code, stderr } = await typed(t, [...getTranscript, '--timeout-ms', '500'], env);
  t.is(code, 1);
  t.is(JSON.parse(stderr).code, 'deadline_exceeded');
});

test('a unit that is not there, and one of another mesh, are distinguished', async (t) => {
  const { address } = await sessionServer(t, {});
  const MESH_KEY = randomBytes(32).toString('base64');
  const foreign = await typed(t, getTranscript, { MESH_KEY, SESSION_RPC_URL: address });
  t.like({ code: JSON.parse(foreign.stderr).code, exit: foreign.code }, { code: 'unauthenticated', exit: 1 });
  const absent = await typed(t, getTranscript, { MESH_KEY, SESSION_RPC_URL: '127.0.0.1:1' });
  t.like({ code: JSON.parse(absent.stderr).code, exit: absent.code }, { code: 'unavailable', exit: 1 });
});

test('a running mesh is found by its data folder, and settings go before it', async (t) => {
  const { address, env } = await sessionServer(t, {});
  const PARLEY_DATA_DIR = folder(t);
  writeFileSync(join(PARLEY_DATA_DIR, 'keys.json'), JSON.stringify({ MESH_KEY: env.MESH_KEY, OPERATOR_KEY: 'x' }));
  writeFileSync(join(PARLEY_DATA_DIR, 'addresses.json'), JSON.stringify({ session: { rpc: address } }));

  t.is((await typed(t, getTranscript, { PARLEY_DATA_DIR })).code, 0);
  t.is((await typed(t, getTranscript, { PARLEY_DATA_DIR, SESSION_RPC_URL: '127.0.0.1:1' })).code, 1);
  const MESH_KEY = randomBytes(32).toString('base64');
  t.is((await typed(t, getTranscript, { PARLEY_DATA_DIR, MESH_KEY })).code, 1);
});

test('a request that the method does not take is refused without a call', async (t) => {
  const { env } = await sessionServer(t, { getTranscript: async () => t.fail('must not be reached') });
  for (const [json, reason] of [
    ['{"id": 1}', /unknown field "id"/],
    ['{"sessionId": 2147483648}', /invalid value for int32/],
    ['sessionId=1', /invalid character/],
  ] as const) {
    const { code, stdout, stderr } = await typed(t, [...getTranscript, json], env);
    t.deepEqual({ code, stdout }, { code: 1, stdout: '' }, json);
    t.regex(stderr, reason);
  }
});

test('what cannot work is refused without a call, and no key is made', async (t) => {
  const PARLEY_DATA_DIR = folder(t);
  const { env } = await sessionServer(t, { getTranscript: async () => t.fail('must not be reached') });
  const wrong: [Partial<Typed>, RegExp, Environment?][] = [
    [{ positionals: ['nobody'] }, /There is no nobody\. There are:\n {2}agent DescribeModel/],
    [{ positionals: ['session', 'Nothing'] }, /There is no session Nothing\. There are:/],
    [{ numbers: { tenant: 'x' } }, /tenant: is not a number/],
    [{ numbers: { tenant: '2147483648' } }, /tenant: is no id/],
    [{ numbers: { user: '0' } }, /user: must be above 0/],
    [{ numbers: { session: '1' } }, /--session and --api-key need --tenant/],
    [{ apiKey: true }, /--session and --api-key need --tenant/],
    [{ numbers: { tenant: '1', session: '1', user: '1' } }, /Only one of --user, --session/],
    [{ numbers: { 'timeout-ms': '-5' } }, /timeout-ms: must be above 0/],
    [{}, /MESH_KEY: is missing/, { SESSION_RPC_URL: env.SESSION_RPC_URL }],
    [{}, /MESH_KEY: must be at least 32 bytes/, { ...env, MESH_KEY: 'c2hvcnQ=' }],
    [{}, /Where is session\? .*SESSION_RPC_URL/, { MESH_KEY: env.MESH_KEY }],
  ];
  for (const [given, message, own = env] of wrong) {
    const asked = { positionals: getTranscript, numbers: {}, ...given };
    const error = await t.throwsAsync(rpcCommand(asked, { ...own, PARLEY_DATA_DIR }), { message });
    t.false(error.message.includes(env.MESH_KEY));
  }
  t.deepEqual(readdirSync(PARLEY_DATA_DIR), []);
});
