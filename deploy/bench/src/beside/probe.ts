import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import { createAgent, sendMessage, startSession } from '@parley/stories/conversation';
import type { Probing } from '../floods/flood.ts';
import type { Probed } from '../floods/probe.ts';
import { serve } from '../processes.ts';

// A client that is not part of a flood. It starts operations at a fixed rate, even while earlier ones are pending.
const { PROBE_URL: url = '', PROBE_WHAT: what = '' } = process.env;
const person = new Client(url);
const account = await person.register();
/** Uses several conversations, because the turns of one session run one after the other. */
const conversations = await open(what.includes('turn') ? 8 : 0);
let probed: Probed = { times: {}, failed: {} };

async function open(count: number) {
  if (count === 0) return [];
  const agentId = await createAgent(person);
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { id } = await startSession(person, agentId);
      const events = person.subscribe(id, { after: '0', timeoutMs: 120_000 });
      await events.opened();
      return { id, events };
    }),
  );
}

async function time(name: string, work: () => Promise<unknown>): Promise<void> {
  const before = performance.now();
  try {
    await work();
    (probed.times[name] ??= []).push(performance.now() - before);
  } catch {
    probed.times[name] ??= [];
    probed.failed[name] = (probed.failed[name] ?? 0) + 1;
  }
}

/** Sends a message and waits for the whole turn. */
async function turn(nth: number): Promise<void> {
  const conversation = conversations[nth % conversations.length];
  if (!conversation) throw new Error('No conversation is open');
  const { id, events } = conversation;
  const turnId = randomUUID();
  await time('turn', async () => {
    await time('message', () => sendMessage(person, id, `A stranger asks ${nth}, ${turnId}`, turnId));
    await events.until(`the reply ${turnId}`, ({ replies }) => replies.some((each) => each.clientTurnId === turnId));
  });
}

/** The operations per second and the work of each probe. */
const works: Record<Probing, { rate: number; work: (nth: number) => Promise<void> }> = {
  query: { rate: 5, work: () => time('query', () => person.query('{ myTenant { id } agents { id name } }')) },
  turn: { rate: 1, work: turn },
  signIn: {
    rate: 1,
    work: () => time('sign-in', () => new Client(url).login({ email: account.email, password: account.password })),
  },
};

let ending = new AbortController();
let ended: Promise<unknown> = Promise.resolve();

async function repeat({ rate, work }: (typeof works)[Probing]): Promise<void> {
  const begunAt = performance.now();
  const all: Promise<void>[] = [];
  for (let nth = 0; !ending.signal.aborted; nth += 1) {
    all.push(work(nth));
    const pauseMs = Math.max(0, begunAt + ((nth + 1) * 1_000) / rate - performance.now());
    await delay(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined);
  }
  await Promise.all(all);
}

process.on('message', (command) => {
  if (command === 'begin') {
    probed = { times: {}, failed: {} };
    ending = new AbortController();
    ended = Promise.all(what.split(',').map(async (name) => repeat(works[name as Probing])));
  } else {
    ending.abort();
    void ended.then(() => process.send?.(probed));
  }
});
serve('up', async () => {
  await Promise.all(conversations.map(({ events }) => events.close()));
});
