import { randomUUID } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { newAccount, type Tokens } from '../src/client.ts';
import { converse, endSession, evaluated, follow, interruptSession, sendMessage } from '../src/conversation.ts';
import { callerWithKey, pricedProvider } from '../src/direct-calls.ts';
import { modelKey } from '../src/forwarder.ts';
import { idpOneSecret, loginWithTicket, newProviderAccount, ticketFor } from '../src/identity-provider.ts';
import type { TestMesh } from '../src/mesh.ts';
import { foundIn, type Observed, observe, type Span } from '../src/observe.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

story(
  'one trace leads from sendMessage to the last chunk, and one from endSession to the evaluation, by link',
  async (t, mesh) => {
    const observed = observe(mesh);
    const requestIds = await converseToTheEnd(t, mesh);
    const seen = () => tracesIn(spansOf(observed, requestIds));
    // Each process sends its own spans, in its own time.
    await eventually('both traces are whole', () => isWhole(seen())).catch(() => undefined);

    const { turn, inTurn, beforeTurn, judging, inJudging, cause, beforeJudging } = seen();
    t.true(includes(inTurn, /RunTurn$/), `the call of agent: ${inTurn}`);
    t.true(includes(inTurn, /^chat /), `the model's: ${inTurn}`);
    t.true(includes(beforeTurn, /^gateway request$/), beforeTurn.join(' < '));
    t.true(includes(beforeTurn, /^session/), beforeTurn.join(' < '));
    t.true(includes(inJudging, /^chat /), inJudging.join());
    t.true(includes(beforeJudging, /^gateway request$/), beforeJudging.join(' < '));
    t.not(cause?.traceId, judging?.traceId);
    t.not(cause?.traceId, turn?.traceId);
  },
);

story('no span is without its parent', async (t, mesh) => {
  const observed = observe(mesh);
  const requestIds = await converseToTheEnd(t, mesh);
  await observed.allWritten();
  const mine = () => spansOf(observed, requestIds);
  const orphans = () => {
    const spans = mine();
    const known = new Set(spans.map(({ spanId }) => spanId));
    return spans.filter(({ parentSpanId }) => parentSpanId && !known.has(parentSpanId)).map(({ name }) => name);
  };
  await eventually('the last parents are there', () => orphans().length === 0).catch(() => undefined);
  t.true(mine().length > 10);
  t.deepEqual(orphans(), []);
});

/** @returns the ids of the requests that it took. */
async function converseToTheEnd(t: ExecutionContext, mesh: TestMesh): Promise<ReadonlySet<string>> {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Trace me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  await events.close();
  return ada.requestIds;
}

/** The spans of all that these requests have led to: others are at work on the mesh meanwhile. */
function spansOf(observed: Observed, requestIds: ReadonlySet<string>): Span[] {
  const lines = observed
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'));
  const logged = lines.map((line) => JSON.parse(line) as { requestId: string; traceId?: string });
  const traces = new Set(logged.flatMap(({ requestId, traceId }) => (requestIds.has(requestId) && traceId) || []));
  const spans = observed.spans();
  // What an event sets off has a trace of its own, which names the one of its cause by a link.
  const linked = spans.flatMap(({ traceId, links = [] }) =>
    links.some((link) => traces.has(link.traceId)) ? traceId : [],
  );
  const all = new Set([...traces, ...linked]);
  return spans.filter(({ traceId }) => all.has(traceId));
}

/** The names of what happened within and around the turn and the judgement, the nearest first. */
function tracesIn(spans: readonly Span[]) {
  const names = (found: Span[]) => found.map(({ name }) => name);
  const turn = spans.find(({ name }) => /^job .*turn/.test(name));
  const judging = spans.find(({ name }) => /^job .*judg/.test(name));
  const links = ancestorsOf(spans, judging).flatMap((span) => span.links ?? []);
  const cause = spans.find(({ spanId }) => links.some((link) => link.spanId === spanId));
  return {
    turn,
    inTurn: names(treeOf(spans, turn)),
    beforeTurn: names(ancestorsOf(spans, turn)),
    judging,
    inJudging: names(treeOf(spans, judging)),
    cause,
    beforeJudging: names(cause ? [cause, ...ancestorsOf(spans, cause)] : []),
  };
}

