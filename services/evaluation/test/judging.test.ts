import { EvaluationCompleted } from '@parley/protos/parley/evaluation/v1/events';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import {
  answering,
  conversation,
  failing,
  interviewer,
  modelJudgement,
  offlineOnly,
  shortConversation,
} from './stub-services.ts';

test('an ended session is judged by the model, and judgement and transcript are stored', async (t) => {
  const { deliver, evaluationOf, asked } = await evaluationMesh(t);
  await deliver(sessionEnded());
  const evaluation = await evaluationOf();
  t.like(evaluation, { sessionId: 1, ...modelJudgement });
  t.deepEqual(JSON.parse(evaluation.transcriptJson), [
    { role: 'MODEL', text: 'What is an index?', turnIndex: 0, createdAt: '2026-01-02T03:04:05.678Z' },
    {
      role: 'USER',
      text: 'A structure that makes lookups fast in databases',
      turnIndex: 1,
      createdAt: '2026-01-02T03:04:05.678Z',
    },
  ]);
  for (const time of [evaluation.generatedAt, evaluation.createdAt, evaluation.updatedAt]) {
    t.true(Math.abs((time?.getTime() ?? 0) - Date.now()) < 60_000);
  }
  t.is(asked.length, 1);
  t.like(asked[0], { agentId: 5, sessionId: 1, operation: 'evaluation' });
  t.regex(asked[0]?.system ?? '', /Ivy.*Recruiter.*Databases.*INTERVIEW[\s\S]*STRONG_HIRE, HIRE, HOLD, NO_HIRE/);
  t.regex(asked[0]?.prompt ?? '', /A structure that makes lookups fast/);
  t.deepEqual(JSON.parse(asked[0]?.jsonSchemaJson ?? '').properties.recommendation.enum, [
    'STRONG_HIRE',
    'HIRE',
    'HOLD',
    'NO_HIRE',
  ]);
});

test('an event delivered repeatedly and concurrently makes one job and one evaluation', async (t) => {
  const { deliver, replica, evaluationOf, counts, asked } = await evaluationMesh(t);
  const other = await replica();
  const event = sessionEnded();
  await Promise.all(Array.from({ length: 5 }, () => [deliver(event), other.deliver(event)]).flat());
  await evaluationOf();
  await deliver(event, event);
  await other.deliver(event);
  await eventually('no job is left', async () => (await counts()).jobs === 0);
  t.deepEqual(await counts(), { evaluations: 1, jobs: 0 });
  t.is(asked.length, 1);
});

test('two end events of a session make one evaluation', async (t) => {
  const { deliver, replica, evaluationOf, counts, asked } = await evaluationMesh(t);
  const other = await replica();
  await Promise.all([deliver(sessionEnded(), sessionEnded()), other.deliver(sessionEnded(), sessionEnded())]);
  await evaluationOf();
  await eventually('no job is left', async () => (await counts()).jobs === 0);
  t.deepEqual(await counts(), { evaluations: 1, jobs: 0 });
  t.is(asked.length, 1);
});

test('a stored evaluation is published once, even if the end of its session is announced several times', async (t) => {
  const { deliver, replica, published, evaluationOf, counts } = await evaluationMesh(t);
  const other = await replica();
  await Promise.all([deliver(sessionEnded(), sessionEnded()), other.deliver(sessionEnded())]);
  await evaluationOf();
  await eventually('no job is left', async () => (await counts()).jobs === 0);
  await eventually('the event is published', () => published.length > 0);
  await deliver(sessionEnded());
  await eventually('no job is left', async () => (await counts()).jobs === 0);
  t.is(new Set(published.map(({ id }) => id)).size, 1);
  const [event] = published;
  t.like(event, { topic: 'evaluation-completed', type: 'evaluation.completed.v1', key: '1', tenantId: 1 });
  t.deepEqual(EvaluationCompleted.decode(event?.data ?? new Uint8Array()), { sessionId: 1, agentId: 5 });
});

test('after an invalid answer the model is asked again, with a new call id', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.unshift(answering('I would say 87.'), answering({ ...modelJudgement, score: 101 }));
  await mesh.deliver(sessionEnded());
  t.like(await mesh.evaluationOf(), modelJudgement);
  t.is(mesh.asked.length, 3);
  t.is(new Set(mesh.asked.map(({ callId }) => callId)).size, 3);
});

test('after three invalid answers the offline judge is used', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.splice(0, 1, answering({ ...modelJudgement, recommendation: 'PROMOTE' }));
  await mesh.deliver(sessionEnded());
  const { summary, recommendation } = await mesh.evaluationOf();
  t.regex(summary, /^Judged offline/);
  t.true(['STRONG_HIRE', 'HIRE', 'HOLD', 'NO_HIRE'].includes(recommendation));
  t.is(mesh.asked.length, 3);
});

test('at the spend cap the offline judge says so', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.splice(0, 1, failing('invalid', 'Monthly LLM spend cap reached', { reason: 'SPEND_CAP_REACHED' }));
  await mesh.deliver(sessionEnded());
  t.regex(
    (await mesh.evaluationOf()).summary,
    /The monthly spend cap was reached, so a language model could not be asked\./,
  );
});

test('without a model, or if it fails, the offline judge judges at once', async (t) => {
  const answers = {
    offline: offlineOnly,
    unavailable: failing('unavailable', 'No model answers', { reason: 'MODEL_UNAVAILABLE' }),
    internal: failing('internal', 'The model failed', { reason: 'MODEL_FAILED' }),
    bug: () => Promise.reject(new TypeError('a mistake')),
  };
  for (const [name, answer] of Object.entries(answers)) {
    const mesh = await evaluationMesh(t);
    mesh.answers.splice(0, 1, answer);
    await mesh.deliver(sessionEnded());
    t.regex((await mesh.evaluationOf()).summary, /^Judged offline/, name);
    t.is(mesh.asked.length, 1, name);
  }
});

