import { bombs } from '@parley/parser/bombs';
import { fileTypes } from '@parley/parser/file-types';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import { createKnowledgeBase, parsedDocument, uploadFile } from '../src/knowledge.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

// What they share are the processors of the machine, so each unit is a process.
const story = stories(test, { on: 'processes' });

const eight = [
  'a page of packed blanks',
  'a Word document whose model does not fit into memory',
  'a CSV file of endless rows',
  'a part that is larger than it declares',
  'a cell of 20 MB',
  'entities of entities in a workbook',
  'a PDF of deep arrays',
  'a Markdown file that is too long',
];

/** Far above what the load of other tests does to it. */
const mostTimes = 5;
/** As many files as one client may upload within a minute. */
const uploadsOfClient = 10;
const queriesPerUpload = 8;

interface Tenant {
  client: Client;
  base: number;
}

async function tenantOf({ person }: TestMesh): Promise<Tenant> {
  const client = await person();
  return { client, base: await createKnowledgeBase(client) };
}

const mimeTypeOf = Object.fromEntries(Object.entries(fileTypes).map(([mimeType, type]) => [type, mimeType]));

/** Uploads the bombs; resolves once they wait to be parsed. */
async function upload({ client, base }: Tenant, whats: string[]) {
  const ids: number[] = [];
  for (const what of whats) {
    const bomb = bombs.find((each) => each.what === what);
    if (!bomb) throw new Error(`no bomb: ${what}`);
    ids.push(await uploadFile(client, base, bomb.make(), mimeTypeOf[bomb.type]));
  }
  let isOver = false;
  const ends = Promise.all(ids.map((id) => parsedDocument(client, id, 300_000))).finally(() => (isOver = true));
  return { ends, isOver: () => isOver };
}

interface Times {
  queries: number[];
  documents: number[];
}

const noTimes = (): Times => ({ queries: [], documents: [] });

/** Adds what a new neighbour waits for: some queries, then a small document from its upload until it is READY, while `goesOn`. */
async function neighbour(mesh: TestMesh, times: Times, goesOn = () => true): Promise<void> {
  const { client, base } = await tenantOf(mesh);
  const parse = async (text: string) => {
    const { parseStatus } = await parsedDocument(client, await uploadFile(client, base, text));
    if (parseStatus !== 'READY') throw new Error(parseStatus);
  };
  for (let n = 0; n < uploadsOfClient && goesOn(); n += 1) {
    await queries(client, times, goesOn);
    times.documents.push(await tookMs(() => parse(`Document ${n} of a neighbour`)));
  }
}

async function queries(client: Client, times: Times, goesOn: () => boolean): Promise<void> {
  for (let n = 0; n < queriesPerUpload && goesOn(); n += 1) {
    times.queries.push(await tookMs(() => client.value('{ knowledgeBases { id name } }')));
  }
}

async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

type Quantile = 0.5 | 0.95;

function quantile(q: Quantile, values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(q * values.length) - 1] ?? Number.NaN;
}

function assertNear(t: ExecutionContext, q: Quantile, what: string, during: number[], alone: number[]): void {
  const times = quantile(q, during) / quantile(q, alone);
  const [beside, without] = [during, alone].map((each) => `${quantile(q, each).toFixed(0)} ms of ${each.length}`);
  t.log(`p${100 * q} of ${what}: ${beside}, without ${without}: ${times.toFixed(2)} times`);
  t.true(times < mostTimes, `${what}: ${times}`);
}

story('bombs of a tenant, and of several, do not slow down the queries and documents of others', async (t, mesh) => {
  t.timeout(400_000);
  const [alone, besideOne, besideSeveral] = [noTimes(), noTimes(), noTimes()];
  await neighbour(mesh, noTimes());
  await neighbour(mesh, alone);

  const one = await upload(await tenantOf(mesh), eight);
  while (!one.isOver()) await neighbour(mesh, besideOne, () => !one.isOver());
  await assertFailed(t, one);
  await neighbour(mesh, alone);

  const several = await Promise.all(eight.map(async (what) => upload(await tenantOf(mesh), [what])));
  const { client } = await tenantOf(mesh);
  const isGoingOn = () => several.some(({ isOver }) => !isOver());
  while (isGoingOn()) await queries(client, besideSeveral, isGoingOn);
  for (const each of several) await assertFailed(t, each);

  await neighbour(mesh, alone);
  assertNear(t, 0.95, 'queries beside bombs of one tenant', besideOne.queries, alone.queries);
  // As many as there is time for while the bombs are parsed: too few for a p95.
  assertNear(t, 0.5, 'documents beside bombs of one tenant', besideOne.documents, alone.documents);
  assertNear(t, 0.95, 'queries beside bombs of several tenants', besideSeveral.queries, alone.queries);
});

async function assertFailed(t: ExecutionContext, { ends }: Awaited<ReturnType<typeof upload>>): Promise<void> {
  for (const { parseStatus, parseError } of await ends) {
    t.is(parseStatus, 'FAILED');
    t.regex(parseError ?? '', /^\w.*\.$/u);
  }
}
