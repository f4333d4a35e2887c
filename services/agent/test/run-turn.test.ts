import { Role } from '@parley/protos/parley/agent/v1/agent';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { turn, unitOn } from './agent-turns.ts';
import { ada, agentUnit, inTenant, made } from './agent-unit.ts';

const owner = inTenant(1);
const hello = [{ role: Role.ROLE_USER, text: 'Hello!' }];

test('a turn streams the words of the offline model and ends with its figures', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner);
  const { texts, finished } = await turn(unit, id);

  t.true(texts.length > 3);
  t.regex(texts.join(''), /I am Ada, a patient maths tutor/);
  t.like(finished, { providerId: 'OFFLINE', modelId: 'offline-extractive', costUsdE8: 0n });
  t.is(finished?.tokensOut, Math.ceil(texts.join('').length / 4));
  t.true((finished?.contextTokens ?? 0) > 10);
});

test('the model is told name, persona, position, subject and its greeting, and the conversation', async (t) => {
  const unit = await unitOn(t, { text: 'Fine.', usage: { prompt_tokens: 42, completion_tokens: 7 } });
  const { id } = await made(unit, owner, { name: 'Countess Lovelace', subject: 'Fractions' });
  const { texts, asking, finished } = await turn(unit, id, {
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
  });
  const [request] = unit.server.requests;
  t.is(request?.body.model, 'small-1');
  const [system, ...messages] = request?.body.messages ?? [];
  const characters = [system, ...messages].reduce((sum, message) => sum + String(message?.content).length, 0);
  t.deepEqual(asking, { contextTokens: Math.ceil(characters / 4), textsBefore: 0 });
  t.is(system?.role, 'system');
  for (const part of [ada.personaPrompt, 'Countess Lovelace', 'Maths tutor', 'Fractions', 'Shall we begin?']) {
    t.true(String(system?.content).includes(part), part);
  }
  t.deepEqual(messages, [{ role: 'user', content: 'Yes.\n\nWhat is a half?' }]);
});

test('what the model says passes on before it says more', async (t) => {
  const next = createGate();
  const unit = await unitOn(t, { text: ['one ', 'two ', 'three'], beforeDelta: next });
  const { id } = await made(unit, owner);
  next.release();
  // Each delta is let out only when the one before it has arrived here.
  const { texts, finished } = await turn(unit, id, { onText: () => next.release() });
  t.deepEqual(texts, ['one ', 'two ', 'three']);
  t.truthy(finished);
});

test('a stream that arrives byte by byte, or cut inside characters, is whole', async (t) => {
  const text = 'Größe 👩‍👩‍👧‍👦 好 naïve';
  const unit = await unitOn(t, {});
  const { id } = await made(unit, owner);
  for (const packets of ['byte', 'split-utf8'] as const) {
    unit.server.answerWith({ text, packets });
    const { texts, finished } = await turn(unit, id);
    t.is(texts.join(''), text, packets);
    t.true(texts.every((part) => part.isWellFormed()));
    t.truthy(finished);
  }
});

test('a stream that breaks fails after what was said', async (t) => {
  const unit = await unitOn(t, {});
  const { id } = await made(unit, owner);
  for (const ending of ['cut', 'error-event', 'malformed', 'unfinished'] as const) {
    unit.server.answerWith({ text: ['one ', 'two '], ending });
    const { texts, finished, error } = await turn(unit, id);
    t.is(texts.join(''), 'one two ', ending);
    t.is(finished, undefined, ending);
    t.like(error, { kind: 'internal', reason: 'MODEL_FAILED' }, ending);
  }
});

test('a model that does not begin to answer is unavailable, and what it said instead is not told', async (t) => {
  const unit = await unitOn(t, {});
  const { id } = await made(unit, owner);
  for (const script of [{ status: 503 }, { status: 429 }, { status: 401 }, { status: 400 }, { text: '' }]) {
    unit.server.answerWith(script);
    const { texts, error } = await turn(unit, id);
    const what = JSON.stringify(script);
    t.deepEqual(texts, [], what);
    t.like(error, { kind: 'unavailable', reason: 'MODEL_UNAVAILABLE' }, what);
    t.notRegex(String(error), /127\.0\.0\.1|scripted|\d{3}/i, what);
  }
});

