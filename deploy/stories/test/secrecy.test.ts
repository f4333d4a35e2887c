import { randomUUID } from 'node:crypto';
import { createGate } from '@parley/chassis/testing/gate';
import test from 'ava';
import { newAccount, type Tokens } from '../src/client.ts';
import { converse, endSession, evaluated, follow, interruptSession, sendMessage } from '../src/conversation.ts';
import { modelKey } from '../src/forwarder.ts';
import type { TestMesh } from '../src/mesh.ts';
import { observe } from '../src/observed.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

story('what people say, and what lets them in, is in no log line, no span and no metric', async (t, mesh) => {
  const { model, visitor } = mesh;
  const observed = observe(mesh);
  const mark = Math.random().toString(36).slice(2, 8);
  const secrets: string[] = [modelKey];
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
  await observed.toldAll();
  const told = { log: observed.log(), spans: observed.spansText(), metrics: await metricsOf(mesh) };
  t.true(told.log.split('\n').length > 5, 'a log that tells nothing shows nothing here');
  t.regex(told.spans, /RunTurn/);
  t.regex(told.metrics, /sendMessage/);
  for (const [where, text] of Object.entries(told)) {
    for (const secret of [...secrets, ada.account?.password ?? '']) {
      t.false(text.includes(secret), `${secret} is in the ${where}: ${around(text, secret)}`);
      // Values of JSON and tokens may be cut short: their beginning tells as much.
      t.false(
        text.includes(secret.slice(0, Math.max(20, secret.length - 8))),
        `the beginning of ${secret} is in the ${where}`,
      );
    }
  }
});

/** The metrics of every replica. */
async function metricsOf({ addresses }: TestMesh): Promise<string> {
  const urls = ['gateway', 'identity', 'agent', 'session', 'evaluation'].flatMap((unit) => addresses(unit, 'ops'));
  const texts = urls.map(async (url) => (await fetch(`${url}/metrics`)).text());
  return (await Promise.all(texts)).join('\n');
}

/** A gate that lets one delta through. */
function releasedOnce() {
  const gate = createGate();
  gate.release();
  return gate;
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return at < 0 ? '' : text.slice(Math.max(0, at - 300), at + 100);
}

story('what goes wrong is logged with the request id that the client was told, and with its trace', async (t, mesh) => {
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

  await observed.toldAll();
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
    t.like(request, { msg: 'request', operations: ['sendMessage'], status: 200, outcome: 'ok' });
    t.deepEqual(others, []);
  }
});