test('a conversation without a message of the person is judged without a model', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.transcripts.set(1, conversation('MODEL: Hello, shall we begin?'));
  mesh.transcripts.set(2, []);
  await mesh.deliver(sessionEnded(1), sessionEnded(2));
  t.like(await mesh.evaluationOf(1), {
    score: 0,
    weaknesses: ['Said nothing'],
  });
  t.like(await mesh.evaluationOf(2), { score: 0, weaknesses: ['Said nothing'], transcriptJson: '[]' });
  t.is(mesh.asked.length, 0);
});

test("the recommendation is one of the agent's labels, else of its use case's, and empty for an empty list", async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.splice(0, 1, offlineOnly);
  mesh.agents.set(6, { ...interviewer, id: 6, evaluationRecommendationLabels: { labels: ['Ja', 'Nein'] } });
  mesh.agents.set(7, { ...interviewer, id: 7, evaluationRecommendationLabels: { labels: [] } });
  mesh.agents.set(8, { ...interviewer, id: 8, useCase: 'EDUCATION' });
  for (const id of [6, 7, 8]) mesh.transcripts.set(id, shortConversation);
  await mesh.deliver(...[6, 7, 8].map((id) => sessionEnded(id, { agentId: id })));
  t.true(['Ja', 'Nein'].includes((await mesh.evaluationOf(6)).recommendation));
  t.is((await mesh.evaluationOf(7)).recommendation, '');
  t.true(['MASTERED', 'ON_TRACK', 'NEEDS_SUPPORT'].includes((await mesh.evaluationOf(8)).recommendation));
  t.regex(mesh.asked.find(({ agentId }) => agentId === 7)?.system ?? '', /an empty string/);
});

test("the agent's template replaces the default instructions, unless it fails", async (t) => {
  const mesh = await evaluationMesh(t);
  const templates = {
    6: 'Judge {{ agent.name }} on {{ labels | join: "/" }}: {{ transcript.size }} lines, {{ transcript[1].text }}',
    7: 'Judge {{ agent.name | no_such_filter }}',
    8: '{% for i in (1..100000000) %}{{ i }}{% endfor %}',
    9: '{% render "package.json" %}',
    10: '{% assign a = "" | split: "" %}{% for i in (1..30) %}{% assign a = a | push: a | push: a %}{% endfor %}{{ a }}',
  };
  for (const [id, evaluationPromptTemplate] of Object.entries(templates)) {
    mesh.agents.set(Number(id), { ...interviewer, id: Number(id), evaluationPromptTemplate });
    mesh.transcripts.set(Number(id), shortConversation);
    await mesh.deliver(sessionEnded(Number(id), { agentId: Number(id) }));
    t.like(await mesh.evaluationOf(Number(id)), modelJudgement);
  }
  const systemOf = (id: number) => mesh.asked.find(({ agentId }) => agentId === id)?.system ?? '';
  t.regex(
    systemOf(6),
    /^Judge Ivy on STRONG_HIRE\/HIRE\/HOLD\/NO_HIRE: 2 lines, A structure that[^\n]+\n\nAnswer with one/,
  );
  for (const id of [7, 8, 9, 10]) t.regex(systemOf(id), /^You evaluate a finished conversation/, `agent ${id}`);
  t.notRegex(systemOf(9), /@parley/);
});

test('sessions of a deleted agent are judged', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.agents.set(5, { ...interviewer, deleted: true, active: false });
  await mesh.deliver(sessionEnded());
  t.like(await mesh.evaluationOf(), modelJudgement);
});

test('unusual characters in a conversation or judgement do not prevent storing it', async (t) => {
  const unusualTexts = [
    'NUL \0 here',
    "'; drop table evaluations; --",
    '🦜'.repeat(1_000),
    '\u202e\ufeff\uffff',
    '\\u0000 \\ud800',
    '{{ 7 | times: 7 }}',
  ];
  const mesh = await evaluationMesh(t);
  mesh.transcripts.set(1, conversation(...unusualTexts.map((text, i) => `${i % 2 ? 'USER' : 'MODEL'}: ${text}`)));
  mesh.answers.splice(
    0,
    1,
    ...[
      `{"score":1,"summary":"half \\ud800","strengths":[],"weaknesses":[],"recommendation":"HIRE"}`,
      `{"score":1,"summary":"nul \\u0000","strengths":[],"weaknesses":[],"recommendation":"HIRE"}`,
      { ...modelJudgement, summary: '\\u0000 and \\ud800 spelled out, 🦜', strengths: unusualTexts.slice(1, 2) },
    ].map(answering),
  );
  await mesh.deliver(sessionEnded());
  const { transcriptJson, summary, strengths } = await mesh.evaluationOf();
  t.is(mesh.asked.length, 3, 'what cannot be stored does not fit');
  t.is(summary, '\\u0000 and \\ud800 spelled out, 🦜');
  t.deepEqual(strengths, unusualTexts.slice(1, 2));
  const texts = (JSON.parse(transcriptJson) as { text: string }[]).map(({ text }) => text);
  t.deepEqual(texts, ['NUL \uFFFD here', ...unusualTexts.slice(1)]);

  mesh.transcripts.set(2, mesh.transcripts.get(1) ?? []);
  mesh.answers.push(offlineOnly);
  await mesh.deliver(sessionEnded(2));
  t.regex((await mesh.evaluationOf(2)).summary, /^Judged offline/);
});
