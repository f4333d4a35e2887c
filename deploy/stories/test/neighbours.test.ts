import test from 'ava';
import type { Client } from '../src/client.ts';
import { converse, sendMessage } from '../src/conversation.ts';
import { createKnowledgeBase, findPassages, ingestText, parsedDocument, uploadFile } from '../src/knowledge.ts';
import { stories } from '../src/stories.ts';

// The connections of a real database are shared fairly. The embedded database runs one transaction at a time, in order of arrival.
const story = stories(test, { on: 'processes' });

const ingest = 'mutation ($input: IngestDocumentInput!) { ingestDocument(input: $input) }';
const longText = Array.from({ length: 40_000 }, (_, n) => `word${n}`).join(' ');

/** Starts many concurrent requests of one tenant: searches, storing of texts, and uploads. */
async function startFlood(client: Client) {
  const knowledgeBaseId = await createKnowledgeBase(client);
  await ingestText(client, knowledgeBaseId, longText.slice(0, 100_000));
  const leaving = new AbortController();
  let waiting = 0;
  const under = <T>(work: Promise<T>) => {
    waiting += 1;
    return work.catch(() => undefined).finally(() => (waiting -= 1));
  };
  const search = (n: number) => {
    const query = `query ($id: Int!, $query: String!) { retrieveChunks(knowledgeBaseId: $id, query: $query, topK: 20, mode: HYBRID) { score } }`;
    return client.send(query, { id: knowledgeBaseId, query: longText.slice(n, 9_000) }, {}, leaving.signal);
  };
  const store = (n: number) => {
    const input = { knowledgeBaseId, fileName: `${n}.txt`, text: longText.slice(n, 300_000) };
    return client.send(ingest, { input }, {}, leaving.signal);
  };
  const all = [
    ...Array.from({ length: 20 }, (_, n) => under(store(n))),
    ...Array.from({ length: 40 }, (_, n) => under(search(n))),
    ...Array.from({ length: 4 }, (_, n) => under(uploadFile(client, knowledgeBaseId, longText.slice(n)))),
  ];
  return {
    /** Returns the number of requests that have no response yet. */
    waiting: () => waiting,
    async leave(): Promise<void> {
      leaving.abort();
      await Promise.all(all);
    },
  };
}

story('a flood of searches, texts and uploads by one tenant does not delay those of another', async (t, mesh) => {
  const [busy, other] = [await mesh.person(), await mesh.person()];
  const base = await createKnowledgeBase(other);
  await ingestText(other, base, 'Lamps can be returned within 30 days of the purchase, in their original box.');
  const { sessionId, events } = await converse(t, other, { knowledgeBaseIds: [base] });

  const flood = await startFlood(busy);
  const asked = flood.waiting();
  for (let n = 0; n < 10; n += 1) {
    t.is((await other.value<unknown[]>('{ knowledgeBases { id } }')).length, 1);
    t.is((await findPassages(other, base, `How can lamps be returned, ${n}?`))[0]?.documentName, 'returns.md');
  }
  await ingestText(other, base, 'Broken switches are replaced free of charge.', 'repairs.md');
  const uploaded = await uploadFile(other, base, 'The workshop is on Harbour Street.');
  t.is((await parsedDocument(other, uploaded)).parseStatus, 'READY');
  await sendMessage(other, sessionId, 'Within how many days can lamps be returned?');
  const [reply] = await events.turns(1);
  t.is(reply?.__typename, 'AiResponseEvent');
  if (reply?.__typename === 'AiResponseEvent') t.is(reply.message.citations?.[0]?.documentName, 'returns.md');
  t.log(`${flood.waiting()} of ${asked} requests of the flood had no answer yet`);
  t.true(flood.waiting() > 0, 'the flood goes on');
  await flood.leave();
});
