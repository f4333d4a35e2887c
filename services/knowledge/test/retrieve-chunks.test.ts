import { rowsBy } from '@parley/postgres/database/rows';
import { onEveryDatabase } from '@parley/testing/every-database';
import { requestOf } from '@parley/testing/request-of';
import type { ExecutionContext } from 'ava';
import type { Embedder } from '../src/embeddings/embedder.ts';
import { embedOffline } from '../src/embeddings/offline-embedding.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { retrieveChunks } from '../src/retrieval/retrieve-chunks.ts';
import { searchTerms } from '../src/retrieval/search-terms.ts';
import { textOf } from './knowledge-app.ts';
import { retrievalUnit, userOf } from './retrieval-unit.ts';
import { storedChunks } from './stored-chunks.ts';

interface Found {
  chunkId: number;
  documentId: number;
  content: string;
  score: number;
  chunkIndex: number;
  documentName: string;
}

const query = `query ($id: Int!, $query: String!, $topK: Int, $mode: RetrievalMode) {
  retrieveChunks(knowledgeBaseId: $id, query: $query, topK: $topK, mode: $mode) {
    chunkId documentId content score chunkIndex documentName } }`;

const animals = ['The otter swims in the river', 'The falcon nests on the tower', 'Bees make honey in summer'];

