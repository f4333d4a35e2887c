import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, createCallers } from '@parley/chassis/caller';
import type { Environment } from '@parley/chassis/config';
import { DomainError, invalid } from '@parley/chassis/errors';
import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { type MeshContext, rpcServer } from '@parley/chassis/rpc/server';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { loadCatalogue } from './catalogue.ts';
import { rpcCommand } from './command.ts';
import { requestFromJson } from './json-request.ts';

const meshKey = randomBytes(32);

/** A data folder of this test's own. */
function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-rpc-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

interface Typing {
  env?: Environment;
  dataFolder?: string;
  input?: string;
  /** Sees each piece of output as it comes, and may have seen enough. */
  onOutput?: (text: string, enough: () => void) => void;
}

/** What somebody sees who types `scripts/rpc …`. */
async function typed(t: ExecutionContext, args: string[], { env = {}, dataFolder, input = '', onOutput }: Typing = {}) {
  const enough = new AbortController();
  const seen = { stdout: '', stderr: '' };
  const code = await rpcCommand(args, {
    env,
    protos: join(root, 'protos'),
    dataFolder: dataFolder ?? folder(t),
    terminal: {
      stdout: {
        write(text) {
          seen.stdout += text;
          onOutput?.(text, () => enough.abort());
        },
      },
      stderr: { write: (text) => (seen.stderr += text) },
      readInput: async () => input,
    },
    signal: enough.signal,
  });
  return { code, ...seen };
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
      grpc.add(SessionServiceDefinition, {
        getTranscript: async () => ({ messages: [] }),
        resolveSessions: async () => ({ sessions: [] }),
        watchSession: async function* () {},
        followSession: async function* () {},
        ...handlers,
      }),
    onListening: (bound) => {
      address = bound;
    },
  });
  await server.start();
  t.teardown(() => server.stop());
  return { address, env: { MESH_KEY: meshKey.toString('base64'), SESSION_RPC_URL: address } };
}

test('without arguments all units and methods are listed with what their protos say', async (t) => {
  const { code, stdout } = await typed(t, []);
  t.is(code, 0);
  for (const unit of ['agent', 'evaluation', 'identity', 'session']) t.regex(stdout, new RegExp(`^${unit}$`, 'm'));
  t.regex(stdout, /^ {2}GetTranscript\(GetTranscriptRequest\): GetTranscriptResponse\n {6}All that was said/m);
  t.regex(stdout, /^ {2}WatchSession\(WatchSessionRequest\): stream of WatchSessionResponse$/m);

  const one = await typed(t, ['session']);
  t.regex(one.stdout, /GetTranscript/);
  t.notRegex(one.stdout, /identity|GetAgent/);
});

test('every method has an example that it would take', async (t) => {
  const catalogue = loadCatalogue(join(root, 'protos'));
  for (const { unit, methods } of catalogue) {
    for (const { name, request } of methods) {
      const { code, stdout } = await typed(t, [unit, name, '--example']);
      t.is(code, 0);
      t.notThrows(() => requestFromJson(request, stdout), `${unit} ${name}`);
    }
  }
  t.is((await typed(t, ['session', 'getTranscript', '--example'])).stdout, '{\n  "sessionId": 1\n}\n');
});

test('an answer is JSON with text for int64 and RFC 3339 for times', async (t) => {
  const at = new Date(Date.UTC(2026, 0, 31, 12, 0, 0, 250));
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => ({
      messages: [{ id: 1, sessionId, role: 'USER', text: 'été', costUsdE8: 2n ** 60n, createdAt: at }],
    }),
  });
  const { code, stdout, stderr } = await typed(t, ['session', 'GetTranscript', '{"sessionId": 5}', '--tenant', '7'], {
    env,
  });
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  t.like(JSON.parse(stdout).messages[0], {
    sessionId: 5,
    text: 'été',
    costUsdE8: '1152921504606846976',
    createdAt: '2026-01-31T12:00:00.250Z',
    turnIndex: 0,
  });
});

