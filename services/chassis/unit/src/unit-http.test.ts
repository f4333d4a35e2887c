import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { withRequestId } from '@parley/kernel/telemetry/request-context';
import { eventually } from '@parley/testing/eventually';
import { startSilentServer } from '@parley/testing/silent-server';
import test, { type ExecutionContext } from 'ava';
import { type UnitHttpOptions, unitHttp } from './unit-http.ts';

const { signal } = new AbortController();

/** A client of the unit `bells`. The unit's server calls `answer`. */
async function clientOf(
  t: ExecutionContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  limits: Partial<UnitHttpOptions> = {},
) {
  const server = createServer(answer);
  const address = await listen(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const addresses = createAddresses({ BELLS_HTTP_URL: `http://${address}` });
  return unitHttp({ unit: 'bells', addresses, timeoutMs: 60_000, maxBytes: 1_000, ...limits });
}

test('a call by HTTP has its token, body and request id, and resolves with any status', async (t) => {
  const seen: IncomingMessage[] = [];
  const call = await clientOf(t, (request, response) => {
    seen.push(request);
    response.writeHead(418).end('short and stout');
  });
  const answer = await withRequestId('r-1', () =>
    call('/ring', { method: 'POST', token: 'abc', body: { a: 1 }, signal }),
  );
  t.is(answer.status, 418);
  t.is(answer.body.toString(), 'short and stout');
  t.like(seen[0], { method: 'POST', url: '/ring' });
  t.like(seen[0]?.headers, { authorization: 'Bearer abc', 'content-type': 'application/json', 'x-request-id': 'r-1' });
});

test('a unit that is down or silent, answers too much or redirects is unavailable', async (t) => {
  const silent = await startSilentServer();
  t.teardown(() => silent.stop());
  const limits = { unit: 'bells', timeoutMs: 60_000, maxBytes: 1_000 };
  const at = (address: string, more = {}) =>
    unitHttp({ ...limits, addresses: createAddresses({ BELLS_HTTP_URL: address }), ...more });
  const cases = {
    'no address': unitHttp({ ...limits, addresses: createAddresses({}) }),
    refused: at('http://127.0.0.1:1'),
    silent: at(silent.url.replace('https', 'http'), { timeoutMs: 50 }),
    large: await clientOf(t, (_, response) => void response.end('x'.repeat(1_001))),
    cut: await clientOf(t, (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('x');
      setImmediate(() => response.destroy());
    }),
    elsewhere: await clientOf(
      t,
      (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1' }).end(),
    ),
  };
  for (const [what, call] of Object.entries(cases)) {
    const error = await t.throwsAsync(call('/', { signal }), undefined, what);
    t.like(error, {
      kind: 'unavailable',
      message: 'The bells service is not available at the moment; try again in a while',
    });
    t.truthy(error?.cause, what);
  }
});

test('an aborted signal cancels the HTTP call', async (t) => {
  let isCancelled = false;
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const call = await clientOf(t, (_, response) => {
    response.once('close', () => {
      isCancelled = true;
    });
    isAsked();
  });
  const leaving = new AbortController();
  const answer = call('/', { signal: leaving.signal });
  await asked;
  leaving.abort(new Error('left'));
  t.is((await t.throwsAsync(answer))?.message, 'left');
  await eventually('the call is cancelled', () => isCancelled);
  t.is((await t.throwsAsync(call('/', { signal: leaving.signal })))?.message, 'left');
});
