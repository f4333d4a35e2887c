import { unavailable } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { agentReader } from '../src/agents/agent-reader.ts';
import { ada, agentApp, inTenant } from './agent-app.ts';

const owner = inTenant(1);

/** Delays queries until the gate opens and records their tenants. */
function gated(database: Database) {
  const gate = createGate();
  const tenants: number[] = [];
  const read: Database['read'] = async (tenantId, work) => {
    tenants.push(tenantId);
    await gate.pass();
    return database.read(tenantId, work);
  };
  return { gate, tenants, database: { ...database, read } };
}

test('reads during a query share the next query', async (t) => {
  const { app, database } = await agentApp(t);
  const first = await app.createAgent(owner, { ...ada, name: 'First' });
  const second = await app.createAgent(owner, { ...ada, name: 'Second' });
  const { gate, tenants, database: slow } = gated(database);
  const read = agentReader(slow);

  const reads = [read(1, first.id)];
  await Promise.resolve(); // the first query has started
  for (let turn = 0; turn < 50; turn += 1) reads.push(read(1, turn % 2 ? first.id : second.id));
  gate.open();
  const names = (await Promise.all(reads)).map(({ name }) => name);
  t.deepEqual(names.slice(0, 3), ['First', 'Second', 'First']);
  t.deepEqual(tenants, [1, 1]);
});

test('a read sees what was committed before it was requested', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const { gate, database: slow } = gated(database);
  const read = agentReader(slow);
  const early = read(1, id);
  await Promise.resolve();
  gate.release(2);
  await app.updateAgent(owner, { id, input: { name: 'Grace' } });
  t.is((await read(1, id)).name, 'Grace');
  t.is((await early).id, id);
});

test('tenants are read separately, and a missing agent fails only its own read', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const { gate, tenants, database: slow } = gated(database);
  const read = agentReader(slow);
  const reads = [read(1, id), read(2, id), read(1, 999)];
  gate.open();
  const [mine, foreign, none] = await Promise.allSettled(reads);

  t.like(mine, { status: 'fulfilled', value: { id } });
  t.like(foreign, { status: 'rejected', reason: { kind: 'notFound', message: `Agent ${id} not found` } });
  t.like(none, { status: 'rejected', reason: { kind: 'notFound', message: 'Agent 999 not found' } });
  t.deepEqual(tenants, [1, 2, 1]);
});

test('a failed query does not affect the next read', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  let unavailableNow = true;
  const readOrFail: Database['read'] = async (tenantId, work) => {
    if (unavailableNow) throw unavailable('The database is not available');
    return database.read(tenantId, work);
  };
  const read = agentReader({ ...database, read: readOrFail });
  const failed = await Promise.allSettled([read(1, id), read(1, id)]);
  t.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  unavailableNow = false;
  t.is((await read(1, id)).id, id);
});