test('a model that takes less of a conversation is asked for less, down to the message alone', async (t) => {
  const tooLong = { status: 400, body: JSON.stringify({ error: { message: 'no', code: 'context_length_exceeded' } }) };
  const history = Array.from({ length: 9 }, (_, at) => ({
    role: at % 2 === 0 ? Role.ROLE_USER : Role.ROLE_MODEL,
    text: `message ${at}`,
  }));
  const unit = await unitOn(t, ({ messages }) => (messages.length > 4 ? tooLong : { text: 'Short.' }));
  const { id } = await made(unit, owner);
  const { texts, finished } = await turn(unit, id, { history });
  t.deepEqual(texts, ['Short.']);
  t.truthy(finished);
  const asked = unit.server.requests.map(({ body }) => body.messages.slice(1).map(({ content }) => content));
  t.deepEqual(asked.slice(1), [['message 6', 'message 7', 'message 8']]);

  unit.server.answerWith(tooLong);
  t.like((await turn(unit, id, { history })).error, { kind: 'unavailable', reason: 'MODEL_UNAVAILABLE' });
  t.is(unit.server.requests.at(-1)?.body.messages.length, 2);
});

test('a model that does not begin in time has timed out', async (t) => {
  const unit = await unitOn(t, { beforeHeaders: createGate() }, { HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: '50' });
  const { id } = await made(unit, owner);
  const { texts, error } = await turn(unit, id);
  t.deepEqual(texts, []);
  t.like(error, { kind: 'unavailable', reason: 'TURN_TIMEOUT' });
});

test('turns beyond the places wait without being asked, for longer than a first word may take, and are answered', async (t) => {
  const firstTokenMs = 2_000;
  const next = createGate();
  const unit = await unitOn(t, (_body, index) => (index === 0 ? { text: ['one ', 'two'], beforeDelta: next } : {}), {
    SESSION_TURNS_AT_ONCE: '1',
    HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: String(firstTokenMs),
  });
  const { id } = await made(unit, owner);
  const other = await made(unit, inTenant(2));
  const heard = createGate();
  const first = turn(unit, id, { onText: () => heard.open() });
  next.release();
  await heard.pass();
  const waiting = [turn(unit, id), turn(unit, id), turn(unit, other.id, { caller: inTenant(2) })];
  const gone = new AbortController();
  const givenUp = turn(unit, id, { signal: gone.signal });
  const fromMs = performance.now();
  await eventually('a first word would be late', () => performance.now() - fromMs > 1.2 * firstTokenMs);
  gone.abort();
  t.like(await givenUp, { asking: undefined, error: { name: 'AbortError' } });
  t.is(unit.server.requests.length, 1);
  next.open();
  for (const { finished, asking } of await Promise.all([first, ...waiting])) t.truthy(finished && asking);
  t.is(unit.server.requests.length, 4);
});

test('cancelling a turn before its first word cancels the request to the model', async (t) => {
  const unit = await unitOn(t, { beforeDelta: createGate() });
  const { id } = await made(unit, owner);
  const cancel = new AbortController();
  const silent = turn(unit, id, { signal: cancel.signal });
  await unit.server.until(({ counts }) => counts.running === 1);
  cancel.abort();
  t.deepEqual((await silent).texts, []);
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});

test('cancelling a turn after its first word cancels the request to the model', async (t) => {
  const next = createGate();
  const unit = await unitOn(t, { text: ['one ', 'two '], beforeDelta: next });
  const { id } = await made(unit, owner);
  const cancel = new AbortController();
  next.release();
  const { texts, finished, error } = await turn(unit, id, { signal: cancel.signal, onText: () => cancel.abort() });
  t.deepEqual(texts, ['one ']);
  t.is(finished, undefined);
  t.like(error, { name: 'AbortError' });
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});

test('a running session goes on when its agent is deleted or switched off', async (t) => {
  const unit = await unitOn(t, { text: 'Still here.' });
  const { id } = await made(unit, owner);
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { status: INACTIVE }) { id } }`);
  t.is((await turn(unit, id)).texts.join(''), 'Still here.');
  await unit.graph(owner, `mutation { deleteAgent(id: ${id}) }`);
  t.is((await turn(unit, id)).texts.join(''), 'Still here.');
});

test('one read of the database stands before the model is asked', async (t) => {
  const unit = await unitOn(t, { text: 'Yes.' });
  const { id } = await made(unit, owner, { llmProviderOverride: 'DIRECT_MODEL_API' });
  const before = unit.transactions();
  await turn(unit, id);
  t.is(unit.transactions() - before, 1);
});

test('a history without a message to answer is refused', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner);
  for (const history of [
    [],
    [...hello, { role: Role.ROLE_MODEL, text: 'Hi.' }],
    [{ role: Role.ROLE_UNSPECIFIED, text: 'Boo' }],
  ]) {
    t.like((await turn(unit, id, { history })).error, { kind: 'invalid', fields: [{ path: 'history' }] });
  }
});
