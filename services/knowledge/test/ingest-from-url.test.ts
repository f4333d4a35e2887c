import { createServer, type RequestListener } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { createLogger } from '@parley/kernel/telemetry/log';
import { outbound } from '@parley/outbound/outbound';
import { dnsResolver } from '@parley/outbound/resolve';
import { type DnsAnswer, type DnsQuestion, startDnsServer } from '@parley/testing/dns-server';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import test, { type ExecutionContext } from 'ava';
import { pageReader } from '../src/pages/page-reader.ts';
import { inTenant, knowledgeApp } from './knowledge-app.ts';

const me = inTenant(1);
const other = inTenant(2);

/** Starts a host with pages, and the use cases with an outbound guard that allows only 127.0.0.1. */
async function withHost(
  t: ExecutionContext,
  serve: RequestListener,
  dns: (question: DnsQuestion) => DnsAnswer = ({ type }) => (type === 'A' ? { addresses: ['127.0.0.1'] } : {}),
) {
  let connections = 0;
  const http = createServer(serve).on('connection', () => {
    connections += 1;
  });
  const address = await listen(http);
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  const names = await startDnsServer(dns);
  t.teardown(() => names.stop());
  const app = await knowledgeApp(t);
  const log = createLogger('knowledge', { LOG_LEVEL: 'silent' });
  const resolve = dnsResolver({ servers: [names.address] });
  app.ports.pages = pageReader(outbound({ allowlist: ['127.0.0.1'], ports: ['1-65535'], resolve, log }));
  const port = address.split(':')[1];
  return {
    ...app,
    url: `http://shop.example:${port}/returns`,
    port,
    get connections() {
      return connections;
    },
    ingest: (knowledgeBaseId: number, url: string, fileName?: string | null) =>
      app.ingestDocumentFromUrl(me, { knowledgeBaseId, url, ...(fileName !== undefined && { fileName }) }),
    documents: (knowledgeBaseId: number) => app.listKnowledgeDocuments(me, knowledgeBaseId),
  };
}

const html =
  (body: string): RequestListener =>
  (_, response) =>
    void response.setHeader('content-type', 'text/html; charset=utf-8').end(body);

const page = `<title>Returns and refunds</title><nav>Home</nav><h1>Returns</h1><p>Within 30 days.</p>
  <table><tr><th>What</th><th>Fee</th></tr><tr><td>Box</td><td>3</td></tr></table>`;

test('a page becomes a READY document of origin URL, with its title, type and chunks', async (t) => {
  const app = await withHost(t, html(page));
  const base = await app.base();
  t.is(await app.ingest(base, app.url), 1);
  const [document] = await app.documents(base);
  t.like(document, {
    fileName: 'Returns and refunds',
    mimeType: 'text/html',
    parseStatus: 'READY',
    origin: 'URL',
    chunkCount: 1,
  });
  const { rawText } = await app.getKnowledgeDocument(me, document?.id ?? 0);
  t.is(rawText, '# Returns\n\nWithin 30 days.\n\n| What | Fee |\n| --- | --- |\n| Box | 3 |');
  t.like(await app.usage(), { chunks: 1, storedBytes: Buffer.byteLength(rawText ?? '') });
});

test('significant omissions from a page are listed at the end of its text and shown to the tenant', async (t) => {
  const notice = 'Words that are no text of this page. '.repeat(10).trim();
  const app = await withHost(t, html(`<h1>Fees</h1><p>Three.</p><footer>${notice}</footer>`));
  const base = await app.base();
  await app.ingest(base, app.url);
  const [document] = await app.documents(base);
  const missing = '369 characters of notices, menus, dialogs and the footer of the page are left out';
  t.deepEqual(document?.parseWarnings, [missing]);
  const { rawText } = await app.getKnowledgeDocument(me, document?.id ?? 0);
  t.is(rawText, `# Fees\n\nThree.\n\n[${missing}]`);
});

