import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { DomainError, invalid } from '@parley/kernel/errors';
import type { Environment } from '@parley/kernel/settings/config';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import type { MeshContext } from '@parley/rpc/server';
import { serveStub } from '@parley/testing/serve-stub';
import { units } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { rpcCommand, type Typed } from './command.ts';

const meshKey = randomBytes(32);

/** Creates a data folder for the test. */
function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-rpc-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

interface Typing extends Omit<Typed, 'positionals' | 'numbers'> {
  env?: Environment;
  /** The options `tenant`, `user`, `session` and `timeout-ms`. */
  numbers?: Environment;
  /** Receives each chunk of stdout when it arrives. Calling `enough` interrupts the command. */
  onOutput?: (text: string, enough: () => void) => void;
}

/** Runs `scripts/rpc …` and returns its output. */
async function typed(
  t: ExecutionContext,
  positionals: string[],
  { env, numbers = {}, onOutput, ...rest }: Typing = {},
) {
  const enough = new AbortController();
  const seen = { stdout: '', stderr: '' };
  const terminal = {
    stdout: {
      write(text: string) {
        seen.stdout += text;
        onOutput?.(text, () => enough.abort());
      },
    },
    stderr: { write: (text: string) => (seen.stderr += text) },
  };
  const around = { PARLEY_DATA_DIR: folder(t), ...env };
  const code = await rpcCommand({ positionals, numbers, ...rest }, around, terminal, enough.signal);
  return { code, ...seen };
}

/** Starts a `session` server over real gRPC whose calls are handled by `handlers`. */
async function sessionServer(t: ExecutionContext, handlers: Partial<SessionServiceImplementation<MeshContext>>) {
  const used = { getTranscript: async () => ({ messages: [] }), ...handlers };
  const { address } = await serveStub(t, SessionServiceDefinition, used, { callers: createCallers(meshKey) });
  return { address, env: { MESH_KEY: meshKey.toString('base64'), SESSION_RPC_URL: address } };
}

const getTranscript = ['session', 'GetTranscript'];

test('without arguments all methods of all units are listed with the descriptions in their protos', async (t) => {
  const { code, stdout } = await typed(t, []);
  t.is(code, 0);
  for (const { name, serves } of units) t.is(new RegExp(`^${name} `, 'm').test(stdout), serves.includes('rpc'), name);
  t.regex(
    stdout,
    /^session GetTranscript\(GetTranscriptRequest\): GetTranscriptResponse\n {4}Returns all messages of a session/m,
  );
  t.regex(stdout, /^session StreamTranscript\(StreamTranscriptRequest\): stream of StreamTranscriptResponse$/m);

  const one = await typed(t, ['session']);
  t.regex(one.stdout, /GetTranscript/);
  t.notRegex(one.stdout, /identity|GetAgent/);
});

test('a response is JSON with strings for int64, RFC 3339 for times, and zeros', async (t) => {
  const at = new Date(Date.UTC(2026, 0, 31, 12, 0, 0, 250));
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => ({
      messages: [{ id: 1, sessionId, role: 'USER', text: 'été', costUsdE8: 2n ** 60n, createdAt: at }],
    }),
  });
  const { code, stdout, stderr } = await typed(t, [...getTranscript, '{"sessionId": 5}'], { env });
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  t.like(JSON.parse(stdout).messages[0], {
    sessionId: 5,
    text: 'été',
    costUsdE8: '1152921504606846976',
    createdAt: '2026-01-31T12:00:00.250Z',
    turnIndex: 0,
  });
});

test('a request may use field names of the proto and numbers as strings', async (t) => {
  const asked: unknown[] = [];
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => {
      asked.push(sessionId);
      return { messages: [] };
    },
  });
  for (const json of ['{"session_id": 9}', '{"sessionId": "8"}', '{"sessionId": null}']) {
    t.is((await typed(t, [...getTranscript, json], { env })).code, 0);
  }
  t.deepEqual(asked, [9, 8, 0]);
});

