import { rowsBy } from '@parley/postgres/database/rows';
import { eventually } from '@parley/testing/eventually';
import { onOneDatabase } from '@parley/testing/every-database';
import { requestOf } from '@parley/testing/request-of';
import type { ExecutionContext } from 'ava';
import { createKnowledgeBase } from '../src/bases/create-knowledge-base.ts';
import { ingestDocument } from '../src/documents/ingest-document.ts';
import { embed } from '../src/embeddings/embed.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { retrieveChunks } from '../src/retrieval/retrieve-chunks.ts';
import { startEmbeddings } from './embeddings-server.ts';
import { retrievalUnit, userOf } from './retrieval-unit.ts';

const me = requestOf(userOf(1));
const limit = 512;
/** Counts tokens like a model whose vocabulary has English words, but only single characters of other scripts. */
const tokensOf = (text: string) => (text.match(/[a-z]{1,5}|\p{N}|[^\sa-z\p{N}]/giu) ?? []).length;

const english = 'Lamps can be returned within thirty days if the box is there. '.repeat(65);
const chinese = '退款会在十天之内到账。'.repeat(55);
const texts: Record<string, { text: string; name?: string }> = {
  '4,000 English characters': { text: english },
  '600 Chinese ones': { text: chinese },
  'a long text of both, with headings': {
    text: Array.from({ length: 30 }, (_, n) => `# Part ${n}\n\n${english}\n\n## 退款 ${n}\n\n${chinese}`).join('\n\n'),
  },
  'one word of 6,000 letters': { text: 'x9'.repeat(3_000) },
  'a table': {
    text: [
      '| id | text | twice |',
      '|---|---|---|',
      ...Array.from({ length: 150 }, (_, n) => `| ${n} | ${'7 '.repeat(12)}| ${2 * n} |`),
    ].join('\n'),
  },
  'a dense passage among usual ones': { text: `${english}\n\n${'§ 1.2.3 (a) '.repeat(300)}\n\n${english}` },
  'a long name and long headings': {
    text: `# ${'退款的规定'.repeat(30)}\n\n## ${'关于到账'.repeat(40)}\n\n${'十天之内。'.repeat(20)}`,
    name: `${'退款到账规定'.repeat(30)}.md`,
  },
};

onOneDatabase(({ test, testSchema }) => {
  async function started(t: ExecutionContext, env: Record<string, string> = {}) {
    const server = await startEmbeddings(t);
    server.tooLong = (text) => tokensOf(text) > limit;
    const unit = await retrievalUnit(t, {
      database: await testSchema(t, knowledgeSchema),
      env: { EMBEDDINGS_URL: server.url, EMBEDDINGS_MODEL: 'small-768', ...env },
    });
    const { id } = await createKnowledgeBase(unit.unit.deps, me, { name: 'Long' });
    const passages = () =>
      unit.database.read(1, ({ knex }) =>
        rowsBy(knex)<{ content: string; chunkIndex: number; chunkCount: number }>(
          `SELECT content, chunk_index, chunk_count FROM knowledge_chunks c
             JOIN knowledge_documents d ON d.id = c.document_id AND d.generation = c.generation ORDER BY chunk_index`,
          {},
        ),
      );
    return { ...unit, deps: unit.unit.deps, server, base: id, passages };
  }

  for (const [what, { text, name = 'long.md' }] of Object.entries(texts)) {
    for (const env of [{}, { EMBEDDINGS_MAX_TOKENS: String(limit) }]) {
      const how = 'EMBEDDINGS_MAX_TOKENS' in env ? 'with a setting of it' : 'which nobody told';
      test(`a text is READY with passages cut to the model's limit, ${how}: ${what}`, async (t) => {
        const { deps, server, base, passages, ledger } = await started(t, env);
        await ingestDocument(deps, me, { knowledgeBaseId: base, fileName: name, text });
        const rows = await passages();
        t.deepEqual(
          rows.map(({ chunkIndex }) => chunkIndex),
          rows.map((_, n) => n),
        );
        t.is(rows[0]?.chunkCount, rows.length);
        for (const { content } of rows) t.true(tokensOf(content) <= limit);
        const letters = (some: string) => new Set(some.match(/[\p{L}\p{N}]+/gu));
        const kept = letters(rows.map(({ content }) => content).join('\n'));
        if (!what.includes('one word'))
          for (const word of letters(text)) t.true(kept.has(word) || word.length > 40, word);
        // Each request to the endpoint is metered separately. A request that the endpoint refused is metered with no tokens.
        await eventually('all is settled', () => ledger.settled.length === server.requests.length + server.refusals);
        const counted = ledger.settled.reduce((sum, { call }) => sum + (call?.tokensIn ?? 0), 0);
        t.is(counted, server.tokensOfText * server.requests.reduce((sum, { input }) => sum + input.length, 0));
        t.is(
          server.requests.reduce((sum, { input }) => sum + input.length, 0),
          rows.length,
          'no text is embedded twice',
        );
        t.is(new Set(ledger.settled.map(({ call }) => call?.callId)).size, ledger.settled.length);
        t.true(server.refusals < 30, `${server.refusals}`);
        if (what === '4,000 English characters' && 'EMBEDDINGS_MAX_TOKENS' in env) t.is(server.refusals, 0);
      });
    }
  }

  test('a question that is too long for the model is embedded in pieces', async (t) => {
    const { deps, base } = await started(t);
    await ingestDocument(deps, me, { knowledgeBaseId: base, fileName: 'a.md', text: 'Lamps can be returned.' });
    await ingestDocument(deps, me, { knowledgeBaseId: base, fileName: 'b.md', text: 'The museum opens at nine.' });
    const [first] = await retrieveChunks(deps, me, { knowledgeBaseId: base, query: english.repeat(2) });
    t.is(first?.documentName, 'a.md');
  });

  test('embed refuses texts that are too long instead of embedding pieces of them', async (t) => {
    const { deps } = await started(t);
    t.like(await t.throwsAsync(embed(deps, me, [english])), { kind: 'invalid', reason: 'EMBEDDING_TOO_LONG' });
  });

  for (const [status, body] of [
    [400, ''],
    [413, ''],
    [422, '{"detail":[{"msg":"bad"}]}'],
    [500, '{"error":{"message":"input is too large to process. increase the physical batch size"}}'],
  ] as const) {
    test(`a text is also cut if the endpoint responds with ${status} and “${body}”`, async (t) => {
      const { deps, server, base, passages } = await started(t);
      server.refusal = { status, body };
      await ingestDocument(deps, me, { knowledgeBaseId: base, fileName: 'a.md', text: `${english}${chinese}` });
      for (const { content } of await passages()) t.true(tokensOf(content) <= limit);
    });
  }

  test('an endpoint that refuses everything gets a bounded number of requests', async (t) => {
    for (const body of ['', '{"error":"input too long"}']) {
      const { deps, server, base } = await started(t);
      server.tooLong = () => true;
      server.refusal = { status: 400, body };
      const text = `${english}${chinese}`.repeat(40);
      const error = await t.throwsAsync(ingestDocument(deps, me, { knowledgeBaseId: base, fileName: 'a.md', text }));
      t.like(error, { kind: 'invalid' });
      t.true(server.refusals < 30, `${server.refusals}`);
    }
  });
});
