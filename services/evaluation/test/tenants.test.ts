import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import { answering, modelJudgement, shortConversation } from './stub-services.ts';

test('a judgement waits while its tenant is suspended, and runs as soon as the suspension is lifted', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.tenants.set(1, { suspended: true });
  await mesh.deliver(sessionEnded());
  const waits = async () =>
    (await mesh.database.transactShared(({ knex }) => knex('jobs').where({ state: 'queued' }))).length === 1;
  await eventually('it has checked and waits', async () => mesh.script.tenantsAsked === 1 && (await waits()));
  await mesh.announceTenantChange(1); // an unrelated change: the tenant is still suspended
  await eventually('it has checked again', async () => mesh.script.tenantsAsked === 2 && (await waits()));
  t.deepEqual(await mesh.counts(), { evaluations: 0, jobs: 1 });
  t.is(mesh.asked.length, 0);

  await mesh.announceTenantChange(2);
  mesh.tenants.delete(1);
  const liftedAt = performance.now();
  await mesh.announceTenantChange(1);
  await mesh.evaluationOf(1);
  t.true(performance.now() - liftedAt < 5_000, 'long before the next scheduled check');
  t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
  t.is(mesh.script.tenantsAsked, 3, 'changes of other tenants cause no check');
});

test('sessions of a deleted tenant are not judged', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.transcripts.set(2, shortConversation);
  mesh.tenants.set(1, { deleted: true });
  await mesh.deliver(sessionEnded(1));
  await eventually('the job is done', async () => (await mesh.counts()).jobs === 0);
  t.deepEqual(await mesh.counts(), { evaluations: 0, jobs: 0 });
  mesh.tenants.delete(1);
  await mesh.deliver(sessionEnded(2));
  await mesh.evaluationOf(2);
  t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
});

test('a judgement waits while identity is unavailable', async (t) => {
  const mesh = await evaluationMesh(t);
  const restart = await mesh.stopService('identity');
  await mesh.deliver(sessionEnded());
  t.deepEqual(await mesh.counts(), { evaluations: 0, jobs: 1 });
  await restart();
  await mesh.evaluationOf(1);
});

test('the limit per tenant leaves capacity to other tenants', async (t) => {
  const mesh = await evaluationMesh(t, { EVALUATION_CONCURRENCY: '3', EVALUATION_PER_TENANT: '2' });
  const gate = createGate();
  t.teardown(() => gate.open());
  mesh.answers.unshift(async (...asked) => {
    await gate.pass();
    return answering(modelJudgement)(...asked);
  });
  mesh.answers.splice(1, 1); // now every answer waits for the gate
  const sessionIds = [1, 2, 3, 4, 5, 6];
  for (const sessionId of sessionIds) mesh.transcripts.set(sessionId, shortConversation);
  await mesh.deliver(...sessionIds.map((sessionId) => sessionEnded(sessionId)));
  await eventually('the limit of one tenant is reached', () => mesh.asked.length === 2);

  mesh.tenants.set(2, { deleted: true }); // a deleted tenant's job ends at once
  await mesh.deliver(sessionEnded(7, { tenantId: 2 }));
  const remaining = () => mesh.database.transactShared(({ knex }) => knex('jobs').where({ tenant_id: 2 }));
  await eventually("the other tenant's job is done", async () => (await remaining()).length === 0);
  t.is(mesh.asked.length, 2);

  gate.open();
  await Promise.all(sessionIds.map((sessionId) => mesh.evaluationOf(sessionId)));
  t.is(mesh.asked.length, 6);
});
