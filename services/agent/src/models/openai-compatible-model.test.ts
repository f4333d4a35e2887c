import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { answerOf, ask, eventsOf, modelOn, textOf, uncancelled } from './testing/model-on-server.ts';

test('a streamed answer ends with the usage reported by the provider', async (t) => {
  const { model } = await modelOn(t, { text: 'One two three', usage: { prompt_tokens: 11, completion_tokens: 7 } });

  t.deepEqual(await eventsOf(model.stream(ask('Count'), uncancelled)), [
    { type: 'text', text: 'One' },
    { type: 'text', text: ' two' },
    { type: 'text', text: ' three' },
    { type: 'finish', tokensIn: 11, tokensCached: 0, tokensOut: 7, estimated: false, finishReason: 'stop' },
  ]);
});

test('text is passed on as soon as the provider has sent it', async (t) => {
  const gate = createGate();
  const { model, server } = await modelOn(t, { text: 'One two', beforeDelta: gate });
  const stream = model.stream(ask('Count'), uncancelled)[Symbol.asyncIterator]();

  gate.release();
  t.deepEqual((await stream.next()).value, { type: 'text', text: 'One' });
  t.is(server.counts.running, 1);
  gate.open();
  t.deepEqual((await stream.next()).value, { type: 'text', text: ' two' });
  await stream.return?.();
});

test('a request has system prompt, conversation, maximum of tokens and usage option', async (t) => {
  const { model, server } = await modelOn(t, {}, { key: 'secret', maxOutputTokens: 100 });
  const messages = [
    { role: 'user' as const, text: 'Hi' },
    { role: 'assistant' as const, text: 'Hello' },
    { role: 'user' as const, text: 'Half a character: \ud83d' },
  ];
  await eventsOf(model.stream({ system: 'You are Ada.', messages, maxOutputTokens: 5_000 }, uncancelled));
  await answerOf(model, { system: '', messages, maxOutputTokens: 20 });

  const [first, second] = server.requests;
  t.is(first?.headers.authorization, 'Bearer secret');
  t.like(first?.body, { model: 'm', stream: true, stream_options: { include_usage: true }, max_tokens: 100 });
  t.deepEqual(first?.body.messages, [
    { role: 'system', content: 'You are Ada.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
    { role: 'user', content: 'Half a character: \ufffd' },
  ]);
  t.is(second?.body.messages[0]?.role, 'user');
  t.is(second?.body.max_tokens, 20);
});

test('without reported usage, tokens are estimated as characters / 4', async (t) => {
  const { model } = await modelOn(t, { text: ['👋👋👋', '👋👋'], usage: null });
  const request = { system: '12345678', messages: [{ role: 'user' as const, text: '🙂🙂🙂🙂' }] };

  t.like(await answerOf(model, request), { tokensIn: 3, tokensOut: 2 });
});

for (const packets of ['byte', 'split-utf8'] as const) {
  test(`multi-byte characters survive packets cut by ${packets}`, async (t) => {
    const text = 'Grüße 你好 👩‍👩‍👧 ½ नमस्ते';
    const { model } = await modelOn(t, { text, packets });

    t.is(textOf(await eventsOf(model.stream(ask('Greet'), uncancelled))), text);
  });
}

test('a surrogate pair split over two deltas is joined', async (t) => {
  const { model } = await modelOn(t, { text: ['a\ud83d', '\ude42b', 'c\ud83d'] });
  const events = await eventsOf(model.stream(ask('Smile'), uncancelled));

  t.deepEqual(events.slice(0, -1), [
    { type: 'text', text: 'a' },
    { type: 'text', text: '🙂b' },
    { type: 'text', text: 'c' },
    { type: 'text', text: '\ufffd' },
  ]);
});

test('a JSON request sends the schema and returns JSON text', async (t) => {
  const { model, server } = await modelOn(t, { json: { score: 80 } });
  const schema = { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] };
  const { text } = await answerOf(model, ask('Judge', { json: { schema, name: 'judgement' } }));

  t.deepEqual(JSON.parse(text), { score: 80 });
  t.deepEqual(server.requests[0]?.body.response_format, {
    type: 'json_schema',
    json_schema: { name: 'judgement', schema, strict: true },
  });
});

test('cancelling during an answer cancels the request at the provider', async (t) => {
  const gate = createGate();
  const { model, server } = await modelOn(t, { text: 'One two', beforeDelta: gate });
  const controller = new AbortController();
  const stream = model.stream(ask('Count'), { signal: controller.signal })[Symbol.asyncIterator]();
  gate.release();
  await stream.next();
  const next = stream.next();
  controller.abort();

  await t.throwsAsync(next, { name: 'AbortError' });
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('leaving a stream early cancels the request at the provider', async (t) => {
  const gate = createGate();
  const { model, server } = await modelOn(t, { text: 'One two', beforeDelta: gate });
  gate.release();
  for await (const event of model.stream(ask('Count'), uncancelled)) {
    t.deepEqual(event, { type: 'text', text: 'One' });
    break;
  }

  await server.until(({ counts }) => counts.cancelled === 1);
  t.pass();
});

test('a call with an aborted signal never reaches the provider', async (t) => {
  const { model, server } = await modelOn(t, {});
  const signal = AbortSignal.abort();

  await t.throwsAsync(eventsOf(model.stream(ask('Tell'), { signal })), { name: 'AbortError' });
  t.is(server.counts.started, 0);
});

test('sequential calls reuse connections, and concurrent calls stay within the limit', async (t) => {
  const { model, server } = await modelOn(t, {}, { connections: 2 });
  for (let call = 0; call < 5; call++) await eventsOf(model.stream(ask('Tell'), uncancelled));
  t.true(server.connections <= 2);

  await Promise.all(Array.from({ length: 10 }, () => eventsOf(model.stream(ask('Tell'), uncancelled))));
  t.is(server.counts.finished, 15);
  t.true(server.connections <= 2);
});
