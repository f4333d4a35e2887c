import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import { usual } from './neighbours.ts';

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
