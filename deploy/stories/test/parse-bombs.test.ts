import { bombs } from '@parley/parser/bombs';
import { fileTypes } from '@parley/parser/file-types';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import { createKnowledgeBase, parsedDocument, uploadFile } from '../src/knowledge.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

// These stories run on a mesh of processes, in which tenants share the processors and the parser's slots. The waiting time of other tenants
// is measured by `scripts/bench --only parser`; here it would depend on other running tests.
const story = stories(test, { on: 'processes' });

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

interface Tenant {
  client: Client;
  base: number;
}

async function tenantOf({ person }: TestMesh): Promise<Tenant> {
  const client = await person();
  return { client, base: await createKnowledgeBase(client) };
}

const mimeTypeOf = Object.fromEntries(Object.entries(fileTypes).map(([mimeType, type]) => [type, mimeType]));

/** Uploads the bombs. Resolves when they are waiting to be parsed. */
async function upload({ client, base }: Tenant, whats: string[]) {
  const ids: number[] = [];
  for (const what of whats) {
    const bomb = bombs.find((each) => each.what === what);
    if (!bomb) throw new Error(`no bomb: ${what}`);
    ids.push(await uploadFile(client, base, bomb.make(), mimeTypeOf[bomb.type]));
  }
  const waiting = new Set(ids);
  const ends = ids.map(async (id) => {
    const document = await parsedDocument(client, id, 300_000);
    waiting.delete(id);
    return document;
  });
  return { ends: Promise.all(ends), waiting: () => waiting.size };
}

async function query({ client }: Tenant): Promise<void> {
  await client.value('{ knowledgeBases { id name } }');
}

story.serial('documents of other tenants are parsed before the bombs of a tenant', async (t, mesh) => {
  t.timeout(400_000);
  const neighbour = await tenantOf(mesh);
  const bombs = await upload(await tenantOf(mesh), eight);
  for (let n = 0; n < 3; n += 1) {
    await query(neighbour);
    const { client, base } = neighbour;
    const id = await uploadFile(client, base, `Document ${n} of a neighbour`);
    t.is((await parsedDocument(client, id)).parseStatus, 'READY');
    t.log(`document ${n}: ${bombs.waiting()} bombs wait`);
  }
  t.true(bombs.waiting() > 0, 'the bombs go on');
  await assertFailed(t, bombs);
});

story.serial('queries of other tenants are answered while bombs of several tenants are parsed', async (t, mesh) => {
  t.timeout(400_000);
  const neighbour = await tenantOf(mesh);
  const all = await Promise.all(eight.map(async (what) => upload(await tenantOf(mesh), [what])));
  let answered = 0;
  for (; all.some((each) => each.waiting() > 0); answered += 1) await query(neighbour);
  t.log(`${answered} queries`);
  t.true(answered > eight.length, 'each bomb takes much longer than a query');
  for (const each of all) await assertFailed(t, each);
});

async function assertFailed(t: ExecutionContext, { ends }: Awaited<ReturnType<typeof upload>>): Promise<void> {
  for (const { parseStatus, parseError } of await ends) {
    t.is(parseStatus, 'FAILED');
    t.regex(parseError ?? '', /^\w.*\.$/u);
  }
}