onEveryDatabase(({ test, testSchema }) => {
  for (const [plan, exactLimit] of [
    ['exact', '1000'],
    ['index', '1'],
  ] as const) {
    const unit = async (t: ExecutionContext, env: Record<string, string> = {}) => {
      const database = await testSchema(t, knowledgeSchema);
      const running = await retrievalUnit(t, { database, env: { KNOWLEDGE_EXACT_LIMIT: exactLimit, ...env } });
      const ask = async (id: number, text: string, more: object = {}, tenantId = 1) => {
        const { data, errors } = await running.graph(userOf(tenantId), query, { id, query: text, ...more });
        return { found: data?.['retrieveChunks'] as Found[], error: errors?.[0] };
      };
      return { ...running, ask, of: (tenantId: number) => storedChunks(database, tenantId) };
    };

    test(`${plan}: passages are ordered by cosine similarity, with their place and document`, async (t) => {
      const { ask, of } = await unit(t);
      const base = await of(1).base();
      const document = await of(1).document(base, animals, 'animals.md');
      const { found } = await ask(base, 'Where does the falcon nest?');
      t.is(found.length, 3);
      t.like(found[0], { documentId: document, content: animals[1], chunkIndex: 1, documentName: 'animals.md' });
      t.deepEqual(
        found.map(({ score }) => score),
        found.map(({ score }) => score).toSorted((a, b) => b - a),
      );
      const same = await ask(base, animals[0] ?? '');
      t.true(Math.abs((same.found[0]?.score ?? 0) - 1) < 1e-3);
    });

    test(`${plan}: chunks of earlier generations, deleted documents, other bases and other tenants are never found`, async (t) => {
      const { ask, of } = await unit(t);
      const mine = of(1);
      const [base, second] = [await mine.base(), await mine.base()];
      const synced = await mine.document(base, ['The otter swims, as it was']);
      await mine.addGeneration(base, synced, 2, [{ content: 'The otter dives, as it is' }]);
      await mine.addGeneration(base, synced, 3, [{ content: 'The otter sleeps, not yet' }]);
      await mine.switchTo(synced, 2);
      await mine.deleteDocument(await mine.document(base, ['The otter of a deleted document']));
      await mine.document(second, ['The otter of another base']);
      await of(2).document(await of(2).base(), ['The otter of another tenant']);
      const { found } = await ask(base, 'otter', { topK: 20 });
      t.deepEqual(
        found.map(({ content }) => content),
        ['The otter dives, as it is'],
      );
      const hybrid = await ask(base, 'otter', { topK: 20, mode: 'HYBRID' });
      t.deepEqual(
        hybrid.found.map(({ content }) => content),
        ['The otter dives, as it is'],
      );
    });

    test(`${plan}: a search during a change and a re-sync finds exactly one whole generation`, async (t) => {
      const { ask, of, graph } = await unit(t);
      const base = await of(1).base();
      const change = async (mutation: string, variables: object) => {
        const { errors } = await graph(userOf(1), mutation, { ...variables });
        t.is(errors, undefined);
      };
      await change('mutation ($input: IngestDocumentInput!) { ingestDocument(input: $input) }', {
        input: { knowledgeBaseId: base, fileName: 'a.md', text: textOf(3, 'otters') },
      });
      const id = (await ask(base, 'otters')).found[0]?.documentId;
      const work = { isOver: false };
      const seen = new Set<string>();
      const readers = ['COSINE', 'HYBRID'].map(async (mode) => {
        while (!work.isOver) {
          const { found } = await ask(base, 'all about otters and bees', { topK: 20, mode });
          const subjects = new Set(found.map(({ content }) => /about (\w+)/u.exec(content)?.[1]));
          seen.add(`${found.length} ${[...subjects].join(' ')}`);
        }
      });
      for (const [chunks, subject] of [
        [5, 'bees'],
        [3, 'otters'],
        [5, 'bees'],
        [3, 'otters'],
      ] as const) {
        await change('mutation ($id: Int!, $text: String!) { updateKnowledgeDocumentText(id: $id, text: $text) }', {
          id,
          text: textOf(chunks, subject),
        });
        await change('mutation ($id: Int!) { resyncKnowledgeDocument(id: $id) }', { id });
      }
      work.isOver = true;
      await Promise.all(readers);
      t.deepEqual([...seen].toSorted(), ['3 otters', '5 bees']);
    });

    test(`${plan}: a deleted base, an absent base or a base of another tenant is NOT_FOUND`, async (t) => {
      const { ask, of } = await unit(t);
      const base = await of(1).base();
      const foreign = await of(2).base();
      await of(1).document(base, animals);
      await of(1).deleteBase(base);
      for (const id of [base, foreign, 999_999, 0, -1]) {
        t.like((await ask(id, 'otter')).error, { extensions: { code: 'NOT_FOUND' } }, `${id}`);
      }
    });

    test(`${plan}: an empty base has no passages`, async (t) => {
      const { ask, of } = await unit(t);
      const base = await of(1).base();
      for (const mode of ['COSINE', 'HYBRID'])
        t.deepEqual(await ask(base, 'otter', { mode }), { found: [], error: undefined });
    });

    test(`${plan}: passages with equal similarity are returned in the order in which they were stored`, async (t) => {
      const { ask, of } = await unit(t);
      const base = await of(1).base();
      for (let at = 0; at < 4; at += 1) await of(1).document(base, ['The same text', 'The same text']);
      for (const mode of ['COSINE', 'HYBRID']) {
        const ids = (await ask(base, 'same text', { topK: 8, mode })).found.map(({ chunkId }) => chunkId);
        t.deepEqual(
          ids,
          ids.toSorted((a, b) => a - b),
        );
        t.is(ids.length, 8);
      }
    });

    test(`${plan}: HYBRID also finds what full text finds, and its score is still the cosine similarity`, async (t) => {
      const { ask, of } = await unit(t);
      const base = await of(1).base();
      // The index returns only chunks near the question and does not rank distant chunks by words. So the base has less filler if the index
      // is tested.
      const filler = Array.from(
        { length: plan === 'exact' ? 600 : 30 },
        (_, at) => `error message of the printer number ${at}, part xj`,
      );
      const rare = `${'Notes on supplies, paper, ink and the office on the second floor. '.repeat(8)} Part XJ-4411.`;
      await of(1).document(base, [...filler, rare]);
      const cosine = await ask(base, 'printer error message xj-4411', { topK: 20 });
      t.false(cosine.found.some(({ content }) => content === rare));
      t.deepEqual(await ask(base, 'printer error message xj-4411', { topK: 20, mode: null }), cosine);
      for (const topK of [5, 6]) {
        const hybrid = await ask(base, 'printer error message xj-4411', { topK, mode: 'HYBRID' });
        const found = hybrid.found.find(({ content }) => content === rare);
        t.true(found !== undefined && found.score < 0.2, `${topK}`);
      }
    });

    test(`${plan}: hostile queries cause no errors`, async (t) => {
      const { ask, of } = await unit(t);
      const base = await of(1).base();
      await of(1).document(base, animals);
      for (const hostile of [
        "'; DROP TABLE knowledge_chunks; --",
        "otter' | '' & !!( <-> :*",
        '" unclosed -otter OR OR AND ((',
        String.raw`\' \\ %s $1 ? :tenantId {{x}}`,
        '!!! ???',
        '🦜',
        'a '.repeat(5_000),
        '数'.repeat(10_000),
      ]) {
        for (const mode of ['COSINE', 'HYBRID'])
          t.is((await ask(base, hostile, { mode })).error, undefined, hostile.slice(0, 30));
      }
    });
  }

  test('words between signs are found, however PostgreSQL parses the signs', async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const mine = storedChunks(database, 1);
    const texts = {
      string: 'It returns a List<String> then',
      config: 'Edit the <config> element',
      otter: 'if dogs <cats and otters> cows',
      wide: '<div class="wide">',
      value: 'pass &value; here',
      home: 'name~home',
      part: '-_./@:+#part',
    };
    await mine.document(await mine.base(), Object.values(texts));
    for (const [word, text] of Object.entries(texts)) {
      const [term = ''] = searchTerms(word);
      const found = await database.read(1, ({ knex }) =>
        rowsBy(knex)<{ content: string }>(
          'SELECT content FROM knowledge_chunks WHERE tenant_id = 1 AND search @@ cast(:term AS tsquery)',
          { term },
        ),
      );
      t.deepEqual(found, [{ content: text }], word);
    }
  });

  test('topK is 1 to 20, by default 5; a query has 1 to 10,000 characters and is not blank', async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const { graph } = await retrievalUnit(t, { database });
    const mine = storedChunks(database, 1);
    const base = await mine.base();
    await mine.document(
      base,
      Array.from({ length: 25 }, (_, at) => `Text number ${at}`),
    );
    const ask = async (variables: object) => {
      const { data, errors } = await graph(userOf(1), query, { id: base, query: 'text', ...variables });
      const found = data?.['retrieveChunks'] as Found[] | undefined;
      return errors ? errors[0]?.extensions['fields'] : found?.length;
    };
    t.is(await ask({}), 5);
    t.is(await ask({ topK: null, mode: null }), 5);
    t.is(await ask({ topK: 1 }), 1);
    t.is(await ask({ topK: 20 }), 20);
    for (const topK of [0, -1, 21])
      t.deepEqual(await ask({ topK }), [{ path: 'topK', message: 'must be between 1 and 20' }]);
    for (const blank of ['', '  \n'])
      t.deepEqual(await ask({ query: blank }), [{ path: 'query', message: 'must not be blank' }]);
    t.is(await ask({ query: '🦜'.repeat(10_000) }), 5);
    t.like(await ask({ query: 'x'.repeat(10_001) }), [{ path: 'query' }]);
  });

  test('a base that gets another model during a search is searched with the new model', async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const { unit } = await retrievalUnit(t, { database });
    const mine = storedChunks(database, 1);
    const id = await mine.base('before');
    await mine.document(id, animals);
    const models: string[] = [];
    const embed: Embedder['embed'] = async ([text = ''], { model }) => {
      models.push(model);
      await database.transact(1, ({ knex }) =>
        knex('knowledge_bases').where({ id }).update({ embeddingModel: 'after' }),
      );
      return { vectors: [embedOffline(text)], tokensIn: 0, costUsdE8: 0n };
    };
    const ports = { ...unit.deps, embedder: { ...unit.deps.embedder, embed } };
    const asked = { knowledgeBaseId: id, query: 'otter' };
    const [best] = await retrieveChunks(ports, requestOf(userOf(1)), asked);
    t.is(best?.content, animals[0]);
    t.deepEqual(models, ['before', 'after']);
  });

  test('a query is metered as embed, and is BAD_REQUEST at the spend cap', async (t) => {
    const database = await testSchema(t, knowledgeSchema);
    const { graph, ledger } = await retrievalUnit(t, { database });
    const base = await storedChunks(database, 1).base();
    await graph(userOf(1), query, { id: base, query: 'otter' });
    // allow-name embed: the operation's name in the ledger
    t.like(ledger.reserved, [{ call: { operation: 'embed', modelId: 'offline-embedding-1', providerId: 'OFFLINE' } }]);
    ledger.atCap = true;
    const { errors } = await graph(userOf(1), query, { id: base, query: 'otter' });
    t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  });
});
