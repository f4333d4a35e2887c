import test from 'ava';
import { saysTooLong } from './too-long.ts';

const error = (message: string, more: object = {}) => JSON.stringify({ error: { message, ...more } });

const tooLong: [endpoint: string, status: number, answer: string][] = [
  [
    'OpenAI',
    400,
    error(
      "This model's maximum context length is 8192 tokens, however you requested 10001 tokens (10001 in your prompt; 0 for the completion). Please reduce your prompt; or completion length.",
      { type: 'invalid_request_error', code: null },
    ),
  ],
  ['OpenAI, newer', 400, error("Invalid 'input[3]': maximum input length is 8192 tokens.")],
  ['Azure', 400, error('Too long', { code: 'context_length_exceeded' })],
  [
    'vLLM',
    400,
    JSON.stringify({
      object: 'error',
      message:
        "This model's maximum context length is 512 tokens. However, you requested 900 tokens in the input for embedding generation. Please reduce the length of the input.",
      code: 400,
    }),
  ],
  [
    'TEI',
    413,
    JSON.stringify({
      error: 'Input validation error: `inputs` must have less than 512 tokens. Given: 900',
      error_type: 'Validation',
    }),
  ],
  [
    'TEI, its OpenAI route behind a proxy',
    422,
    JSON.stringify({ message: '`inputs` must have less than 512 tokens. Given: 900', type: 'Validation' }),
  ],
  [
    'llama.cpp',
    500,
    error('input is too large to process. increase the physical batch size', { type: 'server_error' }),
  ],
  [
    'llama.cpp, newer',
    400,
    error('request (900 tokens) exceeds the available context size (512 tokens), try increasing it', {
      type: 'exceed_context_size_error',
    }),
  ],
  ['Ollama', 400, JSON.stringify({ error: 'the input length exceeds the context length' })],
  [
    'Bedrock, Titan',
    400,
    JSON.stringify({ message: 'Too many input tokens. Max input tokens: 8192, request input token count: 9000' }),
  ],
  [
    'Bedrock, Cohere',
    400,
    JSON.stringify({
      message:
        'Malformed input request: #/texts/0: expected maxLength: 2048, actual: 3000, please reformat your input and try again.',
    }),
  ],
  ['Mistral', 400, JSON.stringify({ message: 'Input id 0 has 9000 tokens, exceeding max 8192 tokens.', code: 3210 })],
  ['Mistral, a batch', 400, JSON.stringify({ message: 'Too many tokens overall, split into more batches.' })],
  [
    'Gemini',
    400,
    error('The input token count (3000) exceeds the maximum number of tokens allowed (2048).', {
      status: 'INVALID_ARGUMENT',
    }),
  ],
  ['NIM', 400, error('Input length 600 exceeds maximum allowed token size 512')],
  ['LiteLLM', 400, error('litellm.ContextWindowExceededError: ContextWindowExceededError: OpenAIException')],
  ['a proxy', 413, '<html><title>413 Request Entity Too Large</title></html>'],
  ['sentence-transformers', 500, 'The size of tensor a (600) must match the size of tensor b (512)'],
  ['plain words', 400, 'input too long'],
];
for (const [endpoint, status, answer] of tooLong) {
  test(`a refusal of a too long text is recognized: ${endpoint}`, (t) => t.true(saysTooLong(status, answer)));
}

const others: [endpoint: string, status: number, answer: string][] = [
  ['no dimensions', 400, error('This model does not support specifying dimensions.', { param: 'dimensions' })],
  ['an unknown model', 404, error('The model `x` does not exist or you do not have access to it.')],
  ['a wrong key', 401, error('Incorrect API key provided: sk-x.')],
  ['a blank text', 400, error("'$.input' is invalid. Please check the API reference.")],
  [
    'too many requests',
    429,
    error(
      'Rate limit reached for model in organization on tokens per minute (TPM): Limit 40000, Requested 50000. Input is too large.',
    ),
  ],
  ['an outage', 503, '<html>Service Unavailable</html>'],
  ['no text', 400, ''],
];
for (const [endpoint, status, answer] of others) {
  test(`other refusals are not recognized as those of a too long text: ${endpoint}`, (t) =>
    t.false(saysTooLong(status, answer)));
}
