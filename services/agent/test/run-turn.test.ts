import { Role } from '@parley/protos/parley/agent/v1/agent';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { runTurn, unitWithModel } from './agent-turns.ts';
import { ada, agentUnit, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);
const hello = [{ role: Role.ROLE_USER, text: 'Hello!' }];

test('a turn streams the text of the offline model and ends with its usage', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const { texts, finished } = await runTurn(unit, id);

  t.true(texts.length > 3);
  t.regex(texts.join(''), /I am Ada, a patient maths tutor/);
  t.like(finished, { providerId: 'OFFLINE', modelId: 'offline-extractive', costUsdE8: 0n });
  t.is(finished?.tokensOut, Math.ceil(texts.join('').length / 4));
  t.true((finished?.contextTokens ?? 0) > 10);
});

test('the model gets name, persona, position, subject, greeting and conversation', async (t) => {
  const unit = await unitWithModel(t, { text: 'Fine.', usage: { prompt_tokens: 42, completion_tokens: 7 } });
  const { id } = await createAgent(unit, owner, { name: 'Countess Lovelace', subject: 'Fractions' });
  const { texts, requested, finished } = await runTurn(unit, id, {
    history: [
      { role: Role.ROLE_MODEL, text: 'Shall we begin?' },
      { role: Role.ROLE_USER, text: 'Yes.' },
      { role: Role.ROLE_MODEL, text: '' },
      { role: Role.ROLE_USER, text: 'What is a half?' },
    ],
  });

  t.deepEqual(texts, ['Fine.']);
  t.deepEqual(finished, {
    tokensIn: 42,
    tokensOut: 7,
    contextTokens: 42,
    costUsdE8: 0n,
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'small-1',
    estimated: false,
  });
  const [request] = unit.server.requests;
  t.is(request?.body.model, 'small-1');
  const [system, ...messages] = request?.body.messages ?? [];
  const characters = [system, ...messages].reduce((sum, message) => sum + String(message?.content).length, 0);
  t.deepEqual(requested, { contextTokens: Math.ceil(characters / 4) });
  t.is(system?.role, 'system');
  for (const part of [ada.personaPrompt, 'Countess Lovelace', 'Maths tutor', 'Fractions', 'Shall we begin?']) {
    t.true(String(system?.content).includes(part), part);
  }
  t.deepEqual(messages, [{ role: 'user', content: 'Yes.\n\nWhat is a half?' }]);
});

test('text is passed on before the model sends more', async (t) => {
  const next = createGate();
  const unit = await unitWithModel(t, { text: ['one ', 'two ', 'three'], beforeDelta: next });
  const { id } = await createAgent(unit, owner);
  next.release();
  // The model sends each delta only after this test has received the previous one.
  const { texts, finished } = await runTurn(unit, id, { onText: () => next.release() });
  t.deepEqual(texts, ['one ', 'two ', 'three']);
  t.truthy(finished);
});

test('a stream that arrives byte by byte or cut inside characters is intact', async (t) => {
  const text = 'Größe 👩‍👩‍👧‍👦 好 naïve';
  const unit = await unitWithModel(t, {});
  const { id } = await createAgent(unit, owner);
  for (const packets of ['byte', 'split-utf8'] as const) {
    unit.server.answerWith({ text, packets });
    const { texts, finished } = await runTurn(unit, id);
    t.is(texts.join(''), text, packets);
    t.true(texts.every((part) => part.isWellFormed()));
    t.truthy(finished);
  }
});

test('an interrupted stream is MODEL_FAILED after its text', async (t) => {
  const unit = await unitWithModel(t, {});
  const { id } = await createAgent(unit, owner);
  for (const ending of ['cut', 'error-event', 'malformed', 'unfinished'] as const) {
    unit.server.answerWith({ text: ['one ', 'two '], ending });
    const { texts, finished, error } = await runTurn(unit, id);
    t.is(texts.join(''), 'one two ', ending);
    t.is(finished, undefined, ending);
    t.like(error, { kind: 'internal', reason: 'MODEL_FAILED' }, ending);
  }
});

test('a model without an answer is MODEL_UNAVAILABLE, without details of the provider', async (t) => {
  const unit = await unitWithModel(t, {});
  const { id } = await createAgent(unit, owner);
  for (const script of [{ status: 503 }, { status: 429 }, { text: '' }]) {
    unit.server.answerWith(script);
    const { texts, error } = await runTurn(unit, id);
    const what = JSON.stringify(script);
    t.deepEqual(texts, [], what);
    t.like(error, { kind: 'unavailable', reason: 'MODEL_UNAVAILABLE' }, what);
    t.notRegex(String(error), /127\.0\.0\.1|scripted|\d{3}/i, what);
  }
});

test('a request that the provider refuses says what was refused, and nothing of the provider', async (t) => {
  const unit = await unitWithModel(t, {});
  const { id } = await createAgent(unit, owner);
  const tooLong = { status: 400, body: JSON.stringify({ error: { message: 'no', code: 'context_length_exceeded' } }) };
  for (const [script, message] of [
    [{ status: 401 }, 'The model provider refused the credentials'],
    [{ status: 404 }, 'The model provider does not have this model'],
    [{ status: 400 }, 'The model provider did not take the request'],
    [tooLong, 'The request is longer than the model takes'],
  ] as const) {
    unit.server.answerWith(script);
    const { texts, error } = await runTurn(unit, id);
    t.deepEqual(texts, [], message);
    t.like(error, { kind: 'invalid', reason: 'MODEL_REQUEST_REFUSED', message });
  }
});

