import { randomBytes } from 'node:crypto';
import type { DomainError } from '@parley/kernel/errors';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { messagingTokens } from '../../src/custom-actions/messaging-tokens.ts';
import { restServer, type SeenRequest, sendJson } from './rest-server.ts';

const app = { kind: 'MESSAGING', appId: 'app-1', appSecret: 'canary-secret' } as const;
const action = { id: 7, tenantId: 3, messagingRegion: 'REGION_INTL' } as const;

interface Answer {
  status?: number;
  body?: unknown;
  delayMs?: number;
}

/** Starts a messaging platform that issues `token-1`, `token-2`, … unless `answers` returns something else. */
async function platform(t: ExecutionContext, answers: (n: number, request: SeenRequest) => Answer = () => ({})) {
  let count = 0;
  const server = await restServer(t, async (request, response) => {
    count += 1;
    const n = count;
    const {
      status = 200,
      body = { code: 0, msg: 'ok', tenant_access_token: `canary-token-${n}`, expire: 7_200 },
      delayMs = 0,
    } = answers(n, request);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    sendJson(response, status, body);
  });
  let nowMs = 0;
  const keyValue = memoryKeyValue({ now: () => nowMs });
  const box = createSecretBox([randomBytes(32)]);
  const warnings: unknown[] = [];
  const log = { warn: (...args: unknown[]) => void warnings.push(args) };
  const replica = (store: KeyValue = keyValue, sealedBy = box) =>
    messagingTokens({
      keyValue: store,
      box: sealedBy,
      urls: { REGION_INTL: `${server.url}/`, REGION_CN: `${server.url}/cn` },
      log,
    });
  return { server, keyValue, replica, warnings, pass: (ms: number) => (nowMs += ms) };
}

const reasonOf = async (t: ExecutionContext, work: Promise<unknown>) => {
  const error = await t.throwsAsync<DomainError>(work);
  t.false(JSON.stringify([error.message, error.fields, String(error.cause)]).includes('canary'));
  return `${error.kind} ${error.reason}`;
};

test("the app's credentials are exchanged at the region's base URL", async (t) => {
  const { server, replica } = await platform(t);
  t.deepEqual(await replica().tokenFor(action, app), { token: 'canary-token-1', isKept: false });
  await replica().tokenFor({ ...action, id: 8, messagingRegion: 'REGION_CN' }, app);
  t.deepEqual(
    server.seen.map(({ method, path, body }) => [method, path, JSON.parse(body)]),
    ['', '/cn'].map((base) => [
      'POST',
      `${base}/open-apis/auth/v3/tenant_access_token/internal`,
      { app_id: 'app-1', app_secret: 'canary-secret' },
    ]),
  );
});

test('a token is cached for all replicas until five minutes before it expires', async (t) => {
  const { server, replica, pass } = await platform(t);
  await replica().tokenFor(action, app);
  pass((7_200 - 300) * 1_000 - 1);
  t.deepEqual(await replica().tokenFor(action, app), { token: 'canary-token-1', isKept: true });
  pass(2);
  t.deepEqual(await replica().tokenFor(action, app), { token: 'canary-token-2', isKept: false });
  t.is(server.seen.length, 2);
});

test('each action of each tenant has its own token', async (t) => {
  const { server, replica } = await platform(t);
  const tokens = replica();
  await Promise.all([
    tokens.tokenFor(action, app),
    tokens.tokenFor({ ...action, id: 8 }, app),
    tokens.tokenFor({ ...action, tenantId: 4 }, app),
  ]);
  t.is(server.seen.length, 3);
});

test('20 concurrent calls on two replicas make one token exchange', async (t) => {
  const { server, replica } = await platform(t, () => ({ delayMs: 150 }));
  const [one, other] = [replica(), replica()];
  const calls = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : other).tokenFor(action, app));
  t.deepEqual([...new Set((await Promise.all(calls)).map(({ token }) => token))], ['canary-token-1']);
  t.is(server.seen.length, 1);
});

test('a replica that dies during an exchange delays the others only until its lock expires', async (t) => {
  const { server, keyValue, replica, pass } = await platform(t);
  await keyValue.setIfAbsent('parley:3:action:7:messaging-token:lock', '1', { ttlMs: 15_000 });
  let tries = 0;
  const { setIfAbsent } = keyValue;
  keyValue.setIfAbsent = (...given) => {
    tries += 1;
    return setIfAbsent.apply(keyValue, given);
  };
  const waiting = replica().tokenFor(action, app);
  await eventually('it has tried for the lock again', () => tries > 1);
  t.is(server.seen.length, 0);
  pass(15_001);
  t.is((await waiting).token, 'canary-token-1');
});

