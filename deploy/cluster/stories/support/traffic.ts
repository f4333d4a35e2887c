import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import { createAgent, readSession, startSession } from '@parley/stories/conversation';
import { followLastingly, type LastingFollower } from '@parley/stories/lasting-follower';
import { createLedger } from '@parley/stories/ledger';
import { idsGrow, type SessionEvent } from '@parley/stories/session-events';
import { eventually } from '@parley/testing/eventually';
import type { Assertions } from 'ava';

export interface TrafficOptions {
  /** Number of users, each of whom sends the next message as soon as the previous one has its reply. Default 10. */
  conversations?: number;
  /** Number of subscriptions to sessions in which nobody sends a message. Default 50. */
  idle?: number;
  /** The maximum time until a reply. Default 90 s. */
  replyWithinMs?: number;
}

/** The results of everything that the clients sent. */
export interface Outcome {
  messages: number;
  /** Acknowledged messages that have neither a reply nor a recorded failure, and errors of the clients. */
  unanswered: string[];
  /** Messages that were stored or replied to more than once. */
  twice: string[];
  /** Number of turns that ended with an error, e.g. because the agent's process was killed during the reply. */
  failed: number;
  /** Number of attempts to send that were not acknowledged and were repeated, by error code. */
  repeated: Record<string, number>;
  /** Number of plain queries, each over its own connection. */
  requests: number;
  /** Failed queries, with the time since the start and the reason. */
  lost: { atMs: number; why: string }[];
  idle: {
    subscriptions: number;
    /** How often idle subscriptions ended, by reason. */
    outages: Record<string, number>;
    longestMs: number;
    /** Number of idle subscriptions that missed an event or received one twice. */
    wrong: number;
  };
  slowestReplyMs: number;
}

const idlePerSession = 10;
const requestPauseMs = 200;
/** A query that takes longer counts as lost, because a client would have given up. */
const requestTimeoutMs = 10_000;

export type Traffic = Awaited<ReturnType<typeof startTraffic>>;

