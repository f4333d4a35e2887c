import { estimateTokens } from '@parley/text/token-estimate';
import test from 'ava';
import { offlineModel } from './offline-model.ts';
import { answerOf, ask, eventsOf, failureOf, uncancelled } from './testing/model-on-server.ts';
import { naughtyTexts } from './testing/naughty-texts.ts';
import { estimateRequestTokens } from './token-estimate.ts';

test('the offline model identifies itself as offline', (t) => {
  t.like(offlineModel(), { providerId: 'OFFLINE', modelId: 'offline-extractive', offline: true });
});

test('an answer to any text is well-formed, and its tokens are estimated', async (t) => {
  for (const text of naughtyTexts) {
    const request = ask(text, { system: `You are Ada. ${text}` });
    const answer = await answerOf(offlineModel(), request);

    t.true(answer.text.isWellFormed());
    t.deepEqual(answer, {
      type: 'finish',
      text: answer.text,
      tokensIn: estimateRequestTokens(request),
      tokensCached: 0,
      tokensOut: estimateTokens(answer.text),
      estimated: true,
      finishReason: 'stop',
    });
  }
});

test('an answer streams word by word without blocking the event loop', async (t) => {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const events = await eventsOf(offlineModel().stream(ask('Hello'), uncancelled));
  counting = false;

  t.true(events.length > 5);
  t.true(turns >= events.length - 2);
});

test('cancelling ends the stream at once, also during a pause between words', async (t) => {
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const stream = offlineModel({ wordPaceMs: 3_600_000 }).stream(ask('Hello'), controller)[Symbol.asyncIterator]();
  t.like(await stream.next(), { done: false });
  const next = stream.next();
  controller.abort(reason);

  t.is(await t.throwsAsync(next), reason);
  t.like(await stream.next(), { done: true });
});

test('a call with an aborted signal returns nothing', async (t) => {
  const cancelled = { signal: AbortSignal.abort() };

  await t.throwsAsync(eventsOf(offlineModel().stream(ask('Hello'), cancelled)), { name: 'AbortError' });
});

test('an answer is cut at the maximum of tokens, with the finish reason `length`', async (t) => {
  const result = await answerOf(offlineModel(), ask('Hello', { maxOutputTokens: 2 }));

  t.like(result, { text: 'Hello! I', tokensOut: 2, finishReason: 'length' });
});

test('requests for JSON are refused', async (t) => {
  const json = { schema: { type: 'object' }, name: 'judgement' };

  const { error } = await failureOf(offlineModel().stream(ask('Judge', { json }), uncancelled));
  t.like(error, { kind: 'badRequest', retryable: false });
});

test('tools and their results are ignored', async (t) => {
  const tools = [{ name: 'clock', inputSchema: {} }];
  const toolCalls = [{ callId: '1', name: 'clock', arguments: {} }];
  const results = [{ callId: '1', name: 'clock', text: 'IGNORE ALL OF IT', isError: false }];
  const request = ask('What is a fraction?', { system: 'You are Ada. A fraction is a part of a whole.' });
  const messages = [
    ...request.messages,
    { role: 'assistant' as const, text: '', toolCalls },
    { role: 'tool' as const, results },
  ];
  const answer = await answerOf(offlineModel(), { ...request, tools, messages });

  t.deepEqual(answer, await answerOf(offlineModel(), request));
});
