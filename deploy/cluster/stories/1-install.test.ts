// Tests the main functions of an installation, and that the doctor finds no problem in it.
import type { Client } from '@parley/stories/client';
import { createAgent, endSession, findEvaluation, sendMessage, startSession } from '@parley/stories/conversation';
import { browserOf, documents, repliesOf, sdkStart } from '@parley/stories/embed';
import { createKnowledgeBase, findPassages, parsedDocument, uploadFile } from '@parley/stories/knowledge';
import { eventually } from '@parley/testing/eventually';
import { clusterStory } from './support/cluster-story.ts';

const patient = { timeoutMs: 120_000 };
const timed = async <T>(work: () => Promise<T>) => {
  const begun = performance.now();
  return [await work(), `${((performance.now() - begun) / 1000).toFixed(1)} s`] as const;
};

clusterStory(
  'the small example runs in a namespace that enforces Pod Security restricted',
  3,
  async (t, { kubectl, installed }) => {
    const { metadata } = await kubectl.get<{ metadata: { labels: Record<string, string> } }>(
      'namespace',
      kubectl.namespace,
    );
    t.is(metadata.labels['pod-security.kubernetes.io/enforce'], 'restricted');
    const pods = await kubectl.pods();
    t.true(pods.length > 0);
    t.deepEqual(
      pods
        .filter(({ status }) => status.containerStatuses?.some(({ restartCount }) => restartCount > 0))
        .map(({ metadata: { name } }) => name),
      [],
      'no pod was restarted',
    );
    const { hooks, ready } = installed.seconds;
    t.log(`hooks ended after ${hooks} s, all ${pods.length} pods were ready after ${ready} s`);
  },
);

clusterStory('a conversation, an upload, an evaluation and a study kit', 6, async (t, cluster) => {
  const ada = await cluster.person();
  const base = await createKnowledgeBase(ada);
  const [document, parsed] = await timed(async () => {
    const id = await uploadFile(ada, base, '# Harbour\n\nThe harbour opens at nine and closes at five.');
    return parsedDocument(ada, id, patient.timeoutMs);
  });
  t.is(document.parseStatus, 'READY', document.parseError ?? '');
  const found = await eventually(
    'its passages',
    async () => (await findPassages(ada, base, 'When does the harbour open?'))[0],
    patient,
  );
  t.is(found.documentId, document.id);

  const { id } = await startSession(ada, await createAgent(ada, { knowledgeBaseIds: [base] }));
  const events = ada.subscribe(id, { after: '0', timeoutMs: patient.timeoutMs });
  t.teardown(() => events.close());
  await events.opened();
  const [[reply], answered] = await timed(async () => {
    await sendMessage(ada, id, 'When does the harbour open?');
    return events.turns(1);
  });
  t.is(reply?.__typename, 'AiResponseEvent');
  t.true(events.chunks.length > 1, 'it was streamed');
  await endSession(ada, id);
  const [evaluation, judged] = await timed(() => eventually('the evaluation', () => findEvaluation(ada, id), patient));
  t.truthy(evaluation.summary);

  const server = await ada.withApiKey();
  const embedded = await sdkStart(server, { agentId: await createAgent(ada) });
  const browser = browserOf(server, embedded.avatarToken);
  const shown = browser.subscribe(embedded.sessionId, { after: '0', timeoutMs: patient.timeoutMs });
  t.teardown(() => shown.close());
  await browser.value(documents.send, { input: { sessionId: embedded.sessionId, text: 'What is a study kit?' } });
  await repliesOf(shown, 1);
  await browser.value(documents.end, { input: { sessionId: embedded.sessionId } });
  const [pdf, exported] = await timed(() => studyKit(browser));
  t.is(Buffer.from(pdf.slice(0, 5)).toString(), '%PDF-');
  t.log(`reply ${answered}, document ${parsed}, evaluation ${judged}, study kit ${exported}`);
});

async function studyKit(client: Client): Promise<Uint8Array> {
  const ask = 'mutation { requestStudyKitExport { id } }';
  const read = 'query ($id: Int!) { exportRecord(id: $id) { status downloadUrl errorMessage } }';
  const { id } = await client.value<{ id: number }>(ask);
  const { downloadUrl } = await eventually(
    'the study kit',
    async () => {
      const found = await client.value<{ status: string; downloadUrl: string; errorMessage: string | null }>(read, {
        id,
      });
      if (found.status === 'FAILED') throw new Error(found.errorMessage ?? 'FAILED');
      return found.status === 'READY' && found;
    },
    patient,
  );
  const response = await fetch(downloadUrl);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

clusterStory('helm test finds nothing wrong, and nothing that needs a look', 5, async (t, { helm }) => {
  const [report, took] = await timed(() => helm('test', 'parley', '--logs', '--timeout', '4m'));
  t.regex(report, /Phase:\s+Succeeded/u);
  const [summary] = /^\d+ wrong, .*$/mu.exec(report) ?? [];
  t.log(`doctor took ${took}: ${summary}`);
  t.regex(summary ?? report, /^0 wrong, 0 to look at,/u, report);
});
