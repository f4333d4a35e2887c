import test from 'ava';
import type { ModelRequest } from './model.ts';
import { ask, eventsOf, failureOf, modelOn, textOf, uncancelled } from './testing/model-on-server.ts';
import { toolSupport } from './tool-support.ts';

const tools = [{ name: 'look_up', inputSchema: { type: 'object', properties: { word: { type: 'string' } } } }];

const refusals: [who: string, status: number, body: unknown][] = [
  [
    'Ollama',
    400,
    { error: { message: 'registry.ollama.ai/library/gemma:2b does not support tools', type: 'api_error' } },
  ],
  ['Ollama, its own API', 400, { error: 'registry.ollama.ai/library/gemma:2b does not support tools' }],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      type: 'BadRequestError',
      code: 400,
    },
  ],
  ['llama.cpp', 500, { error: { code: 500, message: 'tools param requires --jinja flag', type: 'server_error' } }],
  ['llama.cpp before', 500, { error: { code: 500, message: 'Unsupported param: tools', type: 'server_error' } }],
  [
    'OpenAI',
    400,
    {
      error: {
        message: "Unsupported parameter: 'tools' is not supported with this model.",
        type: 'invalid_request_error',
        param: 'tools',
        code: 'unsupported_parameter',
      },
    },
  ],
  ['OpenRouter', 404, { error: { message: 'No endpoints found that support tool use.', code: 404 } }],
  [
    'Groq',
    400,
    { error: { message: '`tool calling` is not supported with this model', type: 'invalid_request_error' } },
  ],
  [
    'DeepSeek',
    400,
    { error: { message: 'deepseek-reasoner does not support Function Calling', code: 'invalid_request_error' } },
  ],
  [
    'LiteLLM',
    400,
    {
      error: { message: "litellm.UnsupportedParamsError: ollama does not support parameters: ['tools']", code: '400' },
    },
  ],
  [
    'Google',
    400,
    {
      error: {
        code: 400,
        message: 'Function calling is not enabled for models/gemma-3-27b-it',
        status: 'INVALID_ARGUMENT',
      },
    },
  ],
  [
    'Google, unknown field',
    400,
    { error: { code: 400, message: 'Tool use with function calling is unsupported', status: 'INVALID_ARGUMENT' } },
  ],
  ['Bedrock', 400, { message: "This model doesn't support tool use." }],
  ['Bedrock, streamed', 400, { message: "This model doesn't support tool use in streaming mode." }],
  [
    'FastAPI',
    422,
    { detail: [{ type: 'extra_forbidden', loc: ['body', 'tools'], msg: 'Extra inputs are not permitted' }] },
  ],
];

for (const [who, status, body] of refusals) {
  test(`a refusal of tools is recognised: ${who}`, async (t) => {
    const api = who.startsWith('Bedrock') ? 'bedrock' : who.startsWith('Google') ? 'google' : 'openai-compatible';
    const { model, server, logged } = await modelOn(
      t,
      (_body, _index, sent) => (sent.tools.length > 0 ? { status, body: JSON.stringify(body) } : { text: 'Yes.' }),
      { api, key: 'id:secret' },
    );
    t.is(textOf(await eventsOf(model.stream(ask('Hi', { tools }), uncancelled))), 'Yes.');
    t.is(server.counts.started, 2);
    t.is(logged.length, 1);
  });
}

const schemaRefusals: [who: string, status: number, message: string][] = [
  ['OpenAI', 400, "Invalid schema for function 'look_up': schema must be a JSON Schema of 'type: \"object\"'"],
  ['Anthropic', 400, 'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12'],
  [
    'Google',
    400,
    'Invalid JSON payload received. Unknown name "x" at \'tools[0].function_declarations[0].parameters.properties[0]\'',
  ],
  [
    'Bedrock',
    400,
    'The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.',
  ],
  ['vLLM', 400, 'The provided JSON schema contains features not supported by xgrammar.'],
];

for (const [who, status, message] of schemaRefusals) {
  test(`a refusal of schemas leaves the tools: ${who}`, async (t) => {
    const { model, server } = await modelOn(t, (_body, _index, sent) =>
      JSON.stringify(sent.tools).includes('"word":{')
        ? { status, body: JSON.stringify({ error: { message } }) }
        : { text: 'Yes.' },
    );
    t.is(textOf(await eventsOf(model.stream(ask('Hi', { tools }), uncancelled))), 'Yes.');
    t.is(server.requests[1]?.sent.tools[0]?.name, 'look_up');
  });
}

test('any other failure of a request with tools is reported, and asked only once', async (t) => {
  for (const [status, message] of [
    [400, 'Bad request'],
    [401, 'tools are not supported with this key'],
    [429, 'Too many function calls; not available'],
    [503, 'The model is overloaded'],
    [500, 'CUDA out of memory'],
  ] as const) {
    const { model, server, logged } = await modelOn(t, { status, body: JSON.stringify({ error: { message } }) });
    await failureOf(model.stream(ask('Hi', { tools }), uncancelled));
    t.is(server.counts.started, 1, message);
    t.is(logged.length, 1);
  }
});

test('a model that also refuses the request without tools is not remembered as refusing tools', async (t) => {
  const body = JSON.stringify({ error: { message: 'Tools are not supported' } });
  const { model, server } = await modelOn(t, { status: 400, body });
  const { error } = await failureOf(model.stream(ask('Hi', { tools }), uncancelled));
  t.is(error.kind, 'badRequest');
  server.answerWith({});
  await eventsOf(model.stream(ask('Hi', { tools }), uncancelled));
  t.deepEqual(
    server.requests.map(({ sent }) => sent.tools.length),
    [1, 0, 1],
  );
});

test('a refusal applies to the same tools only, expires after ten minutes, and is logged once', (t) => {
  let nowMs = 1_000;
  const logged: unknown[] = [];
  const log = { warn: (fields: object) => void logged.push(fields) };
  const support = toolSupport({ providerId: 'P', modelId: 'm' }, log, () => nowMs);
  const request: ModelRequest = ask('Hi', { tools });
  const other: ModelRequest = ask('Hi', { tools: tools.map((tool) => ({ ...tool, name: 'other' })) });

  t.is(support.adapted(request), request);
  support.learned('schemas', request);
  t.deepEqual(support.adapted(request).tools?.[0]?.inputSchema, { type: 'object', properties: {} });
  t.is(support.adapted(other), other, 'others keep their schemas');
  support.learned('tools', request);
  t.deepEqual(support.adapted(request).tools, []);
  t.is(support.adapted(other), other, "and what is refused for some tools is asked for anybody else's");
  nowMs += 10 * 60_000 + 1;
  t.is(support.adapted(request), request);
  support.learned('tools', request);
  t.is(logged.length, 2);
});
