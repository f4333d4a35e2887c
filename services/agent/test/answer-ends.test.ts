import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import type { ApiName } from '../src/models/testing/apis.ts';
import { type RecordedName, recordedAnswer } from '../src/models/testing/recorded-answers.ts';
import { agentReplicas, keyOf } from './agent-replicas.ts';
import { runTurn, unitOn } from './agent-turns.ts';
import { createAgent, inTenant } from './agent-unit.ts';

interface Seen {
  api: ApiName;
  text?: string;
  finishReason?: 'STOP' | 'LENGTH' | 'CONTENT_FILTER';
  /** The failure's reason; undefined if the call succeeds. */
  reason?: string;
  /** Tokens that the provider bills; `estimated` if the provider's answer contains no usage. */
  billed: { tokensIn: number; tokensOut: number } | 'estimated';
}

const half = 'This is cut in the mid';
const openai = { api: 'openai', billed: 'estimated' } as const;
const google = { api: 'google', billed: 'estimated' } as const;
const nothing = { tokensIn: 0, tokensOut: 0 };

const answers: [RecordedName, Seen][] = [
  [
    'anthropic-max-tokens',
    { api: 'anthropic', text: half, finishReason: 'LENGTH', billed: { tokensIn: 25, tokensOut: 8 } },
  ],
  ['anthropic-refusal', { api: 'anthropic', reason: 'MODEL_DECLINED', billed: { tokensIn: 25, tokensOut: 1 } }],
  [
    'anthropic-unknown-event',
    { api: 'anthropic', text: 'Visible answer.', finishReason: 'STOP', billed: { tokensIn: 25, tokensOut: 8 } },
  ],
  [
    'anthropic-unknown-delta',
    { api: 'anthropic', text: 'Visible answer.', finishReason: 'STOP', billed: { tokensIn: 25, tokensOut: 8 } },
  ],
  ['google-blocked-prompt', { api: 'google', reason: 'MODEL_DECLINED', billed: { tokensIn: 12, tokensOut: 0 } }],
  ['google-safety', { ...google, reason: 'MODEL_DECLINED' }],
  ['google-recitation', { ...google, text: 'It was the best ', finishReason: 'CONTENT_FILTER' }],
  [
    'google-max-tokens-no-text',
    { api: 'google', reason: 'MODEL_LIMIT_REACHED', billed: { tokensIn: 40, tokensOut: 4_096 } },
  ],
  ['google-malformed-after-words', { ...google, text: 'The answer is ', reason: 'MODEL_FAILED' }],
  ['openai-content-filter', { ...openai, text: 'I can say that much', finishReason: 'CONTENT_FILTER' }],
  ['openai-content-filter-no-words', { ...openai, reason: 'MODEL_DECLINED' }],
  ['openai-length-with-text', { ...openai, text: half, finishReason: 'LENGTH' }],
  ['openai-length-no-content', { ...openai, reason: 'MODEL_LIMIT_REACHED' }],
  ['openai-error-before-words', { api: 'openai', reason: 'MODEL_UNAVAILABLE', billed: nothing }],
  ['openai-error-after-words', { ...openai, text: 'The answer is ', reason: 'MODEL_FAILED' }],
  ['openai-event-after-done', { ...openai, text: 'Good morning.', finishReason: 'STOP' }],
  ['openai-thinks-aloud', { ...openai, text: 'Forty-two.', finishReason: 'STOP' }],
  ['openai-slow-thoughts', { ...openai, text: 'At last.', finishReason: 'STOP' }],
];

const retries = { DIRECT_MODEL_API_RETRIES: '0' };
const document = 'query ($input: GenerateTextInput!) { generateText(input: $input) { text finishReason } }';

