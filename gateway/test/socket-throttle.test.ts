import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requestScheduler } from '@parley/kernel/queues/request-scheduler';
import { createLogger } from '@parley/kernel/telemetry/log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { buildSchema } from 'graphql';
import { readGatewayConfig } from '../src/config.ts';
import { createDocuments } from '../src/graph/documents.ts';
import type { FieldRules } from '../src/graph/field-rules.ts';
import { createThrottle } from '../src/limits/throttle.ts';
import { replayScheduler } from '../src/socket/replay-scheduler.ts';
import { socketServer } from '../src/socket/socket-server.ts';
import { attachSubscriptions } from '../src/socket/subscriptions.ts';
import { openSocket } from './support/socket.ts';

const rules: FieldRules = new Map([
  ['Subscription.news', { by: ['JWT'], throttle: { requests: 2, windowSeconds: 60 } }],
  ['Subscription.weather', { by: ['JWT'] }],
]);

/** Serves sockets over a schema with a throttled subscription. */
async function throttledSockets(t: ExecutionContext) {
  const log = createLogger('test');
  const config = readGatewayConfig({ AVATAR_TOKEN_KEYS: `t1:${Buffer.alloc(32).toString('base64')}` });
  const schema = buildSchema('type Query { a: Int } type Subscription { news: Int weather: Int }');
  const one = async function* () {
    yield { eventId: '1-0', occurredAtMs: undefined, payload: {} };
  };
  attachSubscriptions(schema, { news: one, weather: one });
  for (const field of Object.values(schema.getSubscriptionType()?.getFields() ?? {})) field.resolve = () => 1;
  const throttle = createThrottle({ rules, keyValue: memoryKeyValue(), onDegraded: () => undefined, log });
  const http = createServer();
  const sockets = socketServer({
    http,
    schema: () => schema,
    config,
    documents: createDocuments({ ...config, schema: () => schema }),
    authenticate: async (_fields, _presented, origin) => ({ kind: 'anonymous', tenantId: null, ...origin }),
    throttle,
    open: {
      admit: async () => 'admitted',
      drop: () => undefined,
      recheck: () => undefined,
      stop: () => undefined,
    },
    replays: replayScheduler(),
    scheduler: requestScheduler(),
    originOf: ({ url = '' }: IncomingMessage) => ({
      ip: new URL(url, 'http://x').searchParams.get('ip') ?? '',
      requestId: 'r',
    }),
    log,
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    await sockets.close();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return {
    throttle,
    from: (ip: string) => openSocket(t, `http://127.0.0.1:${port}/graphql?ip=${ip}`, { 'x-app-platform': 'customer' }),
  };
}

test('subscriptions count in the throttle windows of HTTP, by address, and a refused one leaves the socket open', async (t) => {
  const { throttle, from } = await throttledSockets(t);
  const news: Parameters<typeof throttle>[0] = [{ type: 'Subscription', name: 'news' }];
  t.is((await throttle(news, '10.0.0.1'))?.refused, undefined, 'one by HTTP');
  const socket = from('10.0.0.1');
  t.is(await eventually('the second is served', socket.subscribe('subscription { news }').ended), 'complete');
  const refused = socket.subscribe('subscription { again: news }');
  t.like(await eventually('the third is refused', refused.ended), [
    { extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } },
  ]);
  t.is((await throttle(news, '10.0.0.1'))?.refused?.remaining, 0, 'by HTTP as well');
  t.is(await eventually('another is served', socket.subscribe('subscription { weather }').ended), 'complete');
  t.is(await eventually('and another address', from('10.0.0.2').subscribe('subscription { news }').ended), 'complete');
  t.is(socket.closed(), undefined);
});
