import { forbidden, unauthenticated, unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { eventually } from '@parley/testing/eventually';
import { createGate, type Gate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { OwnerOf } from '../credentials/authenticate.ts';
import { type OpenSocket, openSockets } from './open-sockets.ts';

/** Makes sockets with API keys. `tenants` maps keys to tenants; `gates` delays answers. */
function setup(t: ExecutionContext) {
  const tenants = new Map<string, number>();
  const gates = new Map<string, Gate>();
  const asked: string[] = [];
  /** Unanswered lookups by key. */
  const pending = new Map<string, number>();
  const peaks = new Map<string, number>();
  const warnings: object[] = [];
  const state = { away: false };

  const ownerOf: OwnerOf = async ({ apiKey = '' }, origin, { purpose, signal }) => {
    if (apiKey === '') return undefined;
    asked.push(`${purpose} ${apiKey}`);
    const now = (pending.get(apiKey) ?? 0) + 1;
    pending.set(apiKey, now);
    peaks.set(apiKey, Math.max(now, peaks.get(apiKey) ?? 0));
    try {
      const tenantId = tenants.get(apiKey); // the tenant at the time of the lookup
      const left = Promise.withResolvers<void>();
      signal?.addEventListener('abort', () => left.resolve());
      await Promise.race([gates.get(apiKey)?.pass(), left.promise]);
      signal?.throwIfAborted();
      if (state.away) throw unavailable('identity is away');
      if (tenantId === undefined) throw unauthenticated('Invalid API key');
      return { caller: { kind: 'apiKey', apiKeyId: tenantId, tenantId, ...origin }, ended: false };
    } finally {
      pending.set(apiKey, (pending.get(apiKey) ?? 1) - 1);
    }
  };
  const sockets = openSockets({
    ownerOf,
    credentialStatus: { refresh: () => undefined },
    maxAgeMs: 60_000,
    anonymousMaxAgeMs: 1,
    log: { warn: (facts: object) => void warnings.push(facts) } as unknown as Logger,
  });
  t.teardown(() => sockets.stop());

  function socket(apiKey: string): OpenSocket & { refused: number } {
    const origin = { ip: '192.0.2.1', requestId: 'r-1' };
    const made = { credentials: { apiKey }, origin, refused: 0, refuse: () => void (made.refused += 1) };
    return made;
  }
  return { sockets, socket, tenants, gates, asked, pending, peaks, warnings, state };
}

const change = (tenantId: number) => ({ whose: { $case: 'tenantId' as const, value: tenantId } });

test('changes during the admission of a socket cause one more check, and never two at once', async (t) => {
  const { sockets, socket, tenants, gates, asked, peaks } = setup(t);
  tenants.set('k', 1);
  const gate = createGate();
  gates.set('k', gate);
  const admitted = sockets.admit(socket('k'));
  for (let n = 0; n < 100; n += 1) sockets.recheck(change(2));
  gate.release();
  await eventually('it is asked once more', () => asked.length === 2);
  for (let n = 0; n < 100; n += 1) sockets.recheck(change(2)); // changes of another tenant; the tenant of `k` is known by now
  gate.release();
  t.is(await admitted, 'admitted');
  t.deepEqual(asked, ['newSocket k', 'newSocket k']);
  t.is(peaks.get('k'), 1);
});

test('a key that is revoked during the admission of its socket is refused', async (t) => {
  const { sockets, socket, tenants, gates } = setup(t);
  tenants.set('k', 1);
  const gate = createGate();
  gates.set('k', gate);
  const admitted = sockets.admit(socket('k'));
  tenants.delete('k');
  sockets.recheck(change(1));
  gate.open();
  t.is(await admitted, 'refused');
});

test('changes during a check of open sockets cause one more check', async (t) => {
  const { sockets, socket, tenants, gates, asked, peaks } = setup(t);
  tenants.set('k', 1);
  const both = [socket('k'), socket('k')];
  for (const one of both) t.is(await sockets.admit(one), 'admitted');
  asked.length = 0;
  const gate = createGate();
  gates.set('k', gate);
  sockets.recheck(change(1));
  for (let n = 0; n < 100; n += 1) sockets.recheck(change(1));
  tenants.delete('k');
  sockets.recheck(undefined);
  gate.release();
  await eventually('it is asked once more', () => asked.length === 2);
  gate.open();
  await eventually('both are refused', () => both.every(({ refused }) => refused === 1));
  t.deepEqual(asked, ['openSocket k', 'openSocket k']);
  t.is(peaks.get('k'), 1);
});

test('a socket closes when its own session token expires, independently of other tokens of the session', async (t) => {
  const ended = new Set<string>();
  const sockets = openSockets({
    async ownerOf({ bearer = '' }, origin) {
      if (ended.has(bearer)) throw unauthenticated();
      return { caller: { kind: 'session', tenantId: 1, sessionId: 7, ...origin }, ended: false };
    },
    credentialStatus: { refresh: () => undefined },
    maxAgeMs: 60_000,
    anonymousMaxAgeMs: 60_000,
    log: {} as Logger,
  });
  t.teardown(() => sockets.stop());
  const refused: string[] = [];
  for (const bearer of ['early', 'late']) {
    const origin = { ip: '192.0.2.1', requestId: 'r-1' };
    t.is(await sockets.admit({ credentials: { bearer }, origin, refuse: () => refused.push(bearer) }), 'admitted');
  }
  for (const bearer of ['late', 'early']) {
    refused.length = 0;
    ended.add(bearer);
    sockets.recheck(undefined);
    await eventually('it is closed', () => refused.length > 0);
    t.deepEqual(refused, [bearer]);
  }
});

test('a socket whose credential cannot be checked is not admitted, and differs from a refused one', async (t) => {
  const { sockets, socket, tenants, state } = setup(t);
  tenants.set('k', 1);
  t.is(await sockets.admit(socket('wrong')), 'refused');
  state.away = true;
  t.is(await sockets.admit(socket('k')), 'unavailable');
  state.away = false;
  t.is(await sockets.admit(socket('k')), 'admitted');
});

test('the sweep continues while one check is pending', async (t) => {
  const { sockets, socket, tenants, gates, pending } = setup(t);
  tenants.set('slow', 1).set('k', 2);
  const [slow, other] = [socket('slow'), socket('k')];
  for (const one of [slow, other]) t.is(await sockets.admit(one), 'admitted');
  gates.set('slow', createGate());
  await eventually('one waits', () => pending.get('slow') === 1);
  tenants.delete('k');
  const bare = socket('');
  t.is(await sockets.admit(bare), 'admitted');
  await eventually('the others are closed', () => other.refused === 1 && bare.refused === 1);
  t.is(pending.get('slow'), 1);
  t.is(slow.refused, 0);
});

test('a pending check is cancelled when the last socket that shares it closes', async (t) => {
  const { sockets, socket, tenants, gates, pending, warnings } = setup(t);
  tenants.set('k', 1);
  const both = [socket('k'), socket('k')] as const;
  for (const one of both) t.is(await sockets.admit(one), 'admitted');
  gates.set('k', createGate()).set('new', createGate());
  sockets.recheck(undefined);
  sockets.drop(both[0]);
  await Promise.resolve();
  t.is(pending.get('k'), 1);
  sockets.drop(both[1]);
  const coming = socket('new');
  const admission = sockets.admit(coming);
  sockets.drop(coming);
  t.not(await admission, 'admitted');
  await eventually('nothing is asked any more', () => [...pending.values()].every((count) => count === 0));
  t.deepEqual(warnings, []);
});

test('failed checks are logged together, with their count', async (t) => {
  const { sockets, socket, tenants, state, warnings } = setup(t);
  tenants.set('k', 1);
  const stays = socket('k');
  t.is(await sockets.admit(stays), 'admitted');
  state.away = true;
  for (let n = 0; n < 50; n += 1) t.is(await sockets.admit(socket(`new-${n}`)), 'unavailable');
  t.is(warnings.length, 1);
  t.like(warnings, [{ count: 1, err: { kind: 'unavailable' } }]);
  t.is(stays.refused, 0);
});

test('a socket whose credential is no longer allowed is closed', async (t) => {
  const { sockets, socket } = setup(t);
  const closed = openSockets({
    ownerOf: async () => {
      throw forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
    },
    credentialStatus: { refresh: () => undefined },
    maxAgeMs: 60_000,
    anonymousMaxAgeMs: 1,
    log: {} as Logger,
  });
  t.teardown(() => closed.stop());
  t.is(await closed.admit(socket('k')), 'refused');
  t.is(await sockets.admit(socket('')), 'admitted');
});
