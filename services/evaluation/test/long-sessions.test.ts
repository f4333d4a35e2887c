import { eventually } from '@parley/testing/eventually';
import { strictTokenBound, usualTokenBound } from '@parley/text/token-bound';
import test from 'ava';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';
import { type Answer, answering, conversation, failing, interviewer, modelJudgement } from './stub-services.ts';

const tooLong = failing('invalid', 'The request is longer than the model takes', { reason: 'CONTEXT_TOO_LONG' });
const lines = (count: number, text = 'with some words that say little') =>
  conversation(...Array.from({ length: count }, (_, at) => `${at % 2 ? 'USER' : 'MODEL'}: Message ${at} ${text}`));

test("a request fits the model's context, and the summary says that the conversation was shortened", async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.script.messagesPerPart = 500;
  mesh.script.model = { ...mesh.model, contextTokens: 8_000, maxOutputTokens: 1_000 };
  mesh.transcripts.set(1, lines(10_000));
  await mesh.deliver(sessionEnded());
  const { summary, score, strengths } = await mesh.evaluationOf();
  t.regex(
    summary,
    /^Judged from a shortened conversation, since the whole is longer than the model takes: \d+ of 10000 messages were shown to it\. Knew how/,
  );
  t.deepEqual({ score, strengths }, { score: modelJudgement.score, strengths: modelJudgement.strengths });
  const [asked] = mesh.asked;
  const size = usualTokenBound(`${asked?.system}${asked?.prompt}${asked?.jsonSchemaJson}`);
  t.is(mesh.asked.length, 1);
  t.is(asked?.maxOutputTokens, 1_000);
  t.true(size <= 7_000 && size > 5_000, `${size}`);
  t.true(asked?.prompt.includes('Message 9999 '));
});

test('a conversation that fits is judged whole, without a note', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.transcripts.set(1, lines(100));
  await mesh.deliver(sessionEnded());
  t.is((await mesh.evaluationOf()).summary, modelJudgement.summary);
  t.is(mesh.asked[0]?.prompt.match(/"turnIndex"/g)?.length, 100);
});

test('a prompt that the model refuses as too long is shortened until it is accepted', async (t) => {
  const mesh = await evaluationMesh(t);
  const limit = 1_500;
  const strictModel: Answer = (request, context) =>
    strictTokenBound(request.system + request.prompt) > limit
      ? tooLong(request, context)
      : answering(modelJudgement)(request, context);
  mesh.answers.splice(0, 1, strictModel);
  mesh.script.messagesPerPart = 100;
  mesh.transcripts.set(1, lines(1_000));
  await mesh.deliver(sessionEnded());
  t.regex((await mesh.evaluationOf()).summary, /^Judged from a shortened conversation/);
  const sizes = mesh.asked.map(({ system, prompt }) => strictTokenBound(system + prompt));
  t.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  );
  t.true(sizes.length > 2 && (sizes.at(-1) ?? 0) <= limit, `${sizes}`);
  t.is(new Set(mesh.asked.map(({ callId }) => callId)).size, mesh.asked.length);
});

test('if the model refuses every prompt, the offline judge judges and says so', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.splice(0, 1, tooLong);
  mesh.transcripts.set(2, lines(1_000));
  mesh.script.messagesPerPart = 100;
  await mesh.deliver(sessionEnded(1), sessionEnded(2));
  for (const id of [1, 2]) {
    const { summary } = await mesh.evaluationOf(id);
    t.regex(summary, /^Judged offline.*did not take the conversation, however much it was shortened/);
  }
  t.true(mesh.asked.length <= 10, `${mesh.asked.length}`);
});

test("a message longer than the model's context is truncated", async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.script.model = { ...mesh.model, contextTokens: 4_000 };
  mesh.transcripts.set(1, conversation('MODEL: Tell me all.', `USER: ${'All of it. '.repeat(5_000)}`));
  await mesh.deliver(sessionEnded());
  const { summary, transcriptJson } = await mesh.evaluationOf();
  t.regex(summary, /: 2 of 2 messages were shown to it, 1 of them in part\. Knew/);
  t.is((JSON.parse(transcriptJson) as { text: string }[])[1]?.text.length, 55_000, 'the stored transcript is whole');
});

test('a summary of maximum length and the note fit the contract', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.answers.splice(0, 1, answering({ ...modelJudgement, summary: 'x'.repeat(7_700) }));
  mesh.script.model = { ...mesh.model, contextTokens: 4_000 };
  mesh.transcripts.set(1, lines(2_000));
  mesh.script.messagesPerPart = 2_000;
  await mesh.deliver(sessionEnded());
  const { summary } = await mesh.evaluationOf();
  t.true(summary.length > 7_800 && summary.length <= 8_000, `${summary.length}`);
});

test('a long transcript is stored in parts, and read whole or not at all', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.script.messagesPerPart = 10;
  const said = lines(60, 'Grüße "quoted" 🦜 '.repeat(3_000));
  mesh.transcripts.set(1, said);
  mesh.agents.set(5, { ...interviewer, subject: '' });
  await mesh.deliver(sessionEnded());
  const { transcriptJson, transcriptBytes } = await mesh.evaluationOf();
  t.deepEqual(
    (JSON.parse(transcriptJson) as { text: string; turnIndex: number }[]).map(({ text, turnIndex }) => ({
      text,
      turnIndex,
    })),
    said.map(({ text, turnIndex }) => ({ text, turnIndex })),
  );
  t.is(transcriptBytes, BigInt(Buffer.byteLength(transcriptJson)));
  const parts = await mesh.database.transact(1, ({ knex }) => knex('transcript_parts').where({ session_id: 1 }));
  t.true(parts.length > 2 && parts.every(({ lines: json }) => json.length <= 1_000_000), `${parts.length}`);

  t.like(await mesh.find(1, 1, transcriptBytes), { transcriptJson, transcriptBytes });
  t.like(await mesh.find(1, 1, transcriptBytes - 1n), { transcriptJson: '', transcriptBytes });
  t.like(await mesh.find(1, 1, 0n), { transcriptJson: '', transcriptBytes: 0n, score: modelJudgement.score });
  t.is(await mesh.find(1, 2), undefined);
});

test('a short transcript above the limit is not returned either', async (t) => {
  const mesh = await evaluationMesh(t);
  await mesh.deliver(sessionEnded());
  const { transcriptJson, transcriptBytes } = await mesh.evaluationOf();
  t.is(transcriptBytes, BigInt(Buffer.byteLength(transcriptJson)));
  t.like(await mesh.find(1, 1, transcriptBytes), { transcriptJson });
  t.like(await mesh.find(1, 1, transcriptBytes - 1n), { transcriptJson: '', transcriptBytes });
  t.like(await mesh.find(1, 1, 0n), { transcriptJson: '', transcriptBytes: 0n });
});

test('a retried judgement stores a long transcript once', async (t) => {
  const mesh = await evaluationMesh(t);
  mesh.script.messagesPerPart = 10;
  const said = lines(40, 'word '.repeat(10_000));
  mesh.transcripts.set(1, said);
  mesh.answers.unshift(failing('unavailable', 'shutting down')); // the first attempt fails after the whole transcript was stored
  await mesh.deliver(sessionEnded());
  const { transcriptJson } = await mesh.evaluationOf();
  t.is((JSON.parse(transcriptJson) as unknown[]).length, 40);
  await eventually('no job is left', async () => (await mesh.counts()).jobs === 0);
  t.deepEqual(await mesh.counts(), { evaluations: 1, jobs: 0 });
});
