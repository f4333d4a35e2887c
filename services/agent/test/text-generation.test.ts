import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { agentReplicas, keyOf } from './agent-replicas.ts';

test('states: a listener gets the text in pieces and one final event, after which none arrives, and the call is metered', async (t) => {
  const { replica, server, ledger } = await agentReplicas(t);
  const [one, two] = [await replica(), await replica()];
  const beforeDelta = createGate();
  const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
  server.answerWith({ text: ['Hello ', 'there ', 'you.'], beforeDelta, usage });
  const { requestId } = await one.start(keyOf(1));
  const [here, there] = [await one.listen(keyOf(1), requestId), await two.listen(keyOf(1, 10), requestId)];
  beforeDelta.open();
  const end = await here.end();
  t.deepEqual(end, {
    requestId,
    eventId: here.ids.at(-1) ?? '',
    text: '',
    done: true,
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'gpt-4o',
    error: null,
    finishReason: 'STOP',
  });
  await there.end();
  for (const { events } of [here, there]) {
    t.is(events.map(({ text }) => text).join(''), 'Hello there you.');
    t.is(events.filter(({ done }) => done).length, 1);
    t.true(
      events.slice(0, -1).every(({ providerId, modelId, error }) => providerId === null && modelId === null && !error),
    );
  }
  await eventually('it is settled', () => ledger.settled.length === 1);
  // allow-name startTextGeneration: the operation's name in the ledger
  t.like(ledger.settled[0]?.call, { operation: 'startTextGeneration', apiKeyId: 9, costUsdE8: 350_000n });
  t.is(ledger.open.size, 0);
});

test('a generation continues without a listener, and a listener after its end gets no events', async (t) => {
  const { replica, server, ledger } = await agentReplicas(t);
  const unit = await replica();
  server.answerWith({ text: 'Nobody hears this.' });
  const { requestId } = await unit.start(keyOf(1));
  await eventually('it is settled', () => ledger.settled.length === 1);
  t.like(ledger.settled, [{ served: true }]);
  const late = await unit.listen(keyOf(1), requestId);
  const next = await unit.start(keyOf(1));
  const other = await unit.listen(keyOf(1), next.requestId);
  await eventually('the next one is settled', () => ledger.settled.length === 2);
  t.deepEqual(late.events, []);
  t.true(other.events.every((event) => event.requestId === next.requestId));
});

test('a listener that names an event gets those after it, and with 0 all, also after the end and of a refused call', async (t) => {
  const { replica, server, ledger } = await agentReplicas(t);
  const [one, two] = [await replica(), await replica()];
  server.answerWith({ text: ['Hello ', 'there ', 'you.'] });
  const { requestId } = await one.start(keyOf(1));
  await eventually('it is settled', () => ledger.settled.length === 1);
  const whole = await two.listen(keyOf(1), requestId, '', '0');
  await whole.end();
  t.is(whole.events.map(({ text }) => text).join(''), 'Hello there you.');
  t.deepEqual(
    whole.events.map(({ eventId }) => eventId),
    whole.ids,
  );
  const rest = await one.listen(keyOf(1), requestId, '', whole.ids[0]);
  await rest.end();
  t.deepEqual(rest.events, whole.events.slice(1));

  server.answerWith({ status: 403 });
  const refused = await one.start(keyOf(1));
  await eventually('the refused one is settled', () => ledger.settled.length === 2);
  const late = await two.listen(keyOf(1), refused.requestId, '', '0');
  t.like(await late.end(), { done: true, error: 'The model provider refused the credentials', finishReason: null });

  t.like(await t.throwsAsync(one.listen(keyOf(1), requestId, '', 'x')), { kind: 'invalid' });
  t.like(await t.throwsAsync(one.listen(keyOf(2), requestId, '', '0')), { kind: 'forbidden' });
});

test('states, errors, limits: a requestId is FORBIDDEN after ten minutes and to another tenant; an open stream is not cut', async (t) => {
  const { replica, server, later } = await agentReplicas(t);
  const unit = await replica();
  const beforeDelta = createGate();
  server.answerWith({ text: 'Late.', beforeDelta });
  const { requestId } = await unit.start(keyOf(1));
  for (const [caller, id] of [
    [keyOf(2), requestId],
    [keyOf(1), 'no such request'],
    [keyOf(1), '00000000-0000-4000-8000-000000000000'],
  ] as const) {
    t.like(await t.throwsAsync(unit.listen(caller, id)), { kind: 'forbidden' });
  }
  const person = { kind: 'user', tenantId: 1, userId: 2, requestId: 'r' } as const;
  t.like(await t.throwsAsync(unit.listen(person, requestId)), { kind: 'unauthenticated' });
  later(10 * 60_000 - 5_000);
  const listener = await unit.listen(keyOf(1), requestId);
  later(10 * 60_000 + 1_000);
  t.like(await t.throwsAsync(unit.listen(keyOf(1), requestId)), { kind: 'forbidden' });
  // Both the job's lease and the time for new listeners have expired. Even so, the open stream receives the end of the job.
  await listener.end();
});

