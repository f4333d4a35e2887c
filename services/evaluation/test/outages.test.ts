import { catalogueViolations } from '@parley/postgres/database/catalogue';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { testDatabaseUrl } from '@parley/testing/test-database';
import test from 'ava';
import { evaluationSchema } from '../src/evaluation-schema.ts';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import { answering, failing, modelJudgement } from './neighbours.ts';

for (const name of ['session', 'agent'] as const) {
  test(`while the ${name} service is away a judgement waits, and is stored when it is back`, async (t) => {
    const mesh = await evaluationMesh(t);
    const back = await mesh.takeAway(name);
    await mesh.deliver(sessionEnded());
    await eventually('it was tried', async () => {
      const { rows } = await mesh.database.transactShared(({ knex }) => knex.raw('select attempt from jobs'));
      return rows[0]?.attempt > 1;
    });
    t.is(await mesh.find(), undefined);
    await back();
    t.like(await mesh.evaluationOf(), modelJudgement);
    await eventually('no job is left', async () => (await mesh.counts()).jobs === 0);
    t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
  });
}

test('an agent service that goes away while it is asked is asked again', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.unshift(failing('unavailable', 'shutting down'));
  await mesh.deliver(sessionEnded());
  t.like(await mesh.evaluationOf(), modelJudgement);
  t.is(mesh.asked.length, 2);
});

test('a model that never answers is waited for a few times, then the offline judge judges', async (t) => {
  const mesh = await evaluationMesh(t, { EVALUATION_JUDGE_TIMEOUT_MS: '600' });
  const told: string[] = [];
  mesh.answers.splice(0, 1, (request, { signal }) => {
    signal.addEventListener('abort', () => told.push(request.callId));
    return new Promise(() => undefined);
  });
  await mesh.deliver(sessionEnded());
  t.regex((await mesh.evaluationOf()).summary, /^Judged offline/);
  t.is(mesh.asked.length, 3);
  await eventually('each request was cancelled', () => told.length === 3);
});

test('a model that is busy with other calls is waited for however long that is', async (t) => {
  const mesh = await evaluationMesh(t, { EVALUATION_JUDGE_TIMEOUT_MS: '90000' });
  const busy = failing('unavailable', 'The model is busy', { reason: 'MODEL_BUSY' });
  mesh.answers.unshift(busy, busy, busy);
  await mesh.deliver(sessionEnded());
  t.like(await mesh.evaluationOf(), modelJudgement);
  t.deepEqual(
    mesh.asked.map(({ maxWaitMs }) => maxWaitMs),
    [45_000, 45_000, 45_000, 45_000],
  );
});

test('the judgement of a process that died is made by another, and stored once', async (t) => {
  const mesh = await evaluationMesh(t, { EVALUATION_LEASE_MS: '2000' });
  const asked = createGate();
  const late = createGate();
  mesh.answers.unshift(async (request, context) => {
    asked.open();
    await late.pass();
    return answering({ ...modelJudgement, score: 1 })(request, context);
  });
  await mesh.deliver(sessionEnded());
  await asked.pass();
  const other = await mesh.replica();
  await mesh.kill();
  t.like(await mesh.evaluationOf(), modelJudgement);
  late.open();
  await mesh.stop();
  await other.deliver(sessionEnded());
  await eventually('no job is left', async () => (await mesh.counts()).jobs === 0);
  t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
  t.is((await mesh.find())?.score, modelJudgement.score);
});

test('a process that stops hands its judgement over', async (t) => {
  const mesh = await evaluationMesh(t);
  const asked = createGate();
  let cancelled = false;
  mesh.answers.unshift((_request, { signal }) => {
    signal.addEventListener('abort', () => {
      cancelled = true;
    });
    asked.open();
    return new Promise(() => undefined);
  });
  await mesh.deliver(sessionEnded());
  await asked.pass();
  await mesh.stop();
  t.true(cancelled, 'the model is not kept busy for nothing');
  await mesh.replica();
  t.like(await mesh.evaluationOf(), modelJudgement);
});

test("another tenant's evaluation is not found, nor one of a session that is none", async (t) => {
  const mesh = await evaluationMesh(t);
  await mesh.deliver(sessionEnded());
  await mesh.evaluationOf();
  t.is(await mesh.find(1, 2), undefined);
  for (const sessionId of [2, 0, -1, 2_147_483_647]) t.is(await mesh.find(sessionId), undefined);
});

test('the schema that the unit makes when it starts keeps the walls between tenants', async (t) => {
  const { database } = await evaluationMesh(t, {}, { migrated: false });
  const url = await testDatabaseUrl();
  t.deepEqual(await catalogueViolations({ url, schema: evaluationSchema, schemaName: database.schemaName }), []);
});
