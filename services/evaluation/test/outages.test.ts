import { catalogueViolations } from '@parley/postgres/database/catalogue';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { testDatabaseUrl } from '@parley/testing/test-database';
import test from 'ava';
import { evaluationSchema } from '../src/evaluation-schema.ts';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import { answering, failing, modelJudgement } from './stub-services.ts';

for (const name of ['session', 'agent'] as const) {
  test(`a judgement waits while the ${name} service is unavailable`, async (t) => {
    const mesh = await evaluationMesh(t);
    const restart = await mesh.stopService(name);
    await mesh.deliver(sessionEnded());
    await eventually('it was attempted', async () => {
      const { rows } = await mesh.database.transactShared(({ knex }) => knex.raw('select attempt from jobs'));
      return rows[0]?.attempt > 1;
    });
    t.is(await mesh.find(), undefined);
    await restart();
    t.like(await mesh.evaluationOf(), modelJudgement);
    await eventually('no job is left', async () => (await mesh.counts()).jobs === 0);
    t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
  });
}

test('a request that fails because the agent service stops is sent again', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.unshift(failing('unavailable', 'shutting down'));
  await mesh.deliver(sessionEnded());
  t.like(await mesh.evaluationOf(), modelJudgement);
  t.is(mesh.asked.length, 2);
});

test('after three timeouts of the model the offline judge judges', async (t) => {
  const mesh = await evaluationMesh(t, { EVALUATION_JUDGE_TIMEOUT_MS: '600' });
  const cancelled: string[] = [];
  mesh.answers.splice(0, 1, (request, { signal }) => {
    signal.addEventListener('abort', () => cancelled.push(request.callId));
    return new Promise(() => undefined);
  });
  await mesh.deliver(sessionEnded());
  t.regex((await mesh.evaluationOf()).summary, /^Judged offline/);
  t.is(mesh.asked.length, 3);
  await eventually('each request was cancelled', () => cancelled.length === 3);
});

test('a judgement waits for a busy model without a limit of attempts', async (t) => {
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

test('the judgement of a dead process is made by another and stored once', async (t) => {
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

test('a process that stops hands its judgement over to another', async (t) => {
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
  t.true(cancelled, 'the request to the model is cancelled');
  await mesh.replica();
  t.like(await mesh.evaluationOf(), modelJudgement);
});

test('evaluations of another tenant and of absent sessions are not found', async (t) => {
  const mesh = await evaluationMesh(t);
  await mesh.deliver(sessionEnded());
  await mesh.evaluationOf();
  t.is(await mesh.find(1, 2), undefined);
  for (const sessionId of [2, 0, -1, 2_147_483_647]) t.is(await mesh.find(sessionId), undefined);
});

test('the schema that the unit migrates at start isolates tenants', async (t) => {
  const { database } = await evaluationMesh(t, {}, { migrated: false });
  const url = await testDatabaseUrl();
  t.deepEqual(await catalogueViolations({ url, schema: evaluationSchema, schemaName: database.schemaName }), []);
});