test('a listener whose stream was lost goes on at another replica after its last event, however old the generation is', async (t) => {
  const { replica, server, later } = await agentReplicas(t);
  const [one, two] = [await replica(), await replica()];
  const beforeDelta = createGate();
  server.answerWith({ text: ['Hello ', 'there ', 'you.'], beforeDelta });
  const { requestId } = await one.start(keyOf(1));
  const lost = await one.listen(keyOf(1), requestId);
  beforeDelta.open();
  await lost.end();
  later(11 * 60_000);
  const { events, end } = await two.listen(keyOf(1), requestId, lost.ids[0]);
  await end();
  t.deepEqual(events, lost.events.slice(1));
  t.true(events.length > 0);

  const foreign = await two.listen(keyOf(2), requestId, lost.ids[0]);
  const own = await two.listen(keyOf(1), requestId, lost.ids[0]);
  await own.end();
  t.deepEqual(foreign.events, [], 'whose tail began before');
});

test('errors: at the spend cap startTextGeneration starts nothing', async (t) => {
  const { replica, server, ledger } = await agentReplicas(t);
  const unit = await replica();
  ledger.cap = 0n;
  const { error } = await unit.start(keyOf(1));
  t.like(error?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  t.is(server.connections, 0);
});

for (const [how, script, served] of [
  ['before its first word', { status: 500 }, false],
  ['in the middle', { text: 'One two', ending: 'cut' }, true],
  ['by an error in its stream', { text: 'One two', ending: 'error-event' }, true],
] as const) {
  test(`errors: a provider that fails ${how} ends it with a terminal event whose error is safe to show`, async (t) => {
    const { replica, server, ledger } = await agentReplicas(t);
    const unit = await replica();
    const beforeHeaders = createGate();
    server.answerWith({ ...script, beforeHeaders });
    const { requestId } = await unit.start(keyOf(1));
    const { events, end } = await unit.listen(keyOf(1), requestId);
    beforeHeaders.open();
    const { error, text, providerId } = await end();
    t.regex(error ?? '', /^The model/);
    t.notRegex(JSON.stringify(events), /canary|127\.0\.0\.1|\bat \//);
    t.deepEqual([text, providerId], ['', null]);
    t.is(events.filter(({ done }) => done).length, 1);
    await eventually('it is settled', () => ledger.settled.length === 1);
    t.like(ledger.settled, [{ served }]);
  });
}

test('a generation whose process dies is ended once by another, without asking the model again', async (t) => {
  const { replica, server } = await agentReplicas(t);
  const dying = await replica();
  server.answerWith({ text: 'Never said.', beforeDelta: createGate() });
  const { requestId } = await dying.start(keyOf(1));
  const { end } = await dying.listen(keyOf(1), requestId);
  await server.until(({ counts }) => counts.running === 1);
  await dying.kill();
  await replica({ soleOwner: true });
  t.like(await end(), { error: 'The generation was lost; start it again', done: true });
  t.is(server.requests.length, 1);
});

test('a generation that has ended is not ended again by a process that takes its job over', async (t) => {
  const { replica, server } = await agentReplicas(t);
  const dying = await replica();
  const beforeDelta = createGate();
  server.answerWith({ text: 'Said.', beforeDelta });
  const { requestId } = await dying.start(keyOf(1));
  const { events, end } = await dying.listen(keyOf(1), requestId);
  await dying.kill();
  beforeDelta.open();
  t.like(await end(), { error: null });
  const heir = await replica({ soleOwner: true });
  await eventually('its job is done', async () => (await heir.jobs()) === 0);
  t.is(events.filter(({ done }) => done).length, 1);
});

test('a tenant may run at most a hundred generations, and other tenants are not affected', async (t) => {
  const { replica, server } = await agentReplicas(t);
  const unit = await replica();
  const beforeHeaders = createGate();
  t.teardown(() => beforeHeaders.open());
  server.answerWith({ beforeHeaders });
  const started = await Promise.all(Array.from({ length: 101 }, () => unit.start(keyOf(1))));
  const refused = started.filter(({ error }) => error);
  t.deepEqual(
    refused.map(({ error }) => error?.extensions['code']),
    ['TOO_MANY_REQUESTS'],
  );
  t.is((await unit.start(keyOf(2))).error, undefined);
});
