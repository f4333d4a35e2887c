import { estimateTokens } from '@parley/text/token-estimate';
import test from 'ava';
import { ask } from './testing/model-on-server.ts';
import { countRequestTokens, countTokens, loadTokenizer } from './token-counter.ts';

const sentence = 'The quick brown fox jumps over the lazy dog, and fractions are parts of a whole.';

test.serial("texts of OpenAI's models are counted by their tokenizers, those of others estimated", async (t) => {
  await Promise.all([loadTokenizer('gpt-4o'), loadTokenizer('gpt-4')]);
  t.is(await countTokens('gpt-4o', sentence), 18);
  for (const id of ['gpt-4.1-mini', 'gpt-5', 'o4-mini', 'openai/gpt-4o', 'openai.gpt-oss-20b-1:0', 'chatgpt-4o-latest'])
    t.is(await countTokens(id, sentence), 18, id);
  t.is(await countTokens('gpt-4', '你好'), 2);
  t.is(await countTokens('gpt-4o', '你好'), 1);
  for (const id of ['claude-sonnet-5', 'llama3.2', 'my-gpt-4', 'o', 'olmo-2'])
    t.is(await countTokens(id, sentence), estimateTokens(sentence), id);
});

test.serial('a count does not wait for the tokenizer to be loaded', async (t) => {
  const worker = new URL('token-counter.ts?unloaded', import.meta.url);
  const { countTokens: first } = (await import(worker.href)) as { countTokens: typeof countTokens };

  t.is(await first('gpt-4o', sentence), estimateTokens(sentence));
});

test.serial('several texts are counted together, and control tokens as texts', async (t) => {
  await loadTokenizer('gpt-4o');
  t.is(await countTokens('gpt-4o', sentence, sentence, ''), 36);
  t.true((await countTokens('gpt-4o', '<|endoftext|>')) > 1);
  t.is(await countTokens('gpt-4o'), 0);
});

test.serial('a request is counted with its system prompt, its roles and the images that the model takes', async (t) => {
  await loadTokenizer('gpt-4o');
  const request = ask(sentence, { images: ['data:image/png;base64,AAAA'] });
  const [system, message] = [await countTokens('gpt-4o', 'You are Ada.'), await countTokens('gpt-4o', sentence)];

  t.is(await countRequestTokens({ modelId: 'gpt-4o', vision: false }, request), system + message + 8);
  t.is(await countRequestTokens({ modelId: 'gpt-4o', vision: true }, request), system + message + 8 + 1_600);
  t.is(await countRequestTokens({ modelId: 'llama3.2', vision: false }, request), 23);
});

test.serial('counting a long text does not block the event loop', async (t) => {
  const long = 'a'.repeat(200_000);
  await loadTokenizer('gpt-4o');
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  t.teardown(() => clearImmediate(next));
  const tokens = await countTokens('gpt-4o', long, sentence.repeat(2_000));

  t.true(turns > 20, `${turns} turns of the event loop`);
  t.true(tokens > 20_000 && tokens < 110_000, String(tokens));
});
