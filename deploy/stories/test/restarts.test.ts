// These tests run their own meshes one after the other on the same data. Each mesh is stopped or killed during turns, and the next one must
// complete them.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedDatabase } from '@parley/embedded/embedded';
import type { Environment } from '@parley/kernel/settings/config';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import {
  converse,
  createAgent,
  endSession,
  evaluated,
  findEvaluation,
  follow,
  readSession,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { openChecker } from '../src/invariants.ts';
import { testEnvironment } from '../src/mesh.ts';
import type { Message } from '../src/messages.ts';
import { type MeshProcess, startOneProcess } from '../src/one-process.ts';
import { judgement, type ScriptedModel, startScriptedModel } from '../src/scripted-model.ts';
import { compareIds, idsGrow, type SessionEvent, type SessionEvents } from '../src/session-events.ts';
import { fullLength } from './faults/fault-mesh.ts';

/**
 * The number of running turns when the mesh is killed, without the turn that streams a story. At full length, this number plus one is a
 * tenant's limit of running turns.
 */
const killed = fullLength ? 49 : 24;
/** Number of running turns when the mesh is stopped. */
const stopped = 12;
/** The grace period for running turns at a shutdown; short, so that the mesh has to hand them over. */
const shortGraceMs = 300;
const story = ['Once ', 'upon ', 'a time.'];
const judgedLater = { ...judgement, score: 61, summary: 'Judged after the end.' };

/** A running mesh. */
interface Running {
  mesh: MeshProcess;
  /** Duration of the mesh's start, which shows how fast this machine is at the moment. */
  startMs: number;
}

/** Work of every kind that one tenant has in progress when a mesh ends. */
interface Busy {
  ada: Client;
  /** Texts that occur only once: the message that asks for the story, and the messages of the two sessions that are being evaluated. */
  texts: { story: string; thinking: string; ending: string };
  /** Sessions with a running turn. Half of these turns have streamed chunks, and some sessions have another turn waiting. */
  open: number[];
  asked: { sessionId: number; text: string }[];
  /** A turn whose follower has received two words. */
  streamed: { sessionId: number; events: SessionEvents };
  /** A session whose turn had already ended. */
  done: { sessionId: number; events: SessionEvents };
  /** An ended session whose evaluation waits for the model. */
  thought: number;
  /** Ended sessions without messages. */
  silent: number[];
  /** A session that has just ended. */
  last: number;
  /** Lets the model finish all responses, including repeated requests. */
  release(): void;
}

/** Settings without keys: the first start generates them, and later starts find them. */
const settings = testEnvironment({
  MESH_KEY: '',
  OPERATOR_KEY: '',
  SECRETS_KEYS: '',
  AVATAR_TOKEN_KEYS: '',
  // A short lease, so that the reservations of a killed mesh are settled while the next one runs.
  IDENTITY_SPEND_LEASE_MS: '2000',
});
let model: ScriptedModel;
let path = '';
/** The current mesh. Each test ends it and starts the next one. */
let now: Running;

/** Starts the next mesh on the same data. @param more settings for this start only */
async function start(more: Environment = {}): Promise<void> {
  const from = performance.now();
  const mesh = await startOneProcess({ dataFolder: path, env: { ...settings, ...model.env, ...more } });
  now = { mesh, startMs: performance.now() - from };
}

test.before(async () => {
  model = await startScriptedModel();
  path = await mkdtemp(join(tmpdir(), 'parley-story-'));
  await start();
});

test.after.always(async () => {
  await now?.mesh.kill();
  await model?.server.stop();
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
});

/** Returns violated invariants in the data of a stopped mesh. */
async function brokenInvariants(): Promise<string[]> {
  const { url, stop } = await startEmbeddedDatabase({ folder: join(path, 'database') });
  const checker = openChecker({ DATABASE_URL: url });
  try {
    return await checker.broken();
  } finally {
    await checker.close();
    await stop();
  }
}

let rounds = 0;

/**
 * Starts work of every kind.
 * @param turns number of running turns without the turn that streams a story
 */
async function busyMesh(t: ExecutionContext, turns: number): Promise<Busy> {
  const round = ++rounds;
  const texts = {
    story: `Tell me story ${round}.`,
    thinking: `Think about ${round}.`,
    ending: `My last word, ${round}.`,
  };
  const ada = await now.mesh.person();
  const agentId = await createAgent(ada);
  const sessionsOf = async (count: number) =>
    (await Promise.all(Array.from({ length: count }, () => startSession(ada, agentId)))).map(({ id }) => id);

  const done = await converse(t, ada, { openingGreeting: 'Hello again.' });
  await sendMessage(ada, done.sessionId, 'One.', 'one');
  await done.events.turns(1);

  const [thinking, ending] = [await converse(t, ada), await converse(t, ada)];
  // Before the gates open, the next mesh may send requests again. Repeated requests get the same final responses.
  const beforeJudgement = createGate();
  model.judge(texts.thinking, { json: { ...judgedLater, score: 7 }, beforeHeaders: beforeJudgement });
  model.judge(texts.ending, { json: judgedLater, beforeHeaders: beforeJudgement });
  for (const [{ sessionId, events }, text] of [[thinking, texts.thinking] as const, [ending, texts.ending] as const]) {
    await sendMessage(ada, sessionId, text);
    await events.turns(1);
  }
  await endSession(ada, thinking.sessionId);
  await model.server.until(({ requests }) =>
    requests.some(({ body, state }) => body.response_format && state === 'running'),
  );

  const open: number[] = [];
  while (open.length < turns) open.push(...(await sessionsOf(Math.min(10, turns - open.length))));
  const silent = await sessionsOf(5);
  const gate = createGate();
  const asked = open.flatMap((sessionId, n) => [
    { sessionId, text: `First in ${sessionId}` },
    ...(n % 5 === 0 ? [{ sessionId, text: `Second in ${sessionId}` }] : []),
  ]);
  for (const { text } of asked) model.answer(text, { text: ['Half ', `of: ${text}`], beforeDelta: gate });
  const beforeWord = createGate();
  model.answer(texts.story, { text: story, beforeDelta: beforeWord });
  const streamed = await converse(t, ada);
  await sendMessage(ada, streamed.sessionId, texts.story, 'story');
  for (const { sessionId, text } of asked) await sendMessage(ada, sessionId, text);
  await model.server.until(
    ({ requests }) => requests.filter(({ state }) => state === 'running').length > turns,
    30_000,
  );
  gate.release(Math.ceil(turns / 2));
  beforeWord.release(2);
  await streamed.events.until('two words', () => streamed.events.streamed(0) === 'Once upon ');
  for (const id of silent) await endSession(ada, id);
  await endSession(ada, ending.sessionId);

  return {
    ada,
    texts,
    open,
    asked,
    streamed,
    done,
    silent,
    thought: thinking.sessionId,
    last: ending.sessionId,
    release() {
      for (const held of [gate, beforeWord, beforeJudgement]) held.open();
    },
  };
}

/** Returns a client of the current mesh with the tokens of an earlier sign-in. */
function comeBack({ tokens }: Client): Client {
  return Object.assign(now.mesh.visitor(), { tokens });
}

/** Lets all work end on the current mesh, and asserts the results. @returns the client, with its earlier sign-in */
async function assertNothingLost(t: ExecutionContext, busy: Busy): Promise<Client> {
  busy.release();
  const back = comeBack(busy.ada);
  await assertStoryGoesOn(t, busy, back);
  await assertAllAnswered(t, busy, back);

  // Final events are replayed unchanged, and their ids never decrease.
  const { sessionId, events } = busy.done;
  await sendMessage(back, sessionId, 'Two.', 'two');
  const replayed = follow(t, back, sessionId);
  await replayed.turns(2);
  t.true(idsGrow(replayed.all));
  t.deepEqual(finalOf(replayed.all).slice(0, finalOf(events.all).length), finalOf(events.all));
  const [, two] = replayed.ended;
  t.true(two !== undefined && compareIds(events.lastEventId, two.eventId) < 0);

  t.is((await readSession(back, busy.last)).status, 'ENDED');
  t.like(await evaluated(back, busy.last), { score: 61, summary: 'Judged after the end.' });
  t.like(await evaluated(back, busy.thought), { score: 7 });
  const ended = busy.open.slice(0, 10);
  for (const id of ended) await endSession(back, id);
  for (const id of [...busy.silent, ...ended]) await evaluated(back, id);
  t.is(await findEvaluation(back, busy.streamed.sessionId), null);
  return back;
}

/** Asserts that the interrupted reply is repeated once, and that the subscriber of its session receives the chunks in order. */
async function assertStoryGoesOn(t: ExecutionContext, { streamed, texts }: Busy, back: Client): Promise<void> {
  const { sessionId, events: before } = streamed;
  await before.until('the end of the socket', ({ closed }) => closed);
  const after = follow(t, back, sessionId, before.lastEventId);
  const [reply] = await after.turns(1);
  const text = story.join('');
  t.like(reply, { __typename: 'AiResponseEvent', clientTurnId: 'story', turnIndex: 0, text, interrupted: false });
  t.true(idsGrow([...before.all, ...after.all]));
  t.is(after.streamed(0), text, 'the chunks of the last attempt are the reply');
  t.true(after.chunks.every(({ attempt }) => attempt > 1));
  t.is(model.requestsFor(texts.story).length, 2);
  const { messages } = await readSession(back, sessionId);
  t.deepEqual(
    messages.map((message) => `${message.turnIndex} ${message.role} ${message.text}`),
    [`0 USER ${texts.story}`, '1 MODEL Once upon a time.'],
  );
  await sendMessage(back, sessionId, 'Another one.');
  await after.turns(2);
  assertCounted(t, (await readSession(back, sessionId)).messages);
}

/** Asserts that every message has a reply in the right session and in order. */
async function assertAllAnswered(t: ExecutionContext, { open, asked }: Busy, back: Client): Promise<void> {
  const replies = (messages: Message[] = []) => messages.flatMap(({ role, text }) => (role === 'MODEL' ? [text] : []));
  const read = async () => {
    const { data, errors } = await back.send<{ sessions: { id: number; messages: Message[] }[] }>(
      '{ sessions { id messages { role text turnIndex } } }',
    );
    // While all turns resume at once, a read may fail because no database connection becomes free in time. The read is then repeated.
    if (errors?.every(({ extensions }) => extensions.code === 'UNAVAILABLE')) return undefined;
    if (!data) throw new Error(`refused: ${JSON.stringify(errors)}`);
    return new Map(data.sessions.map(({ id, messages }) => [id, messages]));
  };
  const answered = async () => {
    const all = await read();
    return all && open.reduce((sum, id) => sum + replies(all.get(id)).length, 0) >= asked.length && all;
  };
  const byId = await eventually('every message has its reply', answered, { timeoutMs: 60_000 });
  for (const id of open) {
    const mine = asked.filter(({ sessionId }) => sessionId === id).map(({ text }) => `Half of: ${text}`);
    t.deepEqual(replies(byId.get(id)), mine, `session ${id}`);
    assertCounted(t, byId.get(id) ?? []);
  }
}

function assertCounted(t: ExecutionContext, messages: Pick<Message, 'turnIndex'>[]): void {
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    messages.map((_, n) => n),
  );
}