/** Starts clients of an installation. They continue until `end` or `leave` is called. */
export async function startTraffic(url: string, options: TrafficOptions = {}) {
  const { conversations = 10, idle = 50, replyWithinMs = 90_000 } = options;
  const begun = performance.now();
  const sinceMs = () => Math.round(performance.now() - begun);
  const ending = new AbortController();
  const ledger = createLedger();
  const problems: unknown[] = [];
  const lost: Outcome['lost'] = [];
  const latencies: { atMs: number; tookMs: number }[] = [];
  let requests = 0;

  async function open() {
    const client = new Client(url);
    await client.register();
    const { id } = await startSession(client, await createAgent(client));
    return { client, id };
  }

  const talks = await Promise.all(
    Array.from({ length: conversations }, async () => {
      const { client, id } = await open();
      return { client, id, follower: followLastingly(client, id), sent: [] as string[] };
    }),
  );
  const quiet: { client: Client; id: number; followers: LastingFollower[] }[] = [];
  for (let remaining = idle; remaining > 0; remaining -= idlePerSession) {
    const { client, id } = await open();
    const followers = Array.from({ length: Math.min(remaining, idlePerSession) }, () => followLastingly(client, id));
    quiet.push({ client, id, followers });
    await eventually('all follow', () => followers.every(({ events }) => events.length > 0));
  }

  /**
   * Sends a message repeatedly until it is acknowledged. Each repetition has a different number in its text.
   * @throws the last error after `replyWithinMs`
   */
  async function insist(of: (typeof talks)[number], text: string): Promise<string> {
    const deadline = performance.now() + replyWithinMs;
    for (let nth = 1; ; nth += 1) {
      try {
        return await ledger.send(of.client, of.id, nth === 1 ? text : `${text} Once more: ${nth}.`);
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  }

  async function talk(of: (typeof talks)[number]): Promise<void> {
    for (let nth = 1; !ending.signal.aborted; nth += 1) {
      of.sent.push(await insist(of, `Session ${of.id}, message ${nth}.`));
      const from = performance.now();
      await eventually(`the end of turn ${nth} of session ${of.id}`, () => endsIn(of.follower.events) >= nth, {
        timeoutMs: replyWithinMs,
      });
      latencies.push({ atMs: sinceMs(), tookMs: performance.now() - from });
    }
  }

  async function ask(): Promise<void> {
    const [first] = talks;
    while (!ending.signal.aborted) {
      requests += 1;
      const answer = await (first?.client ?? new Client(url))
        .send('{ myTenant { id } }', {}, { connection: 'close' }, AbortSignal.timeout(requestTimeoutMs))
        .catch((error: unknown) => ({
          errors: [{ message: String(error instanceof Error ? (error.cause ?? error) : error) }],
        }));
      if (answer.errors) lost.push({ atMs: sinceMs(), why: answer.errors[0]?.message ?? 'no reason' });
      await delay(requestPauseMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  }

  const work = [...talks.map(talk), ask()].map((each) => each.catch((error: unknown) => problems.push(error)));

  async function leave(): Promise<void> {
    ending.abort();
    await Promise.all(work);
    await Promise.all([
      ...talks.map(({ follower }) => follower.leave()),
      ...quiet.flatMap(({ followers }) => followers.map(({ leave }) => leave())),
    ]);
  }

  return {
    sinceMs,
    lost: lost as readonly Outcome['lost'][number][],
    /** The number of messages that were sent and acknowledged so far. */
    get sent() {
      return talks.reduce((sum, { sent }) => sum + sent.length, 0);
    },
    /** Returns the longest time until a reply, in ms, among all replies since `fromMs`. The value of `fromMs` comes from `sinceMs`. */
    slowestReplyMs: (fromMs = 0) =>
      Math.round(Math.max(0, ...latencies.filter(({ atMs }) => atMs >= fromMs).map(({ tookMs }) => tookMs))),
    /** Stops the clients, without reading the outcome. */
    leave,
    /** Stops the clients and returns the outcome. */
    async end(): Promise<Outcome> {
      ending.abort();
      await Promise.all(work);
      for (const { client, id } of quiet) await ledger.send(client, id, `Session ${id}, the only message.`);
      const all = quiet.flatMap(({ followers }) => followers);
      await eventually(
        'idle subscriptions get a reply',
        () => all.every(({ events }) => repliesIn(events).length > 0),
        {
          timeoutMs: replyWithinMs,
        },
      ).catch((error: unknown) => problems.push(error));
      const stored = await Promise.all(
        talks.map(async ({ client, id, sent, follower }) => ({
          sent,
          messages: (await readSession(client, id)).messages,
          failed: failuresIn(follower.events).length,
        })),
      );
      await leave();
      const [unanswered, twice] = [problems.map(String), [] as string[]];
      for (const { sent, messages, failed } of stored) {
        const count = (role: string, text: string) =>
          messages.filter((message) => message.role === role && message.text === text).length;
        const missing = sent.filter((text) => count('MODEL', `You asked: ${text}`) === 0);
        unanswered.push(...missing.slice(failed));
        twice.push(...sent.filter((text) => count('USER', text) > 1 || count('MODEL', `You asked: ${text}`) > 1));
      }
      const outages = all.flatMap((each) => each.outages);
      return {
        messages: talks.reduce((sum, { sent }) => sum + sent.length, 0),
        unanswered,
        twice,
        failed: stored.reduce((sum, { failed }) => sum + failed, 0),
        repeated: countBy(
          ledger.messages.flatMap(({ outcome, code }) => (outcome === 'acknowledged' ? [] : [code ?? ''])),
        ),
        requests,
        lost,
        idle: {
          subscriptions: all.length,
          outages: countBy(outages.map(({ reason }) => reason)),
          longestMs: Math.round(
            Math.max(0, ...outages.map(({ fromMs, untilMs = Number.POSITIVE_INFINITY }) => untilMs - fromMs)),
          ),
          wrong: all.filter(({ events }) => repliesIn(events).length !== 1 || !idsGrow(events)).length,
        },
        slowestReplyMs: Math.round(Math.max(0, ...latencies.map(({ tookMs }) => tookMs))),
      };
    },
  };
}

/** Asserts that no client noticed that pods were replaced. @param what the message of a failed assertion */
export function nothingWasLost(t: Assertions, outcome: Outcome, what = ''): void {
  const { unanswered, twice, lost, repeated, failed, idle } = outcome;
  t.deepEqual(
    { unanswered, twice, lost, repeated, failed, wrong: idle.wrong },
    { unanswered: [], twice: [], lost: [], repeated: {}, failed: 0, wrong: 0 },
    what,
  );
}

const repliesIn = (events: SessionEvent[]) => events.filter(({ __typename }) => __typename === 'AiResponseEvent');

const failuresIn = (events: SessionEvent[]) => events.filter(({ __typename }) => __typename === 'TurnFailedEvent');
const endsIn = (events: SessionEvent[]) => repliesIn(events).length + failuresIn(events).length;

function countBy(names: string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]));
}

/** Formats the figures of an outcome as one line, for logs and people. */
export function figuresOf({
  messages,
  unanswered,
  twice,
  failed,
  repeated,
  requests,
  lost,
  idle,
  slowestReplyMs,
}: Outcome): string {
  const counts = (of: Record<string, number>) =>
    Object.entries(of)
      .map(([name, count]) => `${count} × ${name}`)
      .join(', ') || 'none';
  return [
    `${messages} messages, ${unanswered.length} without a reply, ${twice.length} twice, ${failed} failed, repeated: ${counts(repeated)}`,
    `the slowest reply ${(slowestReplyMs / 1000).toFixed(1)} s`,
    `${requests} queries, ${lost.length} lost`,
    `${idle.subscriptions} idle subscriptions, ${idle.wrong} wrong, ended: ${counts(idle.outages)}, the longest ${(idle.longestMs / 1000).toFixed(1)} s`,
  ].join('; ');
}
