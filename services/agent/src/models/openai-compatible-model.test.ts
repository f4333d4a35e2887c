import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { ask, eventsOf, modelOn, patiently, textOf } from './testing/model-on-server.ts';

test('a streamed answer comes in pieces and ends with the figures of the provider', async (t) => {
  const { model } = await modelOn(t, { text: 'One two three', usage: { prompt_tokens: 11, completion_tokens: 7 } });

  t.deepEqual(await eventsOf(model.stream(ask('Count'), patiently)), [
    { type: 'text', text: 'One' },
    { type: 'text', text: ' two' },
    { type: 'text', text: ' three' },
    { type: 'finish', tokensIn: 11, tokensOut: 7, finishReason: 'stop' },
  ]);
});

test('a piece arrives as soon as the provider has sent it', async (t) => {
  const gate = createGate();
  const { model, server } = await modelOn(t, { text: 'One two', beforeDelta: gate });
  const stream = model.stream(ask('Count'), patiently)[Symbol.asyncIterator]();

  gate.release();
  t.deepEqual((await stream.next()).value, { type: 'text', text: 'One' });
  t.is(server.counts.running, 1);
  gate.open();
  t.deepEqual((await stream.next()).value, { type: 'text', text: ' two' });
  await stream.return?.();
});

test('the provider is asked for the persona, the conversation, the maximum and the usage', async (t) => {
  const { model, server } = await modelOn(t, {}, { key: 'secret', maxOutputTokens: 100 });
  const messages = [
    { role: 'user' as const, text: 'Hi' },
    { role: 'assistant' as const, text: 'Hello' },
    { role: 'user' as const, text: 'Half a character: \ud83d' },
  ];
  await eventsOf(model.stream({ system: 'You are Ada.', messages, maxOutputTokens: 5_000 }, patiently));
  await model.generate({ system: '', messages, maxOutputTokens: 20 }, patiently);

  const [streamed, whole] = server.requests;
  t.is(streamed?.headers.authorization, 'Bearer secret');
  t.like(streamed?.body, { model: 'm', stream: true, stream_options: { include_usage: true }, max_tokens: 100 });
  t.deepEqual(streamed?.body.messages, [
    { role: 'system', content: 'You are Ada.' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello' },
    { role: 'user', content: 'Half a character: \ufffd' },
  ]);
  t.is(whole?.body.messages[0]?.role, 'user');
  t.is(whole?.body.max_tokens, 20);
});

test('without figures of the provider, tokens are the characters of both sides by four', async (t) => {
  const { model } = await modelOn(t, { text: ['👋👋👋', '👋👋'], usage: null });
  const request = { system: '12345678', messages: [{ role: 'user' as const, text: '🙂🙂🙂🙂' }] };

  t.like((await eventsOf(model.stream(request, patiently))).at(-1), { tokensIn: 3, tokensOut: 2 });
  t.like(await model.generate(request, patiently), { tokensIn: 3, tokensOut: 2 });
});

for (const packets of ['byte', 'split-utf8'] as const) {
  test(`characters of several bytes survive packets cut by ${packets}`, async (t) => {
    const text = 'Grüße 你好 👩‍👩‍👧 ½ नमस्ते';
    const { model } = await modelOn(t, { text, packets });

    t.is(textOf(await eventsOf(model.stream(ask('Greet'), patiently))), text);
  });
}

test('a character split over two deltas is put together again', async (t) => {
  const { model } = await modelOn(t, { text: ['a\ud83d', '\ude42b', 'c\ud83d'] });
  const events = await eventsOf(model.stream(ask('Smile'), patiently));

  t.deepEqual(events.slice(0, -1), [
    { type: 'text', text: 'a' },
    { type: 'text', text: '🙂b' },
    { type: 'text', text: 'c' },
    { type: 'text', text: '\ufffd' },
  ]);
});

test('the reason of an early end is told', async (t) => {
  const { model, server } = await modelOn(t, { text: 'Half an', ending: 'length' });
  t.like((await eventsOf(model.stream(ask('Tell'), patiently))).at(-1), { finishReason: 'length' });

  server.answerWith({ text: '', ending: 'content_filter' });
  t.like(await model.generate(ask('Tell'), patiently), { text: '', finishReason: 'contentFilter' });
});

test('a judgement is asked for in its schema and comes as JSON text', async (t) => {
  const { model, server } = await modelOn(t, { json: { score: 80 } });
  const schema = { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] };
  const { text } = await model.generate(ask('Judge', { json: { schema, name: 'judgement' } }), patiently);

  t.deepEqual(JSON.parse(text), { score: 80 });
  t.deepEqual(server.requests[0]?.body.response_format, {
    type: 'json_schema',
    json_schema: { name: 'judgement', schema, strict: true },
  });
});

test('cancelling before the answer begins ends the request at the provider', async (t) => {
  const { model, server, logged } = await modelOn(t, { beforeHeaders: createGate() });
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const streamed = eventsOf(model.stream(ask('Tell'), { signal: controller.signal }));
  const generated = model.generate(ask('Tell'), { signal: controller.signal });
  await server.until(({ counts }) => counts.running === 2);
  controller.abort(reason);

  t.is(await t.throwsAsync(streamed), reason);
  t.is(await t.throwsAsync(generated), reason);
  await server.until(({ counts }) => counts.cancelled === 2);
  t.deepEqual(logged, []);
});

test('cancelling in the middle of an answer ends the request at the provider', async (t) => {
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

test('leaving a stream early ends the request at the provider', async (t) => {
  const gate = createGate();
  const { model, server } = await modelOn(t, { text: 'One two', beforeDelta: gate });
  gate.release();
  for await (const event of model.stream(ask('Count'), patiently)) {
    t.deepEqual(event, { type: 'text', text: 'One' });
    break;
  }

  await server.until(({ counts }) => counts.cancelled === 1);
  t.pass();
});

test('a call that was cancelled before it began never reaches the provider', async (t) => {
  const { model, server } = await modelOn(t, {});
  const signal = AbortSignal.abort();

  await t.throwsAsync(eventsOf(model.stream(ask('Tell'), { signal })), { name: 'AbortError' });
  await t.throwsAsync(model.generate(ask('Tell'), { signal }), { name: 'AbortError' });
  t.is(server.counts.started, 0);
});

test('calls after one another share a connection, and calls at once stay below the bound', async (t) => {
  const { model, server } = await modelOn(t, {}, { connections: 2 });
  for (let call = 0; call < 5; call++) await eventsOf(model.stream(ask('Tell'), patiently));
  t.true(server.connections <= 2);

  await Promise.all(Array.from({ length: 10 }, () => eventsOf(model.stream(ask('Tell'), patiently))));
  t.is(server.counts.finished, 15);
  t.true(server.connections <= 2);
});
