import test from 'ava';
import { eventMessages } from './event-messages.ts';
import type { Exchange } from './exchange.ts';

function exchange(): Exchange {
  const counts = { isAnswered: false, isOver: false, isResumable: false, resumed: 0, messages: 0, asked: 0 };
  return {
    headers: {},
    timeoutMs: 1_000,
    id: '7',
    kept: {},
    signal: new AbortController().signal,
    fail: () => {},
    ...counts,
  };
}

async function passed(context: Exchange, messages: object[]): Promise<string> {
  const body = new Blob(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`)).stream();
  return new Response(body.pipeThrough(eventMessages(context, async (_, work) => work()))).text();
}

test('only the first notice of changed tools in an exchange is passed on', async (t) => {
  const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const events = await passed(exchange(), [...Array.from({ length: 2_000 }, () => changed), { id: 7, result: {} }]);
  t.is(events.split('list_changed').length - 1, 1);
  t.is(events.split('data:').length - 1, 2);
});

test('the first result is kept, and the SDK gets an empty one', async (t) => {
  const context = exchange();
  const events = await passed(context, [
    { id: 6, result: { of: 'another request' } },
    { id: 7, result: { content: ['first'] } },
    { id: 7, result: { content: ['second'] } },
  ]);
  t.deepEqual(context.kept, { result: { content: ['first'] } });
  t.true(events.startsWith('data: {"jsonrpc":"2.0","id":7,"result":{}}\n\n'));
  t.false(events.includes('first'));
});
