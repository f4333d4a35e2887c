import { randomUUID } from 'node:crypto';
import type { Environment } from '@parley/kernel/settings/config';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { newAccount, type Tokens } from '../src/client.ts';
import { converse, endSession, evaluated, follow, interruptSession, sendMessage } from '../src/conversation.ts';
import { callerWithKey, pricedProvider } from '../src/direct-calls.ts';
import { modelKey } from '../src/forwarder.ts';
import { idpOneSecret, loginWithTicket, newProviderAccount, ticketFor } from '../src/identity-provider.ts';
import {
  confirmDocument,
  createKnowledgeBase,
  findPassages,
  ingestText,
  parsedDocument,
  putUpload,
  requestUpload,
  uploadedFile,
  uploadFile,
} from '../src/knowledge.ts';
import type { TestMesh } from '../src/mesh.ts';
import { foundIn, observe } from '../src/observe.ts';
import { stories } from '../src/stories.ts';
import { missingPaths, spansOf } from '../src/traces.ts';

const story = stories(test, { on: 'processes' });

const request = 'gateway: gateway request';
const document = '# Returns\n\nLamps can be returned within thirty days of the purchase.';

story('traces connect a request with its last effect through gRPC, SQL, events and jobs', async (t, mesh) => {
  const observed = observe(mesh);
  const requestIds = await converseToTheEnd(t, mesh);
  await observed.allWritten();
  const calls = (method: string, caller: string, unit: string) => [
    `${caller}: \\S+/${method}`,
    `${unit}: \\S+/${method}`,
  ];
  const sql = (unit: string) => `${unit}: \\w+ ${unit}`;
  const changes = (unit: string) => [request, `${unit}: ${unit} graph`, sql(unit)];
  const turn = [...changes('session'), 'session: job session.turn'];
  const reply = [...turn, ...calls('RunTurn', 'session', 'agent')];
  const parsing = [...changes('knowledge'), 'linked', 'parser: process document-uploaded', 'parser: job parser.parse'];
  const judging = [
    ...changes('session'),
    'linked',
    'evaluation: process session-ended',
    'evaluation: job evaluation.judge',
  ];
  const metering = [...calls('MeterSpend', 'agent', 'identity'), sql('identity')];
  const paths = {
    'who asks': [request, ...calls('ResolveSignIn', 'gateway', 'identity'), sql('identity')],
    'the model of a reply': [...reply, 'agent: chat \\S+'],
    // The cost is metered in one of two ways: by a request for this model call alone, or by one request for several model calls. The span
    // of a request for several model calls links to the traces of all these calls.
    'the cost of a reply': [
      [...reply, ...metering],
      [...reply, 'linked', 'agent: spend of several calls', ...metering],
      [...reply, ...calls('ReserveSpend', 'agent', 'identity'), sql('identity')],
    ],
    'passages for a reply': [...reply, ...calls('Retrieve', 'agent', 'knowledge'), sql('knowledge')],
    'the message of a reply': [...turn, sql('session')],
    'the text of a document': [...parsing, ...calls('CompleteDocument', 'parser', 'knowledge'), sql('knowledge')],
    'the transcript of a session': [...judging, ...calls('StreamTranscript', 'evaluation', 'session'), sql('session')],
    'the model of a judgement': [...judging, ...calls('Generate', 'evaluation', 'agent'), 'agent: chat \\S+'],
    'an evaluation': [...judging, sql('evaluation')],
  };
  t.deepEqual(await missingPaths(() => spansOf(observed, requestIds), paths), []);
});

