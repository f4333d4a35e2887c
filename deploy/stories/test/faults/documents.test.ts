// Kills knowledge and parser, and changes the embedding model for all later tests. At full length, this file has its own mesh.
import { identitySchema } from '@parley/identity/schema';
import { knowledgeSchema } from '@parley/knowledge/schema';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../../src/client.ts';
import { idsOf } from '../../src/credentials.ts';
import {
  createKnowledgeBase,
  findPassages,
  ingestText,
  parsedDocument,
  readKnowledgeDocument,
  uploadFile,
} from '../../src/knowledge.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';

const shared = sharedFaultMesh(test);
const goalMs = 120_000;
const nextModel = 'text-embedding-3-large';

/** Returns a text about a topic, long enough for several chunks. */
const textAbout = (what: string) =>
  Array.from(
    { length: 4 },
    (_, n) => `# Part ${n} of ${what}\n\n${`Part ${n} is all about ${what}. `.repeat(40)}`,
  ).join('\n\n');

/** Creates a knowledge base with one text, and returns functions that read its rows. */
async function library({ person, database }: FaultMesh) {
  const client = await person();
  const { tenantId } = await idsOf(client);
  const base = await createKnowledgeBase(client);
  const stored = (await ingestText(client, base, textAbout('lanterns'), 'lanterns.md')).id;
  return {
    client,
    base,
    stored,
    model: () =>
      database(knowledgeSchema.name).transact<string>(
        tenantId,
        async ({ knex }) => (await knex('knowledge_bases').where({ id: base }).first('embeddingModel')).embeddingModel,
      ),
    /** Returns calls in the ledger: `embedded` are the tenant's embeddings, `again` the re-embeddings, which the platform pays for. */
    calls: async () => {
      const of = (tenant: number, operation: string) =>
        database(identitySchema.name).transact<{ callId: string; tokensIn: number; leaseEnded: boolean }[]>(
          tenant,
          ({ knex }) => knex('usage_calls').where({ operation }).select('callId', 'tokensIn', 'leaseEnded'),
        );
      return { embedded: await of(tenantId, 'embed'), again: await of(0, 'reembed') }; // allow-name embed: the ledger's word
    },
  };
}

/**
 * Kills these processes. In the short form, also makes the leases of knowledge jobs expire, so that the test need not wait for it.
 * @returns a function that waits until the processes are back
 */
async function killed(mesh: FaultMesh, names: string[]): Promise<() => Promise<void>> {
  const deaths = await Promise.all(names.map((name) => mesh.kill(name)));
  // The leases are ended before the processes restart. A restarted process may already run a job; if the lease of this job were ended, the
  // job would run twice.
  if (!fullLength) await endLeases(mesh);
  return async () => void (await Promise.all(deaths.map(({ back }) => back())));
}

/** Makes the leases of all running knowledge jobs expire. */
async function endLeases({ database }: FaultMesh): Promise<void> {
  await database(knowledgeSchema.name).transactShared(async ({ knex }) => {
    await knex.raw(`UPDATE jobs SET lease_until = parley_now() WHERE state = 'running' AND kind LIKE 'knowledge.%'`);
  });
}

/** Asserts that a search finds each passage of these texts once. */
async function assertOnce(t: ExecutionContext, client: Client, base: number, texts: string[]): Promise<void> {
  for (const what of texts) {
    const found = (await findPassages(client, base, `all about ${what}`)).map(({ content }) => content);
    const parts = [0, 1, 2, 3].map((n) => found.filter((content) => content.includes(`Part ${n} of ${what}`)).length);
    t.deepEqual(parts, [1, 1, 1, 1], what);
  }
}

serverTest(
  meshEngines,
  'a kill -9 of knowledge and parser while documents are parsed and embedded anew loses and duplicates nothing',
  async (t) => {
    t.timeout(400_000);
    const mesh = await shared();
    const { client, base, stored, calls, model } = await library(mesh);
    const { embeddings } = mesh;
    const billed = (about: string) =>
      embeddings.requests.filter(({ input }) => input.some((text) => text.includes(about)));

    const indexing = embeddings.hold('shelves');
    const indexed = await uploadFile(client, base, textAbout('shelves'));
    await indexing.reached;
    const letPass = mesh.toObjects.hold();
    const parsed = await uploadFile(client, base, textAbout('curtains'));
    const isParsing = async () => (await readKnowledgeDocument(client, parsed)).parseStatus === 'PARSING';
    await eventually('it is parsed', isParsing);
    const back = await killed(mesh, ['knowledge-1', 'parser-1']);
    // The gate is opened before the restart, because a restarted parser becomes ready only when it reaches the object store, or after 30 s.
    indexing.open();
    letPass();
    await back();
    for (const id of [indexed, parsed])
      t.like(await parsedDocument(client, id, goalMs), { parseStatus: 'READY', parseError: null });
    t.deepEqual(await mesh.settled({ timeoutMs: goalMs }), []);
    await assertOnce(t, client, base, ['lanterns', 'shelves', 'curtains']);
    t.is(billed('curtains').length, 1 + 1, 'once for the document, once for the query');
    t.is(billed('shelves').length, 2 + 1, 'the process that died had asked too');

    Object.assign(mesh.environments.get('knowledge-1') ?? {}, { EMBEDDINGS_MODEL: nextModel });
    const moving = embeddings.hold('shelves', nextModel);
    await (await mesh.kill('knowledge-1')).back();
    await moving.reached;
    t.not(await model(), nextModel);
    await assertOnce(t, client, base, ['lanterns', 'shelves', 'curtains']);
    const again = await killed(mesh, ['knowledge-1']);
    moving.open();
    await again();
    await eventually('the base is moved', async () => (await model()) === nextModel, { timeoutMs: goalMs });
    t.deepEqual(await mesh.settled({ timeoutMs: goalMs }), []);
    await assertOnce(t, client, base, ['lanterns', 'shelves', 'curtains']);
    for (const id of [stored, indexed, parsed]) t.is((await readKnowledgeDocument(client, id)).parseStatus, 'READY');

    // Each call has one row. The row is exact if the call's response arrived, and estimated if the calling process was killed.
    const { embedded, again: embeddedAgain } = await calls();
    const isQuery = ({ input }: { input: string[] }) => input.every((text) => text.startsWith('all about'));
    const isAgain = (request: { input: string[]; model: string }) => request.model === nextModel && !isQuery(request);
    const ours = ['lanterns', 'shelves', 'curtains'].flatMap(billed).filter((request) => !isAgain(request));
    t.is(embedded.length, ours.length);
    t.is(embedded.filter(({ leaseEnded }) => leaseEnded).length, 1);
    t.is(embeddedAgain.length, embeddings.requests.filter(isAgain).length);
    t.is(embeddedAgain.filter(({ leaseEnded }) => leaseEnded).length, 1);
  },
);
