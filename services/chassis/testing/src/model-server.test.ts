import test, { type ExecutionContext } from 'ava';
import { createGate } from './gate.ts';
import { type ModelServer, type ModelServerOptions, startModelServer } from './model-server.ts';

async function serverFor(t: ExecutionContext, options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = await startModelServer(options);
  t.teardown(() => server.stop());
  return server;
}

const send = (server: ModelServer, body: object = {}, signal: AbortSignal | null = null) =>
  fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hi there' }], ...body }),
    signal,
  });

const eventsOf = (body: string) =>
  body
    .split('\n\n')
    .filter(Boolean)
    .map((event) => event.replace(/^data: /u, ''));

test('a stream has the text word by word, then the finish reason, the requested usage, and [DONE]', async (t) => {
  const server = await serverFor(t, { script: { text: 'One two three' } });
  const response = await send(server, { stream: true, stream_options: { include_usage: true } });
  const events = eventsOf(await response.text());

  t.is(response.headers.get('content-type'), 'text/event-stream');
  t.is(events.at(-1), '[DONE]');
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
  t.deepEqual(
    chunks.map((chunk) => chunk.choices[0]?.delta.content),
    ['', 'One', ' two', ' three', undefined, undefined],
  );
  t.is(chunks.at(-2).choices[0].finish_reason, 'stop');
  t.deepEqual(chunks.at(-1).usage, { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 });
});

test('a request without a stream gets one whole answer', async (t) => {
  const server = await serverFor(t, {
    script: ({ messages }, index) => ({ text: `${index}: ${String(messages[0]?.content)}` }),
  });
  await send(server);
  const answer = await (await send(server)).json();

  t.like(answer, { object: 'chat.completion', choices: [{ message: { role: 'assistant', content: '1: Hi there' } }] });
  await server.until(({ counts }) => counts.finished === 2);
  t.deepEqual(server.counts, { started: 2, finished: 2, cancelled: 0, running: 0 });
});

test('a gate holds each delta until the test releases it', async (t) => {
  const gate = createGate();
  const server = await serverFor(t, { script: { text: 'One two', beforeDelta: gate } });
  const response = await send(server, { stream: true });
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();

  t.regex((await reader.read()).value ?? '', /"role":"assistant"/u);
  gate.release();
  t.regex((await reader.read()).value ?? '', /"content":"One"/u);
  t.is(server.counts.running, 1);
  gate.open();
  t.regex((await reader.read()).value ?? '', /"content":" two"/u);
});

test('a client that disconnects before the end is counted as cancelled', async (t) => {
  const server = await serverFor(t, { script: { beforeDelta: createGate() } });
  const controller = new AbortController();
  const response = await send(server, { stream: true }, controller.signal);
  controller.abort();

  await t.throwsAsync(response.text());
  await server.until(({ counts }) => counts.cancelled === 1);
  t.is(server.requests[0]?.state, 'cancelled');
});

test('a scripted cut breaks the answer, and is distinguished from a client that left', async (t) => {
  const server = await serverFor(t, { script: { ending: 'cut' } });
  const response = await send(server, { stream: true });

  await t.throwsAsync(response.text());
  t.is(server.requests[0]?.state, 'cut');
});

test('a wrong key is refused, and the right one lists the models', async (t) => {
  const server = await serverFor(t, { key: 'right', modelIds: ['a', 'b'] });

  t.is((await fetch(`${server.url}/models`)).status, 401);
  const listed = await fetch(`${server.url}/models`, { headers: { authorization: 'Bearer right' } });
  t.like(await listed.json(), { data: [{ id: 'a' }, { id: 'b' }] });
});

test('a request with a JSON schema gets the object of the script', async (t) => {
  const server = await serverFor(t, { script: { json: { score: 80 } } });
  const schema = { type: 'json_schema', json_schema: { name: 'judgement', schema: {} } };
  const answer = await (await send(server, { response_format: schema })).json();

  t.like(answer, { choices: [{ message: { content: '{"score":80}' } }] });
});

/** A request of each format, as its vendor documents it. */
const requests = {
  openai: {
    path: '/v1/chat/completions',
    body: { model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi there' }] },
  },
  anthropic: {
    path: '/v1/messages',
    body: {
      model: 'm',
      stream: true,
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi there' }] }],
    },
  },
  google: {
    path: '/v1beta/models/m:streamGenerateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi there' }] }] },
  },
  bedrock: {
    path: '/model/m/converse-stream',
    body: { messages: [{ role: 'user', content: [{ text: 'Hi there' }] }] },
  },
};

for (const [format, { path, body }] of Object.entries(requests)) {
  test(`${format}: a request is seen in OpenAI's terms, and its finished answer is billed`, async (t) => {
    const usage = { prompt_tokens: 10, completion_tokens: 3, cached_tokens: 4 };
    const server = await serverFor(t, { script: { usage, deltas: 'whole' } });
    const post = () =>
      fetch(new URL(path, server.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    t.true((await (await post()).text()).includes('Hello from the model server.'));
    server.answerWith({ ending: 'cut' });
    await t.throwsAsync(post().then((response) => response.text()));
    server.answerWith({ status: 500 });
    t.is((await post()).status, 500);
    server.answerWith({ usage: null });
    await (await post()).text();
    await server.until(({ counts }) => counts.running === 0);

    t.like(server.requests[0], { format, body: { model: 'm', messages: [{ role: 'user' }] }, path });
    t.deepEqual(server.requests[0]?.billed, { tokensIn: 10, tokensCached: 4, tokensOut: 3 });
    const words = server.requests[3]?.billed ?? { tokensIn: 0, tokensOut: 0 };
    t.is(words.tokensOut, 5, 'an answer without figures is billed too');
    t.deepEqual(server.billed, { tokensIn: 10 + words.tokensIn, tokensCached: 4, tokensOut: 8 });
  });
}

test('an answer without a stream has its calls, and the script sees the tools and results of a request', async (t) => {
  const server = await serverFor(t, {
    script: (_body, _index, { tools, results }) =>
      results.length > 0
        ? { text: results.map(({ text }) => text).join() }
        : { toolCalls: tools.map(({ name }) => ({ name })) },
  });
  const tools = [{ type: 'function', function: { name: 'clock', parameters: { type: 'object' } } }];
  const first = (await (await send(server, { tools })).json()) as { choices: { message: object }[] };
  t.like(first, {
    choices: [
      {
        finish_reason: 'tool_calls',
        message: { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }] },
      },
    ],
  });
  const messages = [first.choices[0]?.message, { role: 'tool', tool_call_id: 'call_1', content: 'noon' }];
  t.like(await (await send(server, { tools, messages })).json(), { choices: [{ message: { content: 'noon' } }] });
  t.deepEqual(server.requests[1]?.sent, {
    tools: [{ name: 'clock', schema: { type: 'object' } }],
    calls: [{ id: 'call_1', name: 'clock', arguments: {} }],
    results: [{ id: 'call_1', text: 'noon' }],
    signatures: [],
    thoughts: [],
  });
});

test('arguments are split where the script says, between the halves of a character too', async (t) => {
  const toolCalls = [{ name: 'clock', argumentsText: '"👋' }];
  const server = await serverFor(t, { script: { toolCalls, argumentDeltas: 'unit' } });
  const events = eventsOf(await (await send(server, { stream: true })).text());
  const deltas = events.slice(0, -1).flatMap((event) => JSON.parse(event).choices[0]?.delta?.tool_calls ?? []);
  t.deepEqual(
    deltas.map((call: { function: { arguments: string } }) => call.function.arguments),
    ['', '"', '\ud83d', '\udc4b'],
  );
});