for (const [name, { api, text = '', finishReason, reason, billed }] of answers) {
  test(`turns, greetings, direct calls and judgements know how an answer ends: ${name}`, async (t) => {
    const unit = await unitOn(t, api, recordedAnswer(name), retries);
    const { id } = await createAgent(unit, inTenant(1));

    for (const options of [{}, { opens: true, history: [] }]) {
      const { texts, error, ...reply } = await runTurn(unit, id, options);
      t.is(texts.join(''), text);
      t.is(reply.finishReason, finishReason);
      t.is((error as { reason?: string } | undefined)?.reason, reason);
    }

    const { data, errors } = await unit.graph(keyOf(1), document, { input: { prompt: 'Tell' } });
    t.deepEqual(data?.['generateText'] ?? undefined, reason ? undefined : { text, finishReason });
    t.is(errors?.[0]?.extensions['reason'], reason);
    const isLasting = reason === 'MODEL_DECLINED' || reason === 'MODEL_LIMIT_REACHED';
    if (reason) t.is(errors?.[0]?.extensions['code'], isLasting ? 'BAD_REQUEST' : 'UNAVAILABLE');

    const judgement = { agentId: id, sessionId: 1, operation: 'evaluation', callId: 'e', system: '', prompt: 'Judge.' };
    const options = { caller: inTenant(1), expectedErrors: ['invalid' as const] };
    const judging = unit.rpc.generate({ ...judgement, jsonSchemaJson: '' }, options);
    if (reason) t.like(await t.throwsAsync(judging), { reason: isLasting ? reason : 'MODEL_UNAVAILABLE' });
    else t.like(await judging, { text, finishReason });

    await eventually('all are settled', () => unit.ledger.settled.length === 4);
    for (const { call, estimated } of unit.ledger.settled) {
      t.is(estimated, billed === 'estimated');
      if (billed === 'estimated') t.true((call?.tokensIn ?? 0) > 0);
      else t.like(call, billed);
    }
    t.is(unit.ledger.open.size, 0);
  });

  test(`the last event of a text generation says how it ended: ${name}`, async (t) => {
    const { replica, server, ledger } = await agentReplicas(t, ({ urls }) => ({
      ...retries,
      LLM_DEFAULT_PROVIDER: 'DIRECT_MODEL_API',
      DIRECT_MODEL_API_API: api,
      DIRECT_MODEL_API_URL: urls[api],
      DIRECT_MODEL_API_KEY: 'k',
      DIRECT_MODEL_API_MODEL: 'gpt-4o',
    }));
    server.answerWith(recordedAnswer(name));
    const unit = await replica();
    const { requestId } = await unit.start(keyOf(1));
    const heard = await unit.listen(keyOf(1), requestId, '0-0');
    const end = await heard.end();

    t.is(heard.events.map((event) => event.text).join(''), text);
    t.like(end, { done: true, finishReason: finishReason ?? null });
    t.is(end.error !== null, reason !== undefined);
    await eventually('it is settled', () => ledger.settled.length === 1);
    if (billed !== 'estimated') t.like(ledger.settled[0]?.call, billed);
  });
}

test('what fails before its first word within a 200 is answered by the next provider, and costs nothing', async (t) => {
  const { replica, server, ledger } = await agentReplicas(t, ({ urls }) => ({
    ...retries,
    LLM_DEFAULT_PROVIDER: 'DIRECT_MODEL_API',
    LLM_FALLBACKS: 'HOSTED_SMALL_MODEL',
    DIRECT_MODEL_API_URL: urls.openai,
    DIRECT_MODEL_API_KEY: 'k',
    DIRECT_MODEL_API_MODEL: 'gpt-4o-mini',
  }));
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  server.answerWith(({ model }) =>
    model === 'gpt-4o-mini' ? recordedAnswer('openai-error-before-words') : { text: 'From the next.', usage },
  );
  const unit = await replica();
  const { data } = await unit.graph(keyOf(1), document, { input: { prompt: 'Tell' } });

  t.deepEqual(data?.['generateText'], { text: 'From the next.', finishReason: 'STOP' });
  await eventually('it is settled', () => ledger.settled.length === 1);
  t.like(ledger.settled, [{ estimated: false, call: { tokensIn: 100, tokensOut: 10 } }]);
});
