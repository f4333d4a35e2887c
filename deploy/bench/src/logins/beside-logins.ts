import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure } from '../figure.ts';
import { median, quantile } from '../statistics.ts';
import { atRate } from './at-rate.ts';
import { type Person, type Sender, signIn } from './people.ts';

/** A second. The others are few enough to leave the machine idle without logins. */
const rates = { logins: 20, queries: 25, messages: 10 };
const sessions = 10;
const query = '{ myTenant { id } getAuthProfile { id } }';
const sendMessage = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
const createAgent = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';
const startSession = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }';

interface Stretch {
  queries: number[];
  messages: number[];
}

export interface BesideLoginsOptions {
  rounds: number;
  /** How long is measured idle, and again beside logins, in each round. */
  stretchMs: number;
  /** Told what could not be measured. */
  say: (text: string) => void;
}

/** What other people wait for while there are no logins and while there are 20 a second, in turn. */
export async function besideLoginsFigures(
  sender: Sender,
  people: Person[],
  { rounds, stretchMs, say }: BesideLoginsOptions,
): Promise<Figure[]> {
  const personOf = (index: number) => {
    const person = people[index % people.length];
    if (!person) throw new Error('There is nobody to sign in');
    return person;
  };
  const ada = personOf(0);
  let { token } = await signIn(sender, ada);
  const sessionIds = await openSessions(sender, token);
  const loginTimes: number[] = [];
  let failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  function tellFailures(): void {
    if (failures.length > 0)
      say(`${failures.length} calls failed, and count as endless; first: ${String(failures[0])}`);
    failures = [];
  }

  async function stretch(ms: number): Promise<Stretch> {
    const queries = atRate({
      rate: rates.queries,
      work: async () => (await sender.send(query, {}, token)).tookMs,
      onFailure,
    });
    const messages = atRate({
      rate: rates.messages,
      async work(index) {
        const sessionId = sessionIds[index % sessionIds.length];
        const input = { sessionId, text: 'How long does it take?', clientTurnId: randomUUID() };
        return (await sender.send(sendMessage, { input }, token)).tookMs;
      },
      onFailure,
    });
    await delay(ms);
    return { queries: await queries.end(), messages: await messages.end() };
  }

  async function beside(ms: number): Promise<Stretch> {
    const logins = atRate({
      rate: rates.logins,
      work: async (index) => (await signIn(sender, personOf(index))).tookMs,
      onFailure,
    });
    const measured = await stretch(ms);
    loginTimes.push(...(await logins.end()));
    return measured;
  }

  await beside(stretchMs); // warm-up
  loginTimes.length = 0;
  const measured: { idle: Stretch; busy: Stretch }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    ({ token } = await signIn(sender, ada)); // a token lasts for minutes
    // What grows from one stretch to the next must not count for one side alone.
    const busyFirst = round % 2 === 1 ? await beside(stretchMs) : undefined;
    const idle = await stretch(stretchMs);
    measured.push({ idle, busy: busyFirst ?? (await beside(stretchMs)) });
    tellFailures();
  }

  const figures = (what: keyof Stretch, name: string): Figure[] => {
    const ratios = (q: number) => measured.map(({ idle, busy }) => quantile(busy[what], q) / quantile(idle[what], q));
    const p99 = ratios(0.99);
    return [
      { name: `${name}, p50`, value: median(measured.map(({ idle }) => quantile(idle[what], 0.5))), unit: 'ms' },
      { name: `${name}, p50, beside 20 logins a second, over idle`, value: median(ratios(0.5)), unit: '×' },
      { name: `${name}, p99`, value: median(measured.map(({ idle }) => quantile(idle[what], 0.99))), unit: 'ms' },
      { name: `${name}, p99, beside 20 logins a second, over idle`, value: median(p99), unit: '×', goal: 1.5 },
      { name: `${name}, the same, best round`, value: Math.min(...p99), unit: '×' },
      { name: `${name}, the same, worst round`, value: Math.max(...p99), unit: '×' },
    ];
  };
  return [
    ...figures('queries', 'query by a person'),
    ...figures('messages', 'sendMessage'),
    { name: 'one of 20 logins a second, p50', value: quantile(loginTimes, 0.5), unit: 'ms' },
    { name: 'one of 20 logins a second, p99', value: quantile(loginTimes, 0.99), unit: 'ms' },
  ];
}

async function openSessions({ send }: Sender, token: string): Promise<number[]> {
  const agent = { name: 'Bench', position: 'Bench', subject: 'time', useCase: 'ONBOARDING', personaPrompt: 'Answer.' };
  const { data } = await send<{ createAgent: { id: number } }>(createAgent, { input: agent }, token);
  const ids: number[] = [];
  for (let n = 0; n < sessions; n += 1) {
    const input = { agentId: data.createAgent.id, clientExternalId: `bench-${n}` };
    ids.push((await send<{ startSession: { id: number } }>(startSession, { input }, token)).data.startSession.id);
  }
  return ids;
}