const finalOf = (all: SessionEvent[]) => all.filter(({ __typename }) => __typename !== 'AiResponseChunkEvent');

/** The last evaluation of each test. Later meshes must not change it. */
const final: { ada: Client; sessionId: number; evaluation: unknown }[] = [];

async function assertFinal(t: ExecutionContext): Promise<void> {
  for (const { ada, sessionId, evaluation } of final) {
    t.deepEqual(await findEvaluation(comeBack(ada), sessionId), evaluation);
  }
}

test.serial('a kill during turns and evaluations loses, duplicates and leaves behind nothing', async (t) => {
  const busy = await busyMesh(t, killed);
  const { ada } = busy;

  // The messages below are being sent when the mesh is killed. A message without an acknowledgement may or may not have been stored.
  const agentId = await createAgent(ada);
  const sessions = await Promise.all(Array.from({ length: 10 }, () => startSession(ada, agentId)));
  const acknowledged = new Map<string, number>();
  const sending = Array.from({ length: 30 }, async (_, n) => {
    const { id = 0 } = sessions[n % sessions.length] ?? {};
    const text = `Message ${n}`;
    model.answer(text, { text: `Re: ${text}` });
    const taken = () => acknowledged.set(text, id);
    await sendMessage(ada, id, text, text).then(taken, () => undefined);
  });
  await eventually('the first are taken', () => acknowledged.size > 3);
  await now.mesh.kill();
  await Promise.all(sending);
  t.notDeepEqual(await brokenInvariants(), [], 'the dead left something to do');

  await start({ SESSION_STOP_GRACE_MS: String(shortGraceMs) });
  const back = await assertNothingLost(t, busy);
  for (const { id } of sessions) {
    const events = follow(t, back, id);
    const mine = [...acknowledged].flatMap(([text, sessionId]) => (sessionId === id ? [text] : []));
    await events.until('an end for each message', ({ ended }) =>
      mine.every((text) => ended.some(({ clientTurnId }) => clientTurnId === text)),
    );
    const ends = events.ended.map(({ clientTurnId }) => clientTurnId);
    t.is(new Set(ends).size, ends.length, 'a turn ended twice');
    t.true(idsGrow(events.all));
    const { messages } = await readSession(back, id);
    assertCounted(t, messages);
    for (const reply of events.replies) {
      t.is(messages[reply.turnIndex]?.text ?? null, reply.clientTurnId);
      t.is(reply.text, `Re: ${reply.clientTurnId}`);
      t.is(messages.filter(({ text }) => text === reply.text).length, 1);
    }
  }
  await endSession(back, busy.last);
  final.push({ ada, sessionId: busy.last, evaluation: await findEvaluation(back, busy.last) });
});

