import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/chassis/testing/eventually';
import type { EngineName } from '@parley/servers/engine';
import { emptyFolder } from '@parley/servers/testing/folder';
import { serverTest } from '@parley/servers/testing/server-test';
import test, { type ExecutionContext } from 'ava';
import { enter } from '../talk/account.ts';
import { type Api, ApiError, publicApi } from '../talk/api.ts';
import { followSession, type SessionEvent } from '../talk/session-events.ts';
import { type Child, startChild } from '../testing/child.ts';

const engines: EngineName[] = ['postgres', 'redis', 'kafka'];
const second = { timeoutMs: 1_500 }; // what "within a second" may take on a busy machine

/** What ends with a test, or with the file. */
type Teardown = Pick<ExecutionContext, 'teardown'>;

interface Place {
  data: string;
  servers: string;
}

function newPlace(t: Teardown): Place {
  const folder = emptyFolder(t);
  const place = { data: join(folder, 'data'), servers: join(folder, 'servers') };
  for (const each of Object.values(place)) mkdirSync(each, { mode: 0o711 });
  return place;
}

/** `scripts/up --mesh` at a place, once it says that it is up. */
async function meshAt(t: Teardown, { data, servers }: Place) {
  const child = startChild(t, 'up', {
    args: ['--mesh'],
    env: { PARLEY_DATA_DIR: data, PARLEY_SERVERS_DIR: servers, GATEWAY_PORT: '0' },
  });
  await child.says(/Stop with Ctrl-C/u);
  const [url = '', one = '', two = ''] = child.stdout.match(/http:\/\/\S+\/graphql/gu) ?? [];
  return { child, url, gateways: [one, two] as const, data };
}

let shared: ReturnType<typeof meshAt> | undefined;
const teardowns: (() => unknown)[] = [];
const withTheFile: Teardown = { teardown: (end) => void teardowns.push(end) };
test.after.always('the shared mesh stops', async () => {
  const mesh = await shared?.catch(() => undefined);
  mesh?.child.kill('SIGTERM');
  await mesh?.child.ended;
  for (let end = teardowns.pop(); end; end = teardowns.pop()) await end();
});

/** One mesh for the tests that leave it as they found it. */
function sharedMesh() {
  shared ??= meshAt(withTheFile, newPlace(withTheFile));
  return shared;
}

/** The processes that this one has started and that are alive. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/u.test(name)) return [];
    try {
      const parent = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1];
      return Number(parent) === pid ? [Number(name)] : [];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const alive = (pids: number[]) => pids.filter((pid) => commandOf(pid) !== '');
const unitsOf = (child: Child, folder: string) =>
  childrenOf(child.pid).filter((pid) => commandOf(pid).includes(folder));

/** The same person at another gateway. */
async function sameAt(api: Api, url: string): Promise<Api> {
  const other = publicApi(url);
  const params = await api.connectionParams();
  other.signIn({ accessToken: params.authorization?.replace('Bearer ', '') ?? '', refreshToken: '' });
  return other;
}

async function newSession(api: Api): Promise<number> {
  const input = {
    name: 'Maya',
    personaPrompt: 'You are Maya and talk about queues and leases.',
    position: 'Guide',
    useCase: 'INTERVIEW',
  };
  const { createAgent } = await api.call<{ createAgent: { id: number } }>(
    'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }',
    { input },
  );
  const { startSession } = await api.call<{ startSession: { id: number } }>(
    'mutation ($agentId: Int!) { startSession(input: { agentId: $agentId, clientExternalId: "c" }) { id } }',
    { agentId: createAgent.id },
  );
  return startSession.id;
}

const send = (api: Api, sessionId: number, text: string) =>
  api.call('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }', {
    input: { sessionId, text },
  });

/** All events of a session as they come, on a socket of its own. */
function follow(t: ExecutionContext, api: Api, sessionId: number) {
  const events: SessionEvent[] = [];
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  t.teardown(leave);
  void (async () => {
    for await (const event of followSession(api, sessionId, { signal: leaving.signal })) events.push(event);
  })().catch((error: unknown) => t.log(error));
  return { events, leave };
}

const replies = (events: SessionEvent[]) => events.filter(({ __typename }) => __typename === 'AiResponseEvent');

/** How many subscriptions this replica has served to their end, by its own count. */
async function streamsServedBy(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  const count = /^parley_rpc_duration_seconds_count\{[^}]*FollowSession[^}]*\} (\d+)$/gmu;
  return [...metrics.matchAll(count)].reduce((sum, [, served]) => sum + Number(served), 0);
}

async function outcome(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'ok',
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  );
}