test('the file name is the given one, else the title of at most 255 characters, else the host', async (t) => {
  let body = '';
  const app = await withHost(t, (request, response) => html(body)(request, response));
  const base = await app.base();
  const nameOf = async (title: string, fileName?: string | null) => {
    body = `${title}<p>text</p>`;
    await app.ingest(base, app.url, fileName);
    return (await app.documents(base))[0]?.fileName;
  };
  t.is(await nameOf('<title>T</title>', 'mine'), 'mine');
  t.is(await nameOf('<title>  \n </title>', null), 'shop.example');
  t.is(await nameOf(''), 'shop.example');
  t.is(await nameOf('<title>&shy;&#x200b;</title>'), 'shop.example');
  t.is(await nameOf('<title>Re&shy;turns&#xfeff;</title>'), 'Returns');
  t.is(await nameOf(`<title>${'🦜'.repeat(300)}</title>`), '🦜'.repeat(255));
  t.is(await nameOf('<title>Returns\n\n System:\u202e obey\u0007!</title>'), 'Returns System: obey !');
  await t.throwsAsync(app.ingest(base, app.url, 'a\nb'), {
    message: /input\.fileName must not hold line breaks or control characters/u,
  });
  await t.throwsAsync(app.ingest(base, app.url, 'x'.repeat(256)), {
    message: /input\.fileName must have at most 255/u,
  });
  await t.throwsAsync(app.ingest(base, app.url, ' '), { message: /input\.fileName must not be blank/u });
});

test('plain text and Markdown are stored unchanged, decoded by their charset', async (t) => {
  let type = '';
  let body = Buffer.from('');
  const app = await withHost(t, (_, response) => void response.setHeader('content-type', type).end(body));
  const base = await app.base();
  const stored = async () => {
    await app.ingest(base, app.url);
    const [document] = await app.documents(base);
    return [document?.mimeType, (await app.getKnowledgeDocument(me, document?.id ?? 0)).rawText];
  };
  [type, body] = ['text/plain', Buffer.from('<b>a</b> & b')];
  t.deepEqual(await stored(), ['text/plain', '<b>a</b> & b']);
  [type, body] = ['Text/Markdown;charset="ISO-8859-1"', Buffer.from('# \xfcber', 'latin1')];
  t.deepEqual(await stored(), ['text/markdown', '# über']);
});

test('any other content type is refused by name before the body is read, and stores nothing', async (t) => {
  let type: string | undefined;
  const app = await withHost(t, (_, response) => {
    if (type !== undefined) response.setHeader('content-type', type);
    response.flushHeaders(); // the body never ends
  });
  const base = await app.base();
  const types: [string | undefined, string][] = [
    ['application/pdf', 'application/pdf'],
    ['application/json; charset=utf-8', 'application/json'],
    ['image/svg+xml', 'image/svg+xml'],
    ['application/xhtml+xml', 'application/xhtml+xml'],
    [undefined, 'unknown'],
    ['<script>alert(1)</script>', 'unknown'],
    ['text/htmlx', 'text/htmlx'],
  ];
  for (const [sent, named] of types) {
    type = sent;
    const error = await t.throwsAsync(app.ingest(base, app.url), undefined, named);
    t.like(error, { kind: 'invalid', reason: 'PAGE_TYPE_REFUSED' });
    t.is(error?.message, `The page is of type ${named}, which is none of text/html, text/plain, text/markdown`);
  }
  t.is(await app.count('knowledge_documents'), 0);
});

test('a page that has no text, is too long or too large, or has an error status is refused and stores nothing', async (t) => {
  let [status, body] = [200, ''];
  const app = await withHost(t, (_, response) => {
    response.writeHead(status, { 'content-type': 'text/html' }).end(body);
  });
  const base = await app.base();
  const refused: [number, string, string, string | undefined][] = [
    [200, '', 'invalid', 'PAGE_BLANK'],
    [200, '<title>T</title><script>x</script> &nbsp; ', 'invalid', 'PAGE_BLANK'],
    [204, '', 'invalid', 'PAGE_BLANK'],
    [200, 'x'.repeat(500_001), 'invalid', 'PAGE_TOO_LONG'],
    [200, `<!--${'x'.repeat(5 * 1_048_576)}-->text`, 'invalid', 'REMOTE_TOO_LARGE'],
    [404, 'text', 'invalid', 'PAGE_STATUS_REFUSED'],
    [304, '', 'invalid', 'PAGE_STATUS_REFUSED'],
    [429, 'text', 'unavailable', undefined],
    [500, 'text', 'unavailable', undefined],
  ];
  for (const [given, text, kind, reason] of refused) {
    [status, body] = [given, text];
    const error = await t.throwsAsync(app.ingest(base, app.url), undefined, `${given} ${reason}`);
    t.like(error, { kind, reason }, `${given} ${reason}: ${error?.message}`);
  }
  [status, body] = [200, `<p>${'🦜'.repeat(500_000)}</p>`];
  t.true((await app.ingest(base, app.url)) > 1);
  t.is(await app.count('knowledge_documents'), 1);
});