test.serial(
  'a mesh hands over its turns at SIGTERM, and the next start has the same keys and answers each turn once',
  async (t) => {
    t.is((await stat(`${path}/keys.json`)).mode & 0o777, 0o600);
    const busy = await busyMesh(t, stopped);
    await assertStops(t, shortGraceMs);
    await start();
    await assertNothingLost(t, busy); // uses the sign-ins from before the restart
    await assertFinal(t);
  },
);

test.serial(
  'after SIGINT has ended the last mesh, the data of all meshes are consistent and no work is left',
  async (t) => {
    const { mesh } = now;
    t.is(await mesh.stop('SIGINT'), 0, mesh.stderr());
    t.is(mesh.stderr(), '');
    t.deepEqual(await brokenInvariants(), []);
  },
);

/** Asserts that the mesh stops with code 0 and without error output, within the grace period for turns plus the duration of a start. */
async function assertStops(t: ExecutionContext, graceMs: number): Promise<void> {
  const { mesh, startMs } = now;
  const from = performance.now();
  t.is(await mesh.stop(), 0, mesh.stderr());
  const tookMs = performance.now() - from;
  t.true(tookMs < graceMs + startMs, `${tookMs} ms, where a start took ${startMs} ms`);
  t.is(mesh.stderr(), '');
}