serverTest(engines, 'a subscriber of one gateway sees every turn in order, whichever replica runs it', async (t) => {
  const { gateways, data } = await sharedMesh();
  const ada = publicApi(gateways[0]);
  await enter(ada, {});
  const sessionId = await newSession(ada);
  const elsewhere = await sameAt(ada, gateways[1]);
  const all: ReturnType<typeof follow>[] = [];
  for (const api of [ada, elsewhere, ada, elsewhere, ada, elsewhere]) {
    // One after the other: the first call of a gateway goes to whichever replica it is connected to first.
    const follower = follow(t, api, sessionId);
    await eventually('its first event', () => follower.events.length > 0);
    all.push(follower);
  }

  for (const [index, api] of [ada, elsewhere, ada, elsewhere].entries()) {
    await send(api, sessionId, `What is queue ${index}?`);
    await eventually('the reply everywhere', () => all.every(({ events }) => replies(events).length === index + 1));
  }
  for (const { events } of all) t.deepEqual(events, all[0]?.events);
  const late = follow(t, elsewhere, sessionId);
  await eventually('the replay', () => replies(late.events).length === 4);
  t.deepEqual(late.events, all[0]?.events);

  for (const { leave } of [...all, late]) leave();
  const units: Record<string, { ops: string }> = JSON.parse(readFileSync(join(data, 'addresses.json'), 'utf8'));
  for (const name of ['session', 'session-2']) {
    const opsUrl = units[name]?.ops ?? '';
    await eventually(`${name} has served some of them`, async () => (await streamsServedBy(opsUrl)) > 0);
  }
});

serverTest(engines, 'throttles count over both gateways', async (t) => {
  const { gateways } = await sharedMesh();
  const ask = (url: string) =>
    outcome(
      publicApi(url).call('query ($email: String!) { isRegisterable(email: $email) }', { email: 'a@example.com' }),
    );
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(gateways[n % 2] ?? '')));

  t.is(answers.filter((answer) => answer === 'ok').length, 5);
  t.is(answers.filter((answer) => answer === 'TOO_MANY_REQUESTS').length, 7);
});

serverTest(engines, 'a sign-in that is revoked at one gateway is dead at the other within a second', async (t) => {
  const { gateways } = await sharedMesh();
  const ada = publicApi(gateways[0]);
  const account = await enter(ada, {});
  const phone = publicApi(gateways[1]);
  await enter(phone, account);
  const { authorization = '' } = await phone.connectionParams();
  phone.signIn({ accessToken: authorization.replace('Bearer ', ''), refreshToken: '' });
  const profile = () => outcome(phone.call('{ myTenant { id } }'));
  t.is(await profile(), 'ok');

  await ada.call('mutation { changePassword(input: { newPassword: "a horse that answers to nothing" }) }');
  await eventually('the other gateway knows', async () => (await profile()) !== 'ok', second);
  t.is(await outcome(ada.call('{ myTenant { id } }')), 'ok');
});

serverTest(engines, 'while a replica of each is killed people are served, and the killed ones come back', async (t) => {
  const { child, url } = await sharedMesh();
  const ada = publicApi(url);
  await enter(ada, {});
  const sessionId = await newSession(ada);
  const { events } = follow(t, ada, sessionId);
  const before = (child.stdout.match(/is back/gu) ?? []).length;
  for (const folder of ['services/agent', 'services/session', 'gateway']) {
    process.kill(unitsOf(child, `/${folder}/src/main.ts`)[0] ?? 0, 'SIGKILL');
  }

  await eventually('the message is taken', async () => (await outcome(send(ada, sessionId, 'Hello?'))) === 'ok');
  await eventually('the reply', () => replies(events).length > 0, { timeoutMs: 45_000 });
  const back = () => (child.stdout.match(/is back/gu) ?? []).length - before;
  await eventually('all are back', () => back() === 3, { timeoutMs: 45_000 });
  t.is(childrenOf(child.pid).filter((pid) => commandOf(pid).includes('src/main.ts')).length, 8);
});

serverTest(
  engines,
  'Ctrl-C ends all of it within 25 s, the data are there the next time, a kill -9 leaves nothing',
  async (t) => {
    const place = newPlace(t);
    const first = await meshAt(t, place);
    const { email, password = '' } = await enter(publicApi(first.url), {});
    const ofFirst = childrenOf(first.child.pid);
    t.true(ofFirst.length >= 11);
    const begun = performance.now();
    first.child.kill('SIGINT');
    t.is(await first.child.ended, 0, first.child.stderr);
    t.true(performance.now() - begun < 25_000);
    t.deepEqual(alive(ofFirst), []);

    const next = await meshAt(t, place);
    await enter(publicApi(next.url), { email, password });
    const refused = startChild(t, 'up', { args: ['--mesh'], env: { PARLEY_DATA_DIR: place.data, GATEWAY_PORT: '0' } });
    t.is(await refused.ended, 1);
    t.regex(refused.stderr, new RegExp(`is in use by process ${next.child.pid}\\.`, 'u'));

    const ofNext = childrenOf(next.child.pid);
    next.child.kill('SIGKILL');
    await eventually('nothing is left', () => alive(ofNext).length === 0, { timeoutMs: 30_000 });
  },
);

test('settings that are wrong are all named before anything starts', async (t) => {
  const mesh = startChild(t, 'up', {
    args: ['--mesh'],
    env: { PARLEY_DATA_DIR: newPlace(t).data, GATEWAY_PORT: '0', SESSION_LEASE_MS: '-1', IDENTITY_HASH_QUEUE: 'long' },
  });

  t.is(await mesh.ended, 1);
  t.regex(mesh.stderr, /SESSION_LEASE_MS: must be above 0/u);
  t.regex(mesh.stderr, /IDENTITY_HASH_QUEUE: is not a number/u);
});