test('the request may come from the standard input', async (t) => {
  const asked: number[] = [];
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => {
      asked.push(sessionId);
      return { messages: [] };
    },
  });
  await typed(t, ['session', 'GetTranscript', '-'], { env, input: '{"session_id": 9}\n' });
  t.deepEqual(asked, [9]);
});

test('the caller is whom the options name', async (t) => {
  const callers: Caller[] = [];
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { caller }) => {
      callers.push(caller);
      return { messages: [] };
    },
  });
  const cases: [string[], Partial<Caller>][] = [
    [[], { kind: 'service', tenantId: null, service: 'scripts/rpc' }],
    [['--tenant', '7'], { kind: 'service', tenantId: 7, service: 'scripts/rpc' }],
    [['--tenant', '7', '--user', '3'], { kind: 'user', tenantId: 7, userId: 3, displayName: 'scripts/rpc' }],
    [['--kind', 'user', '--user', '3'], { kind: 'user', tenantId: null, userId: 3, displayName: 'scripts/rpc' }],
    [['--tenant', '7', '--session', '4'], { kind: 'session', tenantId: 7, sessionId: 4 }],
    [['--tenant', '7', '--kind', 'apiKey'], { kind: 'apiKey', tenantId: 7 }],
  ];
  for (const [options] of cases) t.is((await typed(t, ['session', 'GetTranscript', ...options], { env })).code, 0);
  t.deepEqual(
    callers.map(({ requestId: _requestId, ...caller }) => caller),
    cases.map(([, caller]) => caller as Omit<Caller, 'requestId'>),
  );
  t.is(new Set(callers.map(({ requestId }) => requestId)).size, cases.length);
});

test('a stream is a line for each answer until it ends', async (t) => {
  const { env } = await sessionServer(t, {
    async *watchSession() {
      yield { event: { eventId: '1-0', sessionId: 5 } };
      yield { event: { eventId: '1-1', sessionId: 5 } };
    },
  });
  const { code, stdout } = await typed(t, ['session', 'WatchSession', '{"sessionId": 5}'], { env });
  t.is(code, 0);
  const lines = stdout.trimEnd().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line).event.eventId),
    ['1-0', '1-1'],
  );
});

test('who has seen enough of a stream ends it at the unit too, without an error', async (t) => {
  let told: (() => void) | undefined;
  const left = new Promise<void>((resolve) => {
    told = resolve;
  });
  const { env } = await sessionServer(t, {
    async *watchSession(_request, { signal }) {
      yield { event: { eventId: '1-0' } };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      told?.();
    },
  });
  const seen = await typed(t, ['session', 'WatchSession'], { env, onOutput: (_text, enough) => enough() });
  t.deepEqual({ code: seen.code, stderr: seen.stderr }, { code: 0, stderr: '' });
  await left;
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
    const request = JSON.stringify({ sessionId });
    const { code, stdout, stderr } = await typed(t, ['session', 'GetTranscript', request, '--tenant', '1'], { env });
    t.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    const { requestId, ...told } = JSON.parse(stderr);
    t.regex(requestId, /^[0-9a-f-]{36}$/);
    return told;
  };
  const fields = [{ path: 'sessionId', message: 'is odd' }];
  t.deepEqual(await failure(1), { code: 'INVALID_ARGUMENT', message: 'sessionId is odd', fields });
  t.deepEqual(await failure(2), { code: 'UNAVAILABLE', message: 'no model', reason: 'MODEL_UNAVAILABLE' });
  t.deepEqual(await failure(3), { code: 'INTERNAL', message: 'Something went wrong on our side' });
});

test('a call that takes longer than it may is told as that', async (t) => {
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { messages: [] };
    },
  });
  const { code, stderr } = await typed(t, ['session', 'GetTranscript', '--timeout-ms', '50'], { env });
  t.is(code, 1);
  t.is(JSON.parse(stderr).code, 'DEADLINE_EXCEEDED');
});