function isWhole({ inTurn, beforeTurn, inJudging, beforeJudging }: ReturnType<typeof tracesIn>): boolean {
  return (
    includes(inTurn, /RunTurn$/) &&
    [inTurn, inJudging].every((names) => includes(names, /^chat /)) &&
    [beforeTurn, beforeJudging].every((names) => includes(names, /^gateway request$/)) &&
    includes(beforeTurn, /^session/)
  );
}

function includes(names: string[], pattern: RegExp): boolean {
  return names.some((name) => pattern.test(name));
}

/** A span with all that happened within it. */
function treeOf(spans: readonly Span[], root: Span | undefined): Span[] {
  if (!root) return [];
  return [
    root,
    ...spans.filter(({ parentSpanId }) => parentSpanId === root.spanId).flatMap((span) => treeOf(spans, span)),
  ];
}

/** What a span happened within, the nearest first. */
function ancestorsOf(spans: readonly Span[], span: Span | undefined): Span[] {
  const parent = span && spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent ? [parent, ...ancestorsOf(spans, parent)] : [];
}

story('texts of messages and credentials are in no log line, no span and no metric', async (t, mesh) => {
  const { model, visitor } = mesh;
  const observed = observe(mesh);
  const mark = Math.random().toString(36).slice(2, 8);
  const secrets: string[] = [modelKey, idpOneSecret];
  const canary = (name: string) => {
    const value = `canary-${name}-${secrets.length}-${mark}`;
    secrets.push(value);
    return value;
  };
  const keep = ({ accessToken, refreshToken }: Tokens) => void secrets.push(accessToken, refreshToken);

  // Everything that goes well.
  const ada = visitor();
  await ada.register({
    password: canary('password'),
    fcmToken: canary('fcm'),
    idType: 'PASSPORT',
    idNo: canary('idno'),
  });
  if (ada.tokens) keep(ada.tokens);
  keep((await ada.elsewhere()).tokens as Tokens);
  const { generateApiKey } = await ada.query<{ generateApiKey: { key: string } }>(
    'mutation { generateApiKey { key } }',
  );
  secrets.push(generateApiKey.key);
  const ticket = await ticketFor(mesh, newProviderAccount());
  secrets.push(ticket);
  keep(await visitor().value<Tokens>(loginWithTicket, { ticket }));
  const [said, cut, broken, denied] = [canary('said'), canary('cut'), canary('broken'), canary('denied')];
  model.answer(said, { text: `Re ${canary('reply')}` });
  model.answer(cut, { text: [canary('partial'), 'more'], beforeDelta: releasedOnce() });
  model.answer(broken, { text: [canary('broken-reply')], ending: 'malformed' });
  model.answer(denied, { status: 401, body: canary('provider-body') });
  const { sessionId, events } = await converse(t, ada, {
    personaPrompt: canary('persona'),
    openingGreeting: canary('greeting'),
    evaluationPromptTemplate: `${canary('template')} {{ transcript }}`,
  });
  await sendMessage(ada, sessionId, said, canary('turn'));
  await events.turns(1);
  await sendMessage(ada, sessionId, cut);
  await events.until('a part of a reply', ({ chunks }) => chunks.some(({ text }) => text.includes('partial')));
  await interruptSession(ada, sessionId);
  await sendMessage(ada, sessionId, broken);
  await sendMessage(ada, sessionId, denied);
  await events.turns(4);
  t.deepEqual(
    events.failures.map(({ code }) => code),
    ['MODEL_FAILED', 'MODEL_UNAVAILABLE'],
  );
  model.judge(said, { json: { score: canary('judgement') } }); // three times refused, then judged offline
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);

  // The same without a session; a provider that echoes what it was sent.
  const direct = await callerWithKey(ada);
  secrets.push(direct.apiKey);
  const [asked, streamed, echoed] = [canary('asked'), canary('streamed'), canary('echoed')];
  const echo = JSON.stringify({ error: { message: `${modelKey} ${echoed}`, code: modelKey, type: 'refused' } });
  model.answer(asked, { text: canary('completion') });
  model.answer(streamed, { text: canary('streamed-text'), ending: 'error-event' });
  model.answer(echoed, { status: 500, body: echo });
  const answers = [await direct.generate(asked), await direct.generate(echoed), await direct.generate(denied)];
  t.deepEqual(
    answers.map(({ errors }) => errors?.[0]?.extensions.reason),
    [undefined, 'MODEL_UNAVAILABLE', 'MODEL_UNAVAILABLE'],
  );
  t.notRegex(JSON.stringify(answers.slice(1)), /canary-(?!asked|echoed|denied)/u);
  await direct.start(streamed);
  await ada.send(`mutation { testLlmProvider(input: { provider: ${pricedProvider} }) { ok error } }`);
  await model.server.until(() => model.requestsFor(streamed).some(({ state }) => state === 'finished'));

  // And everything that is refused.
  const bad = visitor();
  await bad.send('mutation ($input: SignInInput!) { login(input: $input) { expiresIn } }', {
    input: { email: ada.account?.email, password: canary('wrong-password') },
  });
  await bad.send('mutation ($input: RegisterInput!) { register(input: $input) { expiresIn } }', {
    input: { ...newAccount(), email: ada.account?.email, password: canary('second-password') },
  });
  await bad.send(`mutation { login(input: { email: "a", password: "${canary('inline')}" }) { nothing } }`);
  await bad.send(`mutation { login(input: { password: "${canary('syntax')}"`);
  await bad.send(loginWithTicket, { ticket });
  await bad.send(loginWithTicket, { ticket: canary('ticket') });
  await ada.send('mutation ($t: String!) { linkIdentity(provider: IDP_ONE, providerToken: $t) }', {
    t: canary('linked-ticket'),
  });
  await bad.send('mutation ($t: String!) { refreshToken(input: { refreshToken: $t }) { expiresIn } }', {
    t: canary('refresh'),
  });
  await ada.send(
    'mutation ($id: Int!, $text: String!) { sendMessage(input: { sessionId: $id, text: $text }) { id } }',
    {
      id: sessionId,
      text: canary('late').repeat(1_000),
    },
  );
  await ada.send('mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }', {
    input: { name: '', personaPrompt: `${canary('nul')}\0`, position: 'x' },
  });
  await ada.send(
    'mutation { updateAgent(id: "1", input: { wrong: "x" }) { id } }',
    {},
    { authorization: `Bearer ${canary('jwt')}` },
  );
  await ada.send('{ myTenant { id } }', {}, { 'x-api-key': canary('key'), authorization: `Basic ${canary('basic')}` });
  const refused = follow(t, ada, sessionId, canary('after'));
  await refused.until('the refusal', ({ errors, closed }) => errors ?? closed);

  await Promise.all([events.close(), refused.close()]);
  await observed.allWritten();
  const written = await observed.written();
  t.true(written.log.split('\n').length > 5, 'an empty log proves nothing here');
  t.regex(written.spans, /RunTurn/);
  t.regex(written.metrics, /sendMessage/);
  t.deepEqual(foundIn(written, [...secrets, ada.account?.password ?? '']), []);
});