test('the options determine the caller', async (t) => {
  const callers: Caller[] = [];
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { caller }) => {
      callers.push(caller);
      return { messages: [] };
    },
  });
  const cases: [Typing, Partial<Caller>][] = [
    [{}, { kind: 'service', tenantId: null, service: 'scripts/rpc' }],
    [{ numbers: { tenant: '7' } }, { kind: 'service', tenantId: 7, service: 'scripts/rpc' }],
    [{ numbers: { tenant: '7', user: '3' } }, { kind: 'user', tenantId: 7, userId: 3, displayName: 'scripts/rpc' }],
    [{ numbers: { user: '3' } }, { kind: 'user', tenantId: null, userId: 3, displayName: 'scripts/rpc' }],
    [{ numbers: { tenant: '7', session: '4' } }, { kind: 'session', tenantId: 7, sessionId: 4 }],
    [
      { numbers: { tenant: '7' }, apiKey: true },
      { kind: 'apiKey', tenantId: 7 },
    ],
  ];
  for (const [typing] of cases) t.is((await typed(t, getTranscript, { env, ...typing })).code, 0);
  t.deepEqual(
    callers.map(({ requestId: _requestId, ...caller }) => caller),
    cases.map(([, caller]) => caller as Omit<Caller, 'requestId'>),
  );
  t.is(new Set(callers.map(({ requestId }) => requestId)).size, cases.length);
});

test('a stream prints one line per response until it ends', async (t) => {
  const { env } = await sessionServer(t, {
    async *streamTranscript() {
      yield { lines: [{ text: 'Hello' }] };
      yield { lines: [{ text: 'Goodbye' }] };
    },
  });
  const { code, stdout } = await typed(t, ['session', 'StreamTranscript', '{"sessionId": 5}'], { env });
  t.is(code, 0);
  const lines = stdout.trimEnd().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line).lines[0].text),
    ['Hello', 'Goodbye'],
  );
});

test('interrupting a stream also cancels it at the unit, without an error', async (t) => {
  let hasLeft: (() => void) | undefined;
  const left = new Promise<void>((resolve) => {
    hasLeft = resolve;
  });
  const { env } = await sessionServer(t, {
    async *streamTranscript(_request, { signal }) {
      yield { lines: [] };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      hasLeft?.();
    },
  });
  const seen = await typed(t, ['session', 'StreamTranscript'], { env, onOutput: (_text, enough) => enough() });
  t.deepEqual({ code: seen.code, stderr: seen.stderr }, { code: 0, stderr: '' });
  await left;
});

test('a refusal is printed with code, message, reason and fields', async (t) => {
  const { env } = await sessionServer(t, {
    getTranscript: async ({ sessionId }) => {
      if (sessionId === 1) throw invalid({ path: 'sessionId', message: 'is odd' });
      if (sessionId === 2) throw new DomainError('unavailable', 'no model', { reason: 'MODEL_UNAVAILABLE' });
      throw new Error('secret detail');
    },
  });
  const failure = async (sessionId: number) => {
    const request = JSON.stringify({ sessionId });
    const { code, stdout, stderr } = await typed(t, [...getTranscript, request], { env });
    t.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    const { requestId, ...error } = JSON.parse(stderr);
    t.regex(requestId, /^[0-9a-f-]{36}$/);
    return error;
  };
  const fields = [{ path: 'sessionId', message: 'is odd' }];
  t.deepEqual(await failure(1), { code: 'INVALID_ARGUMENT', message: 'sessionId is odd', fields });
  t.deepEqual(await failure(2), { code: 'UNAVAILABLE', message: 'no model', reason: 'MODEL_UNAVAILABLE' });
  t.deepEqual(await failure(3), { code: 'INTERNAL', message: 'Something went wrong on our side' });
});

test('a call that exceeds its timeout is reported as a timeout', async (t) => {
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { messages: [] };
    },
  });
  const { code, stderr } = await typed(t, getTranscript, { env, numbers: { 'timeout-ms': '50' } });
  t.is(code, 1);
  t.is(JSON.parse(stderr).code, 'DEADLINE_EXCEEDED');
});

test('an interrupted call prints no response and exits with 130', async (t) => {
  const enough = new AbortController();
  const { env } = await sessionServer(t, {
    getTranscript: async (_request, { signal }) => {
      enough.abort();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { messages: [] };
    },
  });
  const terminal = { stdout: { write: () => t.fail() }, stderr: { write: () => t.fail() } };
  t.is(await rpcCommand({ positionals: getTranscript, numbers: {} }, env, terminal, enough.signal), 130);
});

