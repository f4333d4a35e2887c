import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import { pagesHost } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const ingest = `mutation ($input: IngestDocumentFromUrlInput!) { chunks: ingestDocumentFromUrl(input: $input) }`;

async function site(t: ExecutionContext, host: string) {
  let connections = 0;
  const server = createServer((request, response) => {
    if (request.url === '/moved') return void response.writeHead(301, { location: '/page' }).end();
    response.setHeader('content-type', 'text/html').end('<title>Returns</title><h1>Returns</h1><p>Within 30 days.</p>');
  }).on('connection', () => {
    connections += 1;
  });
  const url = `http://${await listen(server, 0, host)}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url,
    get connections() {
      return connections;
    },
  };
}

async function baseOf(client: Client): Promise<number> {
  const make = 'mutation { base: createKnowledgeBase(input: { name: "Pages" }) { id } }';
  const { base } = await client.query<{ base: { id: number } }>(make);
  return base.id;
}

story('a page is fetched by its URL and becomes a document', async (t, mesh) => {
  const ada = await mesh.person();
  const knowledgeBaseId = await baseOf(ada);
  const { url } = await site(t, pagesHost);
  t.deepEqual(await ada.query(ingest, { input: { knowledgeBaseId, url: `${url}/moved` } }), { chunks: 1 });
  const { documents } = await ada.query<{ documents: Record<string, unknown>[] }>(
    'query ($id: Int!) { documents: knowledgeDocuments(knowledgeBaseId: $id) { id fileName mimeType parseStatus } }',
    { id: knowledgeBaseId },
  );
  t.is(documents.length, 1);
  t.like(documents[0], { fileName: 'Returns', mimeType: 'text/html', parseStatus: 'READY' });
  const { document } = await ada.query<{ document: unknown }>(
    'query ($id: Int!) { document: knowledgeDocument(id: $id) { rawText } }',
    { id: documents[0]?.id },
  );
  t.deepEqual(document, { rawText: '# Returns\n\nWithin 30 days.' });
});

story('a URL of an internal address is refused in every spelling, and nothing connects to it', async (t, mesh) => {
  const ada = await mesh.person();
  const knowledgeBaseId = await baseOf(ada);
  const inside = await site(t, '127.0.0.1');
  const { port } = new URL(inside.url);
  for (const host of ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]']) {
    const { errors } = await ada.send(ingest, { input: { knowledgeBaseId, url: `http://${host}:${port}/` } });
    t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 400 }, host);
    t.false(JSON.stringify(errors).includes('127.0.0.1'), host);
  }
  t.is(inside.connections, 0);
});

story('forwarded vectors of 100 texts equal those that the gateway serializes itself', async (t, mesh) => {
  const ada = await mesh.person();
  const server = await ada.withApiKey();
  const variables = { texts: Array.from({ length: 100 }, (_, n) => `Text number ${n}`) };
  const passed = await server.query<{ embed: { vectors: number[][] } }>(
    'query ($texts: [String!]!) { embed(texts: $texts) { vectors usage { inputTokens } } }',
    variables,
  );
  t.deepEqual([...new Set(passed.embed.vectors.map(({ length }) => length))], [768]);
  t.is(passed.embed.vectors.length, 100);
  const written = await server.query(
    'query ($texts: [String!]!) { ... { embed(texts: $texts) { vectors usage { inputTokens } } } }',
    variables,
  );
  t.deepEqual(written, passed);
});