test('a failed exchange releases its lock and is retried by the next call', async (t) => {
  const { replica } = await platform(t, (n) => (n === 1 ? { status: 500 } : {}));
  t.is(await reasonOf(t, replica().tokenFor(action, app)), 'unavailable CREDENTIAL_UNAVAILABLE');
  t.is((await replica().tokenFor(action, app)).token, 'canary-token-2');
});

test('every response of the messaging platform maps to an error kind', async (t) => {
  const answers: [Answer, string][] = [
    [{ body: { code: 10_014, msg: 'app secret invalid: canary-secret' } }, 'invalid CREDENTIAL_REFUSED'],
    [{ status: 400, body: { code: 10_003 } }, 'invalid CREDENTIAL_REFUSED'],
    [{ status: 401 }, 'invalid CREDENTIAL_REFUSED'],
    [{ status: 429 }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ status: 503 }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ status: 307 }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ body: [] }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ body: { code: 0 } }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ body: { tenant_access_token: 'canary\r\nX: 1', expire: 7_200 } }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ body: { tenant_access_token: { canary: 1 }, expire: 7_200 } }, 'unavailable CREDENTIAL_UNAVAILABLE'],
    [{ body: 'x'.repeat(100_000) }, 'unavailable CREDENTIAL_UNAVAILABLE'],
  ];
  const { replica } = await platform(t, (n) => answers[n - 1]?.[0] ?? {});
  const tokens = replica();
  for (const [answer, expected] of answers)
    t.is(await reasonOf(t, tokens.tokenFor(action, app)), expected, JSON.stringify(answer).slice(0, 80));
});

test('a token without a valid expiry is not cached', async (t) => {
  const ends = [undefined, 'soon', 300, -1, Number.MAX_VALUE];
  const { server, replica } = await platform(t, (n) => ({
    body: { tenant_access_token: `token-${n}`, expire: ends[n - 1] },
  }));
  for (const _ of ends) t.false((await replica().tokenFor(action, app)).isKept);
  t.is(server.seen.length, ends.length);
});

test('the cached token is sealed for its own cache entry', async (t) => {
  const { keyValue, replica } = await platform(t);
  await replica().tokenFor(action, app);
  const sealed = (await keyValue.get('parley:3:action:7:messaging-token')) ?? '';
  t.false(`${sealed}${Buffer.from(sealed, 'base64').toString('latin1')}`.includes('canary'));
  await keyValue.set('parley:4:action:7:messaging-token', sealed, { ttlMs: 1_000 });
  t.deepEqual(await replica().tokenFor({ ...action, tenantId: 4 }, app), { token: 'canary-token-2', isKept: false });
});

test('a token sealed under a removed key is exchanged again', async (t) => {
  const { keyValue, replica } = await platform(t);
  await replica().tokenFor(action, app);
  const other = replica(keyValue, createSecretBox([randomBytes(32)]));
  t.is((await other.tokenFor(action, app)).token, 'canary-token-2');
});

test('a dropped token is exchanged again, and a newer one is not dropped', async (t) => {
  const { replica } = await platform(t);
  const tokens = replica();
  const { token } = await tokens.tokenFor(action, app);
  await tokens.drop(action, 'another');
  t.true((await tokens.tokenFor(action, app)).isKept);
  await tokens.drop(action, token);
  t.is((await tokens.tokenFor(action, app)).token, 'canary-token-2');
  await tokens.drop(action);
  t.is((await tokens.tokenFor(action, app)).token, 'canary-token-3');
});

test('while the key-value store is down, each process makes its own exchange', async (t) => {
  const { server, keyValue, replica, warnings } = await platform(t, () => ({ delayMs: 50 }));
  await keyValue.close();
  const tokens = replica();
  await Promise.all(Array.from({ length: 5 }, () => tokens.tokenFor(action, app)));
  await tokens.drop(action, 'x');
  t.is(server.seen.length, 1);
  t.true(warnings.length > 0);
  t.false(JSON.stringify(warnings).includes('canary'));
});

test('a caller that cancels does not cancel the exchange for other callers', async (t) => {
  const { server, replica } = await platform(t, () => ({ delayMs: 150 }));
  const tokens = replica();
  const leaver = new AbortController();
  const left = tokens.tokenFor(action, app, leaver.signal);
  const stays = tokens.tokenFor(action, app);
  leaver.abort(new Error('left'));
  await t.throwsAsync(left, { message: 'left' });
  t.is((await stays).token, 'canary-token-1');
  t.is(server.seen.length, 1);
});

test('a region without a URL has no tokens', async (t) => {
  const { keyValue } = await platform(t);
  const tokens = messagingTokens({
    keyValue,
    box: createSecretBox([randomBytes(32)]),
    urls: {},
    log: { warn: () => undefined },
  });
  t.is(await reasonOf(t, tokens.tokenFor(action, app)), 'unavailable CREDENTIAL_UNAVAILABLE');
});
