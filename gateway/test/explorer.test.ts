import { runInNewContext } from 'node:vm';
import test from 'ava';
import { gatewayMesh } from './support/gateway-mesh.ts';

const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

test('a browser that opens the endpoint in development finds an explorer, all of it from here', async (t) => {
  const { url, base } = await gatewayMesh(t);
  const page = await fetch(url, { headers: asBrowser });
  t.is(page.status, 200);
  t.regex(page.headers.get('content-type') ?? '', /^text\/html/);
  const policy = page.headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'self'/);
  t.notRegex(policy, /unsafe-eval|https?:|upgrade-insecure-requests/);
  const html = await page.text();
  t.regex(html, /<base href="\/graphql\/explorer\/">/);
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].flatMap(([, file]) => file ?? []);
  t.true(files.length > 4);
  for (const file of files.filter((name) => name !== '/graphql/explorer/')) {
    t.notRegex(file, /^(https?:)?\/\//);
    const answer = await fetch(`${base}/graphql/explorer/${file}`);
    t.is(answer.status, 200, file);
    t.is(answer.headers.get('x-content-type-options'), 'nosniff', file);
  }
});

test('the explorer names the platform for requests and sockets', async (t) => {
  const { base } = await gatewayMesh(t);
  const start = await (await fetch(`${base}/graphql/explorer/start.js`)).text();
  let options: Record<string, Record<string, unknown>> = {};
  const init = (given: typeof options) => {
    options = given;
  };
  runInNewContext(start, { AltairGraphQL: { init }, location: { origin: 'http://localhost:4000' } });
  t.like(options, {
    endpointURL: 'http://localhost:4000/graphql',
    subscriptionsEndpoint: 'ws://localhost:4000/graphql',
    initialSubscriptionRequestHandlerId: 'graphql-ws',
    initialHeaders: { 'x-app-platform': 'customer' },
    initialSubscriptionsPayload: { 'x-app-platform': 'customer' },
  });
  t.is(options.initialHeaders?.authorization, options.initialSubscriptionsPayload?.authorization);
});

test('who asks for no page gets none, and in production nobody does', async (t) => {
  const open = await gatewayMesh(t);
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5']) {
    const answer = await fetch(`${open.url}?query=%7B__typename%7D`, { headers: { accept } });
    t.is(answer.status, 405, accept);
    t.regex(answer.headers.get('content-type') ?? '', /json/);
  }
  t.is((await fetch(`${open.base}/graphql/explorer/../../package.json`)).status, 404);
  t.is((await fetch(`${open.base}/graphql/explorer/%2e%2e%2findex.js`)).status, 404);

  const production = await gatewayMesh(t, { env: { NODE_ENV: 'production' } });
  t.is((await fetch(production.url, { headers: asBrowser })).status, 405);
  t.is((await fetch(`${production.base}/graphql/explorer/main.js`)).status, 404);
  t.is((await fetch(`${production.base}/graphql/explorer/start.js`)).status, 404);
});
