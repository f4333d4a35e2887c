import { readFileSync } from 'node:fs';
import { requestOf } from '@parley/testing/request-of';
import test, { type ExecutionContext } from 'ava';
import type { RetrievalMode } from '../src/generated/schema.ts';
import { retrieveChunks } from '../src/retrieval/retrieve-chunks.ts';
import { passages, questions } from './question-set.ts';
import { retrievalUnit, userOf } from './retrieval-unit.ts';
import { storedChunks } from './stored-chunks.ts';

const design = readFileSync(new URL('../DESIGN.md', import.meta.url), 'utf8').replaceAll(/\s+/gu, ' ');
const stated =
  /On (?<passages>\d+) passages and (?<questions>\d+) questions .*?: recall@5 (?<cosine5>[\d.]+), recall@1 (?<cosine1>[\d.]+); with `HYBRID` (?<hybrid5>[\d.]+) and (?<hybrid1>\d\.\d+)/u.exec(
    design,
  )?.groups;

test('the offline embedding finds the passages of paraphrased questions as often as DESIGN.md states', async (t) => {
  const ranks = await ranker(t);
  const [cosine, hybrid] = [await ranks('COSINE'), await ranks('HYBRID')];
  t.deepEqual(
    { ...stated },
    {
      passages: String(Object.keys(passages).length),
      questions: String(questions.length),
      cosine5: shareWithin(5, cosine),
      cosine1: shareWithin(1, cosine),
      hybrid5: shareWithin(5, hybrid),
      hybrid1: shareWithin(1, hybrid),
    },
  );
});

/**
 * Creates a function that returns each question's rank: the place of the question's passage among the first five results, from 1; infinite
 * if the passage is not among them.
 */
async function ranker(t: ExecutionContext) {
  const { unit, database } = await retrievalUnit(t);
  const mine = storedChunks(database, 1);
  const base = await mine.base();
  for (const [name, passage] of Object.entries(passages)) await mine.document(base, [passage], name);
  return async (mode: RetrievalMode): Promise<number[]> => {
    const ranks: number[] = [];
    for (const [query, passage] of questions) {
      const asked = { knowledgeBaseId: base, query, topK: 5, mode };
      const best = await retrieveChunks(unit.deps, requestOf(userOf(1)), asked);
      const place = best.findIndex(({ documentName }) => documentName === passage);
      if (place !== 0) t.log(`${mode}, not first: ${query}`);
      ranks.push(place < 0 ? Number.POSITIVE_INFINITY : place + 1);
    }
    return ranks;
  };
}

function shareWithin(max: number, ranks: number[]): string {
  return (ranks.filter((rank) => rank <= max).length / ranks.length).toFixed(2);
}
