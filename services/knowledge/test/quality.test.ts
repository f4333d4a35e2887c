import test, { type ExecutionContext } from 'ava';
import type { RetrievalMode } from '../src/generated/schema.ts';
import { retrieveChunks } from '../src/retrieve-chunks.ts';
import { passages, questions } from './question-set.ts';
import { retrievalUnit, userOf } from './retrieval-unit.ts';
import { storedChunks } from './stored-chunks.ts';

/** The share of questions whose passage is among the first so many. */
async function recallAt(t: ExecutionContext, topK: number, mode: RetrievalMode): Promise<number> {
  const { unit, database } = await retrievalUnit(t);
  const mine = storedChunks(database, 1);
  const base = await mine.base();
  for (const [name, passage] of Object.entries(passages)) await mine.document(base, [passage], name);
  let found = 0;
  for (const [query, passage] of questions) {
    const asked = { knowledgeBaseId: base, query, topK, mode };
    const best = await retrieveChunks(unit.deps, userOf(1), asked, new AbortController().signal);
    if (best.some(({ documentName }) => documentName === passage)) found += 1;
    else t.log(`${mode}, not among ${topK}: ${query}`);
  }
  return found / questions.length;
}

for (const [mode, at5, at1] of [
  ['COSINE', 0.95, 0.75],
  ['HYBRID', 0.95, 0.75],
] as const) {
  test(`the offline embedding finds the passages of questions in other words: ${mode}`, async (t) => {
    const five = await recallAt(t, 5, mode);
    const first = await recallAt(t, 1, mode);
    t.log(`${mode}: recall@5 ${five}, recall@1 ${first}`);
    t.true(five >= at5, `${five}`);
    t.true(first >= at1, `${first}`);
  });
}