/** A gate that lets one delta through. */
function releasedOnce() {
  const gate = createGate();
  gate.release();
  return gate;
}

story('a failure is logged with the request id that the client got, and with its trace', async (t, mesh) => {
  const observed = observe(mesh);
  const { model } = mesh;
  const ada = await mesh.person();
  model.answer('Fail, please.', { status: 401 });
  const { sessionId, events } = await converse(t, ada);
  const send = (requestId: string) =>
    ada.send(
      'mutation ($id: Int!) { sendMessage(input: { sessionId: $id, text: "Fail, please." }) { id } }',
      { id: sessionId },
      { 'x-request-id': requestId },
    );
  const requestId = randomUUID();
  const well = await send(requestId);
  t.is(well.headers.get('x-request-id'), requestId);
  const other = await send('not well formed');
  t.regex(other.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  await events.turns(2);
  await events.close();

  await observed.allWritten();
  const lines = observed
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const line of lines) t.truthy(line['unit'] && line['level'] && line['time'], JSON.stringify(line));
  for (const { headers } of [well, other]) {
    const mine = lines.filter((line) => line['requestId'] === headers.get('x-request-id'));
    t.true(mine.some(({ unit }) => unit === 'session') && mine.some(({ unit }) => unit === 'agent'));
    t.is(new Set(mine.map(({ traceId }) => traceId)).size, 1);
    const [request, ...others] = mine.filter(({ unit, level }) => unit === 'gateway' && level === 'info');
    // names sendMessage: the line says which operation was asked for.
    t.like(request, { msg: 'request', operations: ['sendMessage'], status: 200, outcome: 'ok' });
    t.deepEqual(others, []);
  }
});
