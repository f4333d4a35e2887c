import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import { answering, modelJudgement, usual } from './neighbours.ts';

test("a suspended tenant's judgement waits, and goes on as soon as the suspension is lifted", async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.tenants.set(1, { suspended: true });
  await mesh.deliver(sessionEnded());
  const waits = async () =>
    (await mesh.database.transactShared(({ knex }) => knex('jobs').where({ state: 'queued' }))).length === 1;
  await eventually('it has looked and waits', async () => mesh.script.tenantsAsked === 1 && (await waits()));
  await mesh.tellOfTenant(1); // of something else: it looks again and goes on waiting
  await eventually('it has looked again', async () => mesh.script.tenantsAsked === 2 && (await waits()));
  t.deepEqual(await mesh.counts(), { evaluations: 0, jobs: 1 });
  t.is(mesh.asked.length, 0);

  await mesh.tellOfTenant(2);
  mesh.tenants.delete(1);
  const liftedAt = performance.now();
  await mesh.tellOfTenant(1);
  await mesh.evaluationOf(1);
  t.true(performance.now() - liftedAt < 5_000, 'long before it would have looked by itself');
  t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
  t.is(mesh.script.tenantsAsked, 3, 'another tenant is none of its business');
});

test('a deleted tenant has nothing judged', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.transcripts.set(2, usual);
  mesh.tenants.set(1, { deleted: true });
  await mesh.deliver(sessionEnded(1));
  await eventually('the job has gone', async () => (await mesh.counts()).jobs === 0);
  t.deepEqual(await mesh.counts(), { evaluations: 0, jobs: 0 });
  mesh.tenants.delete(1);
  await mesh.deliver(sessionEnded(2));
  await mesh.evaluationOf(2);
  t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
});

test('while identity is away a judgement waits for it', async (t) => {
  const mesh = await evaluationMesh(t);
  const bringBack = await mesh.takeAway('identity');
  await mesh.deliver(sessionEnded());
  t.deepEqual(await mesh.counts(), { evaluations: 0, jobs: 1 });
  await bringBack();
  await mesh.evaluationOf(1);
});

test("a tenant's ended sessions leave places for another's", async (t) => {
  const mesh = await evaluationMesh(t, { EVALUATION_CONCURRENCY: '3', EVALUATION_PER_TENANT: '2' });
  const gate = createGate();
  t.teardown(() => gate.open());
  mesh.answers.unshift(async (...asked) => {
    await gate.pass();
    return answering(modelJudgement)(...asked);
  });
  mesh.answers.splice(1, 1); // all are held
  const sessionIds = [1, 2, 3, 4, 5, 6];
  for (const sessionId of sessionIds) mesh.transcripts.set(sessionId, usual);
  await mesh.deliver(...sessionIds.map((sessionId) => sessionEnded(sessionId)));
  await eventually('as many as one tenant may', () => mesh.asked.length === 2);

  mesh.tenants.set(2, { deleted: true }); // its judgement is over as soon as it has begun
  await mesh.deliver(sessionEnded(7, { tenantId: 2 }));
  const left = () => mesh.database.transactShared(({ knex }) => knex('jobs').where({ tenant_id: 2 }));
  await eventually("the other tenant's has had its turn", async () => (await left()).length === 0);
  t.is(mesh.asked.length, 2);

  gate.open();
  await Promise.all(sessionIds.map((sessionId) => mesh.evaluationOf(sessionId)));
  t.is(mesh.asked.length, 6);
});
