import { onEveryDatabase } from '@parley/testing/every-database';
import { requestOf } from '@parley/testing/request-of';
import type { ExecutionContext } from 'ava';
import { createKnowledgeBase } from '../src/bases/create-knowledge-base.ts';
import { ingestDocument } from '../src/documents/ingest-document.ts';
import type { RetrievalMode } from '../src/generated/schema.ts';
import { knowledgeSchema } from '../src/knowledge-schema.ts';
import { retrieveChunks } from '../src/retrieval/retrieve-chunks.ts';
import { retrievalUnit, userOf } from './retrieval-unit.ts';
import { type SearchRows, searchRows } from './search-rows.ts';

const me = requestOf(userOf(1));

onEveryDatabase(({ test, testSchema }) => {
  /** Returns the rank of each question's document among the first ten results, from 1. */
  async function ranksOf(t: ExecutionContext, { documents, questions }: SearchRows, mode: RetrievalMode) {
    const { unit } = await retrievalUnit(t, { database: await testSchema(t, knowledgeSchema) });
    const { id: knowledgeBaseId } = await createKnowledgeBase(unit.deps, me, { name: 'Rows' });
    for (const [fileName, text] of Object.entries(documents))
      await ingestDocument(unit.deps, me, { knowledgeBaseId, fileName, text });
    const ranks: [question: string, rank: number][] = [];
    for (const [query, document] of questions) {
      const found = await retrieveChunks(unit.deps, me, { knowledgeBaseId, query, topK: 10, mode });
      ranks.push([query, found.findIndex(({ documentName }) => documentName === document) + 1]);
    }
    return ranks;
  }

  for (const rows of searchRows) {
    for (const mode of rows.modes) {
      test(`${mode} finds ${rows.kind}`, async (t) => {
        const ranks = await ranksOf(t, rows, mode);
        t.log(JSON.stringify(ranks));
        t.deepEqual(
          ranks,
          rows.questions.map(([question]) => [question, 1]),
        );
      });
    }
  }
});