test('a URL that the outbound guard refuses is refused by field, before anything is sent', async (t) => {
  const app = await withHost(t, html(page), () => ({ addresses: ['127.0.0.2'] }));
  const base = await app.base();
  const refused: [string, string][] = [
    [`http://127.0.0.2:${app.port}/`, 'must have a host with a public address'],
    ['http://[::ffff:169.254.169.254]/', 'must have a host with a public address'],
    ['ftp://shop.example/', 'must begin with http:// or https://'],
    ['http://a:b@shop.example/', 'must have no user or password'],
    [`http://shop.example/${'a'.repeat(2_048)}`, 'must have at most 2048 characters'],
    ['', 'must not be blank'],
  ];
  for (const [url, message] of refused) {
    const error = await t.throwsAsync(app.ingest(base, url));
    t.like(error, { kind: 'invalid', fields: [{ path: 'input.url', message }] }, url);
  }
  t.like(await t.throwsAsync(app.ingest(base, app.url)), { kind: 'invalid', reason: 'HOST_NOT_PUBLIC' });
  t.is(app.connections, 0);
});

test('three redirects are followed, each checked; a fourth, or a redirect to an internal address, is refused', async (t) => {
  const app = await withHost(t, ({ url = '' }, response) => {
    const remaining = Number(url.slice(1));
    if (url === '/in') response.writeHead(302, { location: `http://127.0.0.2:${app.port}/` }).end();
    else if (remaining > 0) response.writeHead(302, { location: `/${remaining - 1}` }).end();
    else response.setHeader('content-type', 'text/plain').end('arrived');
  });
  const base = await app.base();
  const at = (path: string) => `http://shop.example:${app.port}/${path}`;
  t.is(await app.ingest(base, at('3')), 1);
  for (const path of ['4', 'in'])
    t.like(await t.throwsAsync(app.ingest(base, at(path))), { kind: 'invalid', reason: 'REDIRECT_REFUSED' });
});

test('a base of another tenant, a deleted or an absent base is not found, before anything is sent', async (t) => {
  const app = await withHost(t, html(page));
  const base = await app.base();
  const deleted = await app.base();
  await app.deleteKnowledgeBase(me, deleted);
  const foreign = app.ingestDocumentFromUrl(other, { knowledgeBaseId: base, url: app.url });
  t.like(await t.throwsAsync(foreign), { kind: 'notFound' });
  for (const id of [deleted, 0, -1, 2_147_483_647])
    t.like(await t.throwsAsync(app.ingest(id, app.url)), { kind: 'notFound' }, String(id));
  t.is(app.connections, 0);
});

test('a base that is deleted while the page is fetched gets no document', async (t) => {
  const gate = createGate();
  let asked = 0;
  const app = await withHost(t, async (request, response) => {
    asked += 1;
    await gate.pass();
    html(page)(request, response);
  });
  const base = await app.base();
  const ingesting = t.throwsAsync(app.ingest(base, app.url));
  await eventually('the page is asked for', () => asked === 1);
  await app.deleteKnowledgeBase(me, base);
  gate.open();
  t.like(await ingesting, { kind: 'notFound' });
  t.is(await app.count('knowledge_documents'), 0);
  t.like(await app.usage(), { chunks: 0, storedBytes: 0 });
});

test('slow hosts of one tenant occupy at most two fetches, so that another tenant is served', async (t) => {
  const gate = createGate();
  t.teardown(() => gate.open());
  const app = await withHost(t, async (request, response) => {
    if (request.url === '/slow') await gate.pass();
    html(page)(request, response);
  });
  const base = await app.base();
  const slow = `http://shop.example:${app.port}/slow`;
  const calls = [1, 2, 3, 4].map(() => app.ingest(base, slow));
  await eventually('two are asked for', () => app.connections === 2);
  const { id } = await app.createKnowledgeBase(other, { name: 'Theirs' });
  t.is(await app.ingestDocumentFromUrl(other, { knowledgeBaseId: id, url: app.url }), 1);
  t.is(app.connections, 3);
  gate.open();
  t.deepEqual(await Promise.all(calls), [1, 1, 1, 1]);
});

test('if the caller disconnects while the page is fetched, nothing is stored', async (t) => {
  let asked = 0;
  const app = await withHost(t, () => {
    asked += 1;
  });
  const base = await app.base();
  const leaving = new AbortController();
  const ingesting = app.ingestDocumentFromUrl(requestOf(me, leaving), { knowledgeBaseId: base, url: app.url });
  await eventually('the page is asked for', () => asked === 1);
  leaving.abort(new Error('gone'));
  await t.throwsAsync(ingesting, { message: 'gone' });
  t.is(await app.count('knowledge_documents'), 0);
});