story('every span has its parent', async (t, mesh) => {
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

/** Uploads a document, asks an agent about it, and lets the session be evaluated. @returns the ids of all requests */
async function converseToTheEnd(t: ExecutionContext, mesh: TestMesh): Promise<ReadonlySet<string>> {
  const ada = await mesh.person();
  const base = await createKnowledgeBase(ada);
  await parsedDocument(ada, await uploadFile(ada, base, document));
  const { sessionId, events } = await converse(t, ada, { knowledgeBaseIds: [base] });
  await sendMessage(ada, sessionId, 'When can lamps be returned?');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  await events.close();
  return ada.requestIds;
}

story('no log line, span or metric contains texts, credentials or keys of the mesh', async (t, mesh) => {
  const { model, visitor } = mesh;
  const observed = observe(mesh);
  const mark = Math.random().toString(36).slice(2, 8);
  const secrets: string[] = [modelKey, idpOneSecret, ...secretsIn(mesh.settings)];
  const canary = (name: string) => {
    const value = `canary-${name}-${secrets.length}-${mark}`;
    secrets.push(value);
    return value;
  };
  const keep = ({ accessToken, refreshToken }: Tokens) => void secrets.push(accessToken, refreshToken);

  // Successful requests of every kind.
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
  const [said, cut, malformed, denied] = [canary('said'), canary('cut'), canary('broken'), canary('denied')];
  model.answer(said, { text: `Re ${canary('reply')}` });
  model.answer(cut, { text: [canary('partial'), 'more'], beforeDelta: releasedOnce() });
  model.answer(malformed, { text: [canary('broken-reply')], ending: 'malformed' });
  model.answer(denied, { status: 401, body: canary('provider-body') });
  const base = await createKnowledgeBase(ada, canary('base'));
  await ingestText(ada, base, `${said} ${canary('document')}`, `${canary('file')}.md`);
  const offered = await requestUpload(ada, base);
  const signatures = [...new URL(offered.uploadUrl).searchParams].filter(([name]) => /signature$/iu.test(name));
  t.is(signatures.length, 1);
  secrets.push(...signatures.map(([, signature]) => signature));
  await putUpload(offered, `# ${canary('heading')}\n\n${canary('uploaded')}`);
  const confirmed = { ...uploadedFile(base), objectStorageKey: offered.objectStorageKey };
  const { documentId } = await ada.value<{ documentId: number }>(confirmDocument, { input: confirmed });
  t.is((await parsedDocument(ada, documentId)).parseStatus, 'READY');
  const broken = await uploadFile(ada, base, canary('unreadable'), 'application/pdf');
  t.is((await parsedDocument(ada, broken)).parseStatus, 'FAILED');
  t.not((await findPassages(ada, base, canary('query'))).length, 0);
  const { sessionId, events } = await converse(t, ada, {
    knowledgeBaseIds: [base],
    personaPrompt: canary('persona'),
    openingGreeting: canary('greeting'),
    evaluationPromptTemplate: `${canary('template')} {{ transcript }}`,
  });
  await sendMessage(ada, sessionId, said, canary('turn'));
  await events.turns(1);
  await sendMessage(ada, sessionId, cut);
  await events.until('a part of a reply', ({ chunks }) => chunks.some(({ text }) => text.includes('partial')));
  await interruptSession(ada, sessionId);
  await sendMessage(ada, sessionId, malformed);
  await sendMessage(ada, sessionId, denied);
  await events.turns(4);
  t.deepEqual(
    events.failures.map(({ code }) => code),
    ['MODEL_FAILED', 'MODEL_REQUEST_REFUSED'],
  );
  model.judge(said, { json: { score: canary('judgement') } }); // three invalid responses, then an offline evaluation
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);

  // Direct calls, including one to a provider that echoes the request.
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

  // Refused requests of every kind.
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

/** Returns the secrets in a mesh's settings: keys, each member of a key ring, and passwords in server URLs. */
function secretsIn(settings: Environment): string[] {
  return Object.entries(settings).flatMap(([name, value = '']) => {
    if (/_(?:KEYS?|SECRET|ACCESS_KEY)$/u.test(name)) return value.split(',').map((key) => key.replace(/^\w+:/u, ''));
    return URL.canParse(value) ? new URL(value).password || [] : [];
  });
}

/** Returns a gate that lets only one chunk pass. */
function releasedOnce() {
  const gate = createGate();
  gate.release();
  return gate;
}

story('a failure is logged with the request id that the client received, and with its trace', async (t, mesh) => {
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
    // Skips warnings of Node, which may appear between any lines.
    .filter((line) => !/^\((node:\d+|Use `node )/u.test(line))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const line of lines) t.truthy(line['unit'] && line['level'] && line['time'], JSON.stringify(line));
  for (const { headers } of [well, other]) {
    const mine = lines.filter((line) => line['requestId'] === headers.get('x-request-id'));
    t.true(mine.some(({ unit }) => unit === 'session') && mine.some(({ unit }) => unit === 'agent'));
    t.is(new Set(mine.map(({ traceId }) => traceId)).size, 1);
    const [request, ...others] = mine.filter(({ unit, level }) => unit === 'gateway' && level === 'info');
    // allow-name sendMessage: the log line contains the requested operation.
    t.like(request, { msg: 'request', operations: ['sendMessage'], status: 200, outcome: 'ok' });
    t.deepEqual(others, []);
  }
});
