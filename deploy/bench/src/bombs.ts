import { bombs } from '@parley/parser/bombs';
import { fileTypes } from '@parley/parser/file-types';
import { Client } from '@parley/stories/client';
import { createKnowledgeBase, parsedDocument, uploadFile } from '@parley/stories/knowledge';
import { type Figure, figure, medianOf, oneByOne, quantile, tookMs } from './figures.ts';
import { type BenchOptions, openPlace } from './processes.ts';

const eight = [
  'a page of packed blanks',
  'a Word document of five million paragraphs without text',
  'a CSV file of endless rows',
  'a part that is larger than it declares',
  'a cell of 20 MB',
  'entities of entities in a workbook',
  'a PDF of deep arrays',
  'a Markdown file that is too long',
];
/** The number of files that one client may upload within a minute. */
const uploadsOfClient = 10;
const queriesPerUpload = 8;
const mimeTypeOf = Object.fromEntries(Object.entries(fileTypes).map(([mimeType, type]) => [type, mimeType]));

interface Times {
  queries: number[];
  documents: number[];
}

/**
 * Measures how long other tenants wait while malicious files are parsed, and compares this with waiting times without such files. The mesh
 * is one process.
 */
export async function bombFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, short, say } = options;
  say(`others beside files that mean harm, ${rounds} rounds`);
  await using place = await openPlace(options);
  // Each client has its own IP address.
  await using mesh = await place.start({ TRUSTED_PROXIES: '127.0.0.1/32' });
  const tenant = async () => {
    const client = new Client(mesh.urls[0] ?? '');
    await client.register();
    return { client, base: await createKnowledgeBase(client) };
  };

  /**
   * Measures a new tenant's queries, and how long its small documents take from upload until they are parsed.
   * @param documents the number of documents
   * @param goesOn returns false to end the measurement early, after at least one document
   */
  async function neighbour(documents: number, goesOn = () => true): Promise<Times> {
    const { client, base } = await tenant();
    const times: Times = { queries: [], documents: [] };
    do {
      const ofQueries = oneByOne(queriesPerUpload, () => tookMs(() => client.value('{ knowledgeBases { id name } }')));
      times.queries.push(...(await ofQueries));
      times.documents.push(await tookMs(async () => parsedDocument(client, await uploadFile(client, base, 'A text'))));
    } while (times.documents.length < documents && goesOn());
    return times;
  }

  /** Measures another tenant's waiting times while one tenant uploads malicious files. */
  async function besideBombs(): Promise<Times> {
    const { client, base } = await tenant();
    const whats = short ? eight.slice(-1) : eight;
    const files = bombs.filter(({ what }) => whats.includes(what));
    const ids = await oneByOne(files.length, async (n) => {
      const { type, make } = files[n] as (typeof files)[number];
      return uploadFile(client, base, make(), mimeTypeOf[type]);
    });
    let isOver = false;
    const ends = Promise.all(ids.map((id) => parsedDocument(client, id, 300_000))).finally(() => (isOver = true));
    const times = await neighbour(uploadsOfClient, () => !isOver);
    await ends;
    return times;
  }

  const documents = short ? 1 : uploadsOfClient;
  await neighbour(documents); // warm-up
  const measured = await oneByOne(rounds, async () => ({
    alone: await neighbour(documents),
    beside: await besideBombs(),
  }));
  const ratio = (what: keyof Times, q: number) =>
    medianOf(measured, ({ alone, beside }) => quantile(beside[what], q) / quantile(alone[what], q));
  return [
    figure(
      'query, p95',
      medianOf(measured, ({ alone }) => quantile(alone.queries, 0.95)),
      'ms',
    ),
    figure('query beside files that mean harm, p95, over alone', ratio('queries', 0.95), '×', { goal: 5 }),
    figure(
      'small document, p50',
      medianOf(measured, ({ alone }) => quantile(alone.documents, 0.5)),
      'ms',
    ),
    figure('small document beside files that mean harm, p50, over alone', ratio('documents', 0.5), '×', { goal: 5 }),
  ];
}