test('a unit that is not there, and one of another mesh, are told apart', async (t) => {
  const { address } = await sessionServer(t, {});
  const own = { MESH_KEY: randomBytes(32).toString('base64') };
  const foreign = await typed(t, ['session', 'GetTranscript', '--address', address], { env: own });
  t.like(
    { ...foreign, code: JSON.parse(foreign.stderr).code, exit: foreign.code },
    { code: 'UNAUTHENTICATED', exit: 1 },
  );
  const absent = await typed(t, ['session', 'GetTranscript', '--address', '127.0.0.1:1'], { env: own });
  t.like({ code: JSON.parse(absent.stderr).code, exit: absent.code }, { code: 'UNAVAILABLE', exit: 1 });
});

test('a running mesh is found by its data folder, and settings go before it', async (t) => {
  const { address, env } = await sessionServer(t, {});
  const dataFolder = folder(t);
  const others = { OPERATOR_KEY: 'x', SECRETS_KEYS: 'x', AVATAR_TOKEN_KEYS: 'x' };
  writeFileSync(join(dataFolder, 'keys.json'), JSON.stringify({ MESH_KEY: env.MESH_KEY, ...others }));
  writeFileSync(join(dataFolder, 'addresses.json'), JSON.stringify({ session: { rpc: address } }));

  t.is((await typed(t, ['session', 'GetTranscript'], { dataFolder })).code, 0);
  const elsewhere = { SESSION_RPC_URL: '127.0.0.1:1' };
  t.is((await typed(t, ['session', 'GetTranscript'], { dataFolder, env: elsewhere })).code, 1);
  const foreign = { MESH_KEY: randomBytes(32).toString('base64') };
  t.is((await typed(t, ['session', 'GetTranscript'], { dataFolder, env: foreign })).code, 1);
});

test('what cannot work is told without a call, and no key is made', async (t) => {
  const dataFolder = folder(t);
  const { env } = await sessionServer(t, { getTranscript: async () => t.fail('must not be reached') });
  const { SESSION_RPC_URL: address } = env;
  const call = ['session', 'GetTranscript'];
  const wrong: [string[], Environment, RegExp][] = [
    [['nobody'], env, /No unit is called nobody\. There are: agent/],
    [
      ['session', 'Nothing'],
      env,
      /session has no method Nothing\. It has: WatchSession, FollowSession, ResolveSessions, GetTranscript/,
    ],
    [[...call, '{}', '{}'], env, /What is/],
    [[...call, '{"id": 1}'], env, /id is no field; GetTranscriptRequest has: sessionId/],
    [[...call, '{"sessionId": "x"}'], env, /sessionId is no whole number/],
    [[...call, 'sessionId=1'], env, /not JSON/],
    [[...call, '--tenant', 'x'], env, /--tenant is no id: x/],
    [[...call, '--tenant', '2147483648'], env, /--tenant is no id/],
    [[...call, '--kind', 'operator'], env, /none of service, user, apiKey and session/],
    [[...call, '--kind', 'session', '--session', '1'], env, /needs --tenant/],
    [[...call, '--kind', 'service', '--user', '1'], env, /--user goes with --kind user/],
    [[...call, '--user', '1', '--session', '1', '--tenant', '1'], env, /--user goes with/],
    [[...call, '--timeout-ms', '-5'], env, /timeout-ms/],
    [[...call, '--unheard-of'], env, /unheard-of/],
    [[...call, '--address', address], {}, /No mesh key: set MESH_KEY/],
    [[...call, '--address', address], { MESH_KEY: 'c2hvcnQ=' }, /MESH_KEY: must be at least 32 bytes/],
    [call, { MESH_KEY: env.MESH_KEY }, /Where is session\? .*SESSION_RPC_URL/],
  ];
  for (const [args, environment, reason] of wrong) {
    const { code, stdout, stderr } = await typed(t, args, { env: environment, dataFolder });
    t.deepEqual({ code, stdout }, { code: 2, stdout: '' }, args.join(' '));
    t.regex(stderr, reason);
  }
  t.deepEqual(readdirSync(dataFolder), []);
});
