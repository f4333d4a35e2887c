import { eventually } from '@parley/testing/eventually';
import type { ModelAnswer } from '@parley/testing/model-answer';
import test from 'ava';
import { type RecordedName, recordedAnswers } from '../src/models/testing/recorded-answers.ts';
import { agentReplicas, keyOf } from './agent-replicas.ts';
import { runTurn, unitOn } from './agent-turns.ts';
import { createAgent, inTenant } from './agent-unit.ts';

interface Refusal {
  text: string;
  /** How long the provider refuses requests, in ms from the first request. */
  forMs?: number;
  /** A request parameter that the provider always refuses. */
  refuses?: string;
}

const refusals: [RecordedName, Refusal][] = [
  ['openai-refuses-stream-options', { text: 'It works.', refuses: 'stream_options' }],
  ['openai-retry-after-negative', { text: 'After the wait.', forMs: 200 }],
  ['openai-retry-after-past', { text: 'After the wait.', forMs: 200 }],
  ['openai-retry-after-three-seconds', { text: 'After the wait.', forMs: 3_000 }],
];

/** Returns the script of a provider that refuses some requests and answers the rest. */
function refusing(name: RecordedName, { forMs = 0, refuses }: Refusal) {
  const answers = recordedAnswers(name);
  const [answer = {}] = answers.slice(-1);
  let firstMs: number | undefined;
  return (): ModelAnswer => {
    firstMs ??= performance.now();
    if (refuses !== undefined) return { ...answer, refuses };
    return performance.now() - firstMs < forMs ? (answers[0] ?? {}) : answer;
  };
}

const document = 'query ($input: GenerateTextInput!) { generateText(input: $input) { text finishReason } }';

for (const [name, refusal] of refusals) {
  for (const api of ['openai', 'openai-compatible'] as const) {
    test(`turns, greetings, direct calls and judgements are answered after a refusal: ${name}, ${api}`, async (t) => {
      const provider = api === 'openai' ? 'DIRECT_MODEL_API' : 'HOSTED_SMALL_MODEL';
      const unit = await unitOn(t, api, refusing(name, refusal), { [`${provider}_RETRIES`]: '1' });
      const { id } = await createAgent(unit, inTenant(1));
      const judgement = {
        agentId: id,
        sessionId: 1,
        operation: 'evaluation',
        callId: 'e',
        system: '',
        prompt: 'Judge.',
      };
      const turn = async (options: object) => {
        const { texts, finishReason, error } = await runTurn(unit, id, options);
        return { text: texts.join(''), finishReason, error };
      };
      const answers = await Promise.all([
        turn({ callId: 'turn' }),
        turn({ callId: 'greeting', opens: true, history: [], sessionId: 2 }),
        unit.graph(keyOf(1), document, { input: { prompt: 'Tell' } }).then(({ data }) => data?.['generateText']),
        unit.rpc.generate({ ...judgement, jsonSchemaJson: '' }, { caller: inTenant(1) }),
      ]);
      for (const answer of answers) t.like(answer, { text: refusal.text, finishReason: 'STOP' });

      await eventually('all are settled', () => unit.ledger.settled.length === answers.length);
      t.is(unit.ledger.open.size, 0);
      const { requests } = unit.server;
      t.true(requests.length > answers.length);
      const read = requests.filter(({ billed }) => billed !== undefined);
      t.is(read.length, answers.length, 'the provider bills what it answers');
      for (const { call, estimated, served } of unit.ledger.settled) {
        t.true(estimated && served);
        t.is(call?.tokensOut, refusal.text.split(' ').length + 1, 'words and a full stop');
      }
    });
  }

  test(`a text generation is answered after a refusal: ${name}`, async (t) => {
    const { replica, server, ledger } = await agentReplicas(t, { HOSTED_SMALL_MODEL_RETRIES: '1' });
    server.answerWith(refusing(name, refusal));
    const unit = await replica();
    const { requestId } = await unit.start(keyOf(1));
    const heard = await unit.listen(keyOf(1), requestId, '0-0');
    t.like(await heard.end(), { done: true, finishReason: 'STOP', error: null });
    t.is(heard.events.map((event) => event.text).join(''), refusal.text);
    await eventually('it is settled', () => ledger.settled.length === 1);
    t.like(ledger.settled, [{ estimated: true, served: true }]);
  });
}
