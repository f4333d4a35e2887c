import { randomUUID } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { extractText, getDocumentProxy } from 'unpdf';
import type { Client } from '../src/client.ts';
import { createAgent, follow, startSession } from '../src/conversation.ts';
import { browserOf, documents, repliesOf, sdkStart } from '../src/embed.ts';
import { judgement } from '../src/scripted-model.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

interface ExportRecord {
  id: number;
  kind: string;
  status: string;
  downloadUrl: string | null;
  errorMessage: string | null;
  fileSizeBytes: number | null;
}

const fields = 'id kind status downloadUrl errorMessage fileSizeBytes createdAt updatedAt';
const ask = `mutation ($sessionId: Int) { requestStudyKitExport(sessionId: $sessionId) { ${fields} } }`;
const read = `query ($id: Int!) { exportRecord(id: $id) { ${fields} } }`;

function ready(client: Client, id: number): Promise<ExportRecord> {
  return eventually(
    `export ${id} is there`,
    async () => {
      const found = await client.value<ExportRecord>(read, { id });
      if (found.status === 'FAILED') throw new Error(found.errorMessage ?? 'FAILED');
      return found.status === 'READY' && found;
    },
    { timeoutMs: 60_000 },
  );
}

async function download(url: string | null): Promise<Uint8Array> {
  const response = await fetch(url ?? '');
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function textOf(pdf: Uint8Array): Promise<string> {
  const { text } = await extractText(await getDocumentProxy(pdf.slice()), { mergePages: true });
  return text.replaceAll(/\s/gu, '');
}

story.each('a study kit can be downloaded with the token of its session, and by the tenant', async (t, mesh) => {
  const ada = await mesh.person();
  const agentId = await createAgent(ada, { name: 'Ms. Rivera', openingGreeting: 'Greet them for me.' });
  mesh.model.answer('Greet them for me.', { text: ['Good ', 'morning!'] });
  mesh.model.answer('什么是变量？', { text: 'A variable stands for a number that is not known yet. #eval("1")' });
  const server = await ada.withApiKey();
  const { sessionId, avatarToken } = await sdkStart(server, { agentId });
  const browser = browserOf(server, avatarToken);
  const events = follow(t, browser, sessionId);
  await browser.value(documents.send, { input: { sessionId, text: '什么是变量？' } });
  await repliesOf(events, 2);
  await browser.value(documents.end, { input: { sessionId } });

  const asked = await browser.value<ExportRecord>(ask);
  t.like(asked, { kind: 'STUDY_KIT', status: 'PENDING', downloadUrl: null, errorMessage: null, fileSizeBytes: null });
  const record = await ready(browser, asked.id);
  const pdf = await download(record.downloadUrl);
  t.is(record.fileSizeBytes, pdf.length);
  const text = await textOf(pdf);
  for (const each of ['Ms.Rivera', 'Goodmorning!', '什么是变量？', '#eval("1")', `${judgement.score}of100`])
    t.true(text.includes(each), each);
  const theirs = await ada.value<ExportRecord>(read, { id: asked.id });
  t.deepEqual(await download(theirs.downloadUrl), pdf);

  const again = await ready(browser, (await browser.value<ExportRecord>(ask, { sessionId })).id);
  t.not(again.id, asked.id);
  t.deepEqual(await download(again.downloadUrl), pdf, 'the same content, the same bytes');
});

story('an export is visible only to its session and its tenant', async (t, mesh) => {
  const [ada, eve] = await Promise.all([mesh.person(), mesh.person()]);
  const agentId = await createAgent(ada);
  const server = await ada.withApiKey();
  const [mine, other] = await Promise.all([sdkStart(server, { agentId }), sdkStart(server, { agentId })]);
  const foreign = await sdkStart(await eve.withApiKey(), { personaPrompt: 'You are Eve.' });
  const browser = browserOf(server, mine.avatarToken);
  const { id } = await browser.value<ExportRecord>(ask, { sessionId: mine.sessionId });
  const notFound = { message: `Export ${id} not found`, extensions: { code: 'NOT_FOUND', statusCode: 404 } };
  for (const stranger of [browserOf(server, other.avatarToken), browserOf(server, foreign.avatarToken), eve])
    t.like(await stranger.refusal(read, { id }), notFound);
  t.is((await ada.value<ExportRecord>(read, { id })).id, id);
  for (const sessionId of [other.sessionId, foreign.sessionId, 0, -1, 2_147_483_647])
    t.like(await browser.refusal(ask, { sessionId }), { extensions: { code: 'FORBIDDEN', statusCode: 403 } });
  for (const client of [ada, server, mesh.visitor()])
    t.like(await client.refusal(ask), { extensions: { code: 'UNAUTHENTICATED' } });
  for (const client of [server, mesh.visitor()])
    t.like(await client.refusal(read, { id }), { extensions: { code: 'UNAUTHENTICATED' } });
  for (const absent of [0, -1, 2_147_483_647])
    t.like(await ada.refusal(read, { id: absent }), { extensions: { code: 'NOT_FOUND' } });
});

story('a retry with its Idempotency-Key gets the same export, and a flood of requests is refused', async (t, mesh) => {
  const ada = await mesh.person();
  const server = await ada.withApiKey();
  const { avatarToken } = await sdkStart(server, { agentId: await createAgent(ada) });
  const browser = browserOf(server, avatarToken);
  const headers = { 'idempotency-key': randomUUID() };
  const first = await browser.send(ask, {}, headers);
  const retried = await browser.send(ask, {}, headers);
  t.truthy(first.data);
  t.deepEqual(retried.data, first.data);
  const answers = await Promise.all(Array.from({ length: 60 }, () => browser.send(ask)));
  const refused = answers.flatMap(({ errors = [] }) => errors);
  t.true(refused.length > 0);
  for (const error of refused)
    t.like(error, { extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429, reason: 'TOO_MANY_EXPORTS' } });
});

story('a dashboard session has no session token and therefore no study kit', async (t, mesh) => {
  const ada = await mesh.person();
  const { id } = await startSession(ada, await createAgent(ada));
  t.like(await ada.refusal(ask, { sessionId: id }), { extensions: { code: 'UNAUTHENTICATED' } });
});
