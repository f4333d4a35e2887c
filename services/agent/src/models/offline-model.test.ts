import test from 'ava';
import { offlineModel } from './offline-model.ts';
import { ask, eventsOf, patiently, textOf } from './testing/model-on-server.ts';
import { naughtyTexts } from './testing/naughty-texts.ts';

test('it names itself and says that it is offline', (t) => {
  t.like(offlineModel(), { providerId: 'OFFLINE', modelId: 'offline-extractive', offline: true });
});

test('the streamed words join to the whole answer, with the same figures', async (t) => {
  const model = offlineModel();
  for (const text of naughtyTexts) {
    const request = ask(text, { system: `You are Ada. ${text}` });
    const whole = await model.generate(request, patiently);
    const events = await eventsOf(model.stream(request, patiently));

    t.is(textOf(events), whole.text);
    t.true(whole.text.isWellFormed());
    t.deepEqual(events.at(-1), {
      type: 'finish',
      tokensIn: whole.tokensIn,
      tokensOut: whole.tokensOut,
      finishReason: 'stop',
    });
  }
});

test('an answer streams word by word and lets other work through in between', async (t) => {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const events = await eventsOf(offlineModel().stream(ask('Hello'), patiently));
  counting = false;

  t.true(events.length > 5);
  t.true(turns >= events.length - 2);
});

test('cancelling stops it at once, in the middle of its pace too', async (t) => {
  const controller = new AbortController();
  const reason = new Error('interrupted');
  const stream = offlineModel({ wordPaceMs: 3_600_000 }).stream(ask('Hello'), controller)[Symbol.asyncIterator]();
  t.like(await stream.next(), { done: false });
  const next = stream.next();
  controller.abort(reason);

  t.is(await t.throwsAsync(next), reason);
  t.like(await stream.next(), { done: true });
});

test('a call that was cancelled before it began says nothing', async (t) => {
  const cancelled = { signal: AbortSignal.abort() };

  await t.throwsAsync(eventsOf(offlineModel().stream(ask('Hello'), cancelled)), { name: 'AbortError' });
  await t.throwsAsync(offlineModel().generate(ask('Hello'), cancelled), { name: 'AbortError' });
});

test('the maximum of tokens is kept and told', async (t) => {
  const result = await offlineModel().generate(ask('Hello', { maxOutputTokens: 2 }), patiently);

  t.like(result, { text: 'Hello! I', tokensOut: 2, finishReason: 'length' });
});

test('a judgement as JSON is refused: it cannot give one', async (t) => {
  const json = { schema: { type: 'object' }, name: 'judgement' };

  const error = await t.throwsAsync(offlineModel().generate(ask('Judge', { json }), patiently));
  t.like(error, { name: 'ModelError', kind: 'badRequest', retryable: false });
  await t.throwsAsync(eventsOf(offlineModel().stream(ask('Judge', { json }), patiently)), { name: 'ModelError' });
});