test('a conversation that exceeds the context is halved until it fits, down to the last message', async (t) => {
  const tooLong = { status: 400, body: JSON.stringify({ error: { message: 'no', code: 'context_length_exceeded' } }) };
  const history = Array.from({ length: 9 }, (_, at) => ({
    role: at % 2 === 0 ? Role.ROLE_USER : Role.ROLE_MODEL,
    text: `message ${at}`,
  }));
  const unit = await unitWithModel(t, ({ messages }) => (messages.length > 4 ? tooLong : { text: 'Short.' }));
  const { id } = await createAgent(unit, owner);
  const { texts, finished } = await runTurn(unit, id, { history });
  t.deepEqual(texts, ['Short.']);
  t.truthy(finished);
  const asked = unit.server.requests.map(({ body }) => body.messages.slice(1).map(({ content }) => content));
  t.deepEqual(asked.slice(1), [['message 6', 'message 7', 'message 8']]);

  unit.server.answerWith(tooLong);
  t.like((await runTurn(unit, id, { history })).error, { kind: 'invalid', reason: 'MODEL_REQUEST_REFUSED' });
  t.is(unit.server.requests.at(-1)?.body.messages.length, 2);
});

test('a model without a first token in time is TURN_TIMEOUT', async (t) => {
  const unit = await unitWithModel(
    t,
    { beforeHeaders: createGate() },
    { HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: '50' },
  );
  const { id } = await createAgent(unit, owner);
  const { texts, error } = await runTurn(unit, id);
  t.deepEqual(texts, []);
  t.like(error, { kind: 'unavailable', reason: 'TURN_TIMEOUT' });
});

test('turns that wait for a slot are outside the first-token timeout, and an aborted one leaves the queue', async (t) => {
  const firstTokenMs = 2_000;
  const next = createGate();
  const unit = await unitWithModel(
    t,
    (_body, index) => (index === 0 ? { text: ['one ', 'two'], beforeDelta: next } : {}),
    {
      SESSION_TURNS_AT_ONCE: '1',
      HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: String(firstTokenMs),
    },
  );
  const { id } = await createAgent(unit, owner);
  const other = await createAgent(unit, inTenant(2));
  const firstText = createGate();
  const first = runTurn(unit, id, { onText: () => firstText.open() });
  next.release();
  await firstText.pass();
  const waiting = [runTurn(unit, id), runTurn(unit, id), runTurn(unit, other.id, { caller: inTenant(2) })];
  const controller = new AbortController();
  const aborted = runTurn(unit, id, { signal: controller.signal });
  const fromMs = performance.now();
  await eventually('a first word would be late', () => performance.now() - fromMs > 1.2 * firstTokenMs);
  controller.abort();
  t.like(await aborted, { requested: undefined, error: { name: 'AbortError' } });
  t.is(unit.server.requests.length, 1);
  next.open();
  for (const { finished, requested } of await Promise.all([first, ...waiting])) t.truthy(finished && requested);
  t.is(unit.server.requests.length, 4);
});

test('cancelling a turn before its first text cancels the request to the model', async (t) => {
  const unit = await unitWithModel(t, { beforeDelta: createGate() });
  const { id } = await createAgent(unit, owner);
  const cancel = new AbortController();
  const silent = runTurn(unit, id, { signal: cancel.signal });
  await unit.server.until(({ counts }) => counts.running === 1);
  cancel.abort();
  t.deepEqual((await silent).texts, []);
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});

test('cancelling a turn after its first text cancels the request to the model', async (t) => {
  const next = createGate();
  const unit = await unitWithModel(t, { text: ['one ', 'two '], beforeDelta: next });
  const { id } = await createAgent(unit, owner);
  const cancel = new AbortController();
  next.release();
  const { texts, finished, error } = await runTurn(unit, id, { signal: cancel.signal, onText: () => cancel.abort() });
  t.deepEqual(texts, ['one ']);
  t.is(finished, undefined);
  t.like(error, { name: 'AbortError' });
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});

test('a deleted or inactive agent still answers running sessions', async (t) => {
  const unit = await unitWithModel(t, { text: 'Still here.' });
  const { id } = await createAgent(unit, owner);
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { status: INACTIVE }) { id } }`);
  t.is((await runTurn(unit, id)).texts.join(''), 'Still here.');
  await unit.graph(owner, `mutation { deleteAgent(id: ${id}) }`);
  t.is((await runTurn(unit, id)).texts.join(''), 'Still here.');
});

test('a turn reads the database once before the model is called', async (t) => {
  const unit = await unitWithModel(t, { text: 'Yes.' });
  const { id } = await createAgent(unit, owner, { llmProviderOverride: 'DIRECT_MODEL_API' });
  const before = unit.transactions();
  await runTurn(unit, id);
  t.is(unit.transactions() - before, 1);
});

test('a history that does not end with a user message is refused', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  for (const history of [
    [],
    [...hello, { role: Role.ROLE_MODEL, text: 'Hi.' }],
    [{ role: Role.ROLE_UNSPECIFIED, text: 'Boo' }],
  ]) {
    t.like((await runTurn(unit, id, { history })).error, { kind: 'invalid', fields: [{ path: 'history' }] });
  }
});