test('an unreachable unit and a unit of another mesh have different errors', async (t) => {
  const { address } = await sessionServer(t, {});
  const MESH_KEY = randomBytes(32).toString('base64');
  const foreign = await typed(t, getTranscript, { env: { MESH_KEY, SESSION_RPC_URL: address } });
  t.like({ code: JSON.parse(foreign.stderr).code, exit: foreign.code }, { code: 'UNAUTHENTICATED', exit: 1 });
  const absent = await typed(t, getTranscript, { env: { MESH_KEY, SESSION_RPC_URL: '127.0.0.1:1' } });
  t.like({ code: JSON.parse(absent.stderr).code, exit: absent.code }, { code: 'UNAVAILABLE', exit: 1 });
  for (const { stderr } of [foreign, absent]) t.false(stderr.includes(MESH_KEY));
});

test('a running mesh is found by its data folder, which settings override', async (t) => {
  const { address, env } = await sessionServer(t, {});
  const PARLEY_DATA_DIR = folder(t);
  writeFileSync(join(PARLEY_DATA_DIR, 'keys.json'), JSON.stringify({ MESH_KEY: env.MESH_KEY, OPERATOR_KEY: 'x' }));
  writeFileSync(join(PARLEY_DATA_DIR, 'addresses.json'), JSON.stringify({ session: { rpc: address } }));

  t.is((await typed(t, getTranscript, { env: { PARLEY_DATA_DIR } })).code, 0);
  t.is((await typed(t, getTranscript, { env: { PARLEY_DATA_DIR, SESSION_RPC_URL: '127.0.0.1:1' } })).code, 1);
  const MESH_KEY = randomBytes(32).toString('base64');
  t.is((await typed(t, getTranscript, { env: { PARLEY_DATA_DIR, MESH_KEY } })).code, 1);
});

test('invalid arguments and settings are refused without a call, and no key is created', async (t) => {
  const PARLEY_DATA_DIR = folder(t);
  const { env } = await sessionServer(t, { getTranscript: async () => t.fail('must not be reached') });
  const numbers = (given: Environment): Typing => ({ numbers: given });
  const wrong: [string[], RegExp, Typing?][] = [
    [['nobody'], /There is no nobody\. There are:\n {2}action CheckTools/],
    [['session', 'Nothing'], /There is no session Nothing\. There are:/],
    [['knowledge', 'CompleteDocument'], /There is no knowledge CompleteDocument/],
    [[...getTranscript, '{"id": 1}'], /key "id" is unknown; parley\/session\/v1\/session\.proto has its fields/],
    [[...getTranscript, '{"constructor": 1}'], /key "constructor" is unknown/],
    [[...getTranscript, '{"sessionId": "x"}'], /session_id .* expected number/],
    [[...getTranscript, '{"sessionId": 2147483648}'], /session_id .*int32.* out of range/],
    [[...getTranscript, 'sessionId=1'], /JSON/],
    [[...getTranscript, '[]'], /JSON/],
    [[...getTranscript, ''], /JSON/],
    [getTranscript, /tenant: is not a number/, numbers({ tenant: 'x' })],
    [getTranscript, /tenant: is no id/, numbers({ tenant: '2147483648' })],
    [getTranscript, /user: must be above 0/, numbers({ user: '0' })],
    [getTranscript, /--session and --api-key need --tenant/, numbers({ session: '1' })],
    [getTranscript, /--session and --api-key need --tenant/, { apiKey: true }],
    [getTranscript, /Only one of --user, --session/, numbers({ tenant: '1', session: '1', user: '1' })],
    [getTranscript, /timeout-ms: must be above 0/, numbers({ 'timeout-ms': '-5' })],
    [getTranscript, /MESH_KEY: is missing/, { env: { SESSION_RPC_URL: env.SESSION_RPC_URL } }],
    [getTranscript, /MESH_KEY: each key must be at least 32 bytes/, { env: { ...env, MESH_KEY: 'c2hvcnQ=' } }],
    [getTranscript, /Where is session\? .*SESSION_RPC_URL/, { env: { MESH_KEY: env.MESH_KEY } }],
  ];
  for (const [words, reason, typing] of wrong) {
    const given = { env, ...typing };
    const { code, stdout, stderr } = await typed(t, words, { ...given, env: { ...given.env, PARLEY_DATA_DIR } });
    t.deepEqual({ code, stdout }, { code: 2, stdout: '' }, String(reason));
    t.regex(stderr, reason);
    t.false(stderr.includes(env.MESH_KEY));
  }
  t.deepEqual(readdirSync(PARLEY_DATA_DIR), []);
});
