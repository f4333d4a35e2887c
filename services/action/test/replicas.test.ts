import { eventually } from '@parley/testing/eventually';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import test, { type ExecutionContext } from 'ava';
import { actionSchema } from '../src/action-schema.ts';
import { actionUnit, inTenant } from './action-unit.ts';
import { restServer, sendJson } from './custom-actions/rest-server.ts';

/** Starts two processes with one database, and a server whose responses the test releases. */
async function twoProcesses(t: ExecutionContext, env: Record<string, string> = {}) {
  const clock = { offsetMs: 0 };
  const clockOffsetMs = () => clock.offsetMs;
  const database = await testSchema(t, actionSchema, { clockOffsetMs });
  const first = await actionUnit(t, { env, database });
  const second = await actionUnit(t, { env, database: await replicaOf(t, database, actionSchema, { clockOffsetMs }) });
  const waiting: (() => void)[] = [];
  const rest = await restServer(t, async (_, response) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    sendJson(response, 200, { n: rest.seen.length });
  });
  const id = await first.createAction(1, { url: rest.url });
  return { clock, first, second, rest, waiting, id };
}

test('another process waits for a running call and returns its result', async (t) => {
  const { first, second, rest, waiting, id } = await twoProcesses(t);
  const made = first.callAction(1, id, { turn: 'turn 1' });
  await eventually('it is sent', () => waiting.length === 1);
  const waited = second.callAction(1, id, { turn: 'turn 1' });
  const { calls } = await second.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) });
  t.is(calls[0]?.result, undefined);
  waiting[0]?.();
  t.like(await made, { errorKind: '', body: { value: '{"n":1}' } });
  t.deepEqual(await waited, await made);
  t.is(rest.seen.length, 1);
});

test('a call whose process lets its lease expire is marked as interrupted, whatever that process reports later', async (t) => {
  const { clock, first, second, rest, waiting, id } = await twoProcesses(t);
  const made = first.callAction(1, id, { turn: 'turn 1' });
  await eventually('it is sent', () => waiting.length === 1);
  clock.offsetMs = 16_000;
  const { calls } = await second.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) });
  t.is(calls[0]?.result?.errorKind, 'CALL_INTERRUPTED');
  waiting[0]?.();
  t.like(await made, { errorKind: 'CALL_INTERRUPTED' });
  t.like(await second.callAction(1, id, { turn: 'turn 1' }), { errorKind: 'CALL_INTERRUPTED' });
  t.is(rest.seen.length, 1);
  t.deepEqual(
    (await second.calls(1)).map(({ errorKind }) => errorKind),
    ['CALL_INTERRUPTED'],
  );
});

test('a process renews its lease while a call runs', async (t) => {
  const { first, second, waiting, id } = await twoProcesses(t, { ACTION_LEASE_MS: '1000' });
  const made = first.callAction(1, id, { turn: 'turn 1' });
  await eventually('it is sent', () => waiting.length === 1);
  const leases = () =>
    first.database.transactShared(({ knex }) => knex('calling_processes').orderBy('leaseUntil').pluck('leaseUntil'));
  const [before] = await leases();
  await eventually('it is renewed', async () => (await leases()).some((until: Date) => until > before));
  const { calls } = await second.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) });
  t.is(calls[0]?.result, undefined);
  waiting[0]?.();
  t.like(await made, { errorKind: '' });
});

test('a call that its caller aborted is cancelled, and another process returns that result', async (t) => {
  const { first, second, rest, waiting, id } = await twoProcesses(t);
  const client = new AbortController();
  const made = first.callAction(1, id, { turn: 'turn 1', signal: client.signal }).catch(() => 'gone');
  await eventually('it is sent', () => waiting.length === 1);
  const waited = second.callAction(1, id, { turn: 'turn 1' });
  client.abort();
  await made;
  t.like(await waited, { errorKind: 'CALL_CANCELLED' });
  t.is(rest.seen.length, 1);
});
