import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Account, Client } from '@parley/stories/client';
import { createAgent, startSession } from '@parley/stories/conversation';
import { createPasswords } from '../../../services/identity/src/passwords.ts';
import type { Measuring } from './bench.ts';
import { type Figure, figure, median, medianOf, oneByOne, quantile } from './figures.ts';
import { atPlace } from './place.ts';

/** So many that none of them gets enough wrong passwords to be locked out. */
const peopleCount = 20;
const warmUp = 20;
/** A second. The others are few enough to leave the machine idle without logins. */
const rates = { logins: 20, queries: 25, messages: 10 };
const query = '{ myTenant { id } getAuthProfile { id } }';
const sendMessage = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
const login = 'mutation ($input: SignInInput!) { login(input: $input) { accessToken } }';

/** Logins of a mesh in one process: by themselves, and what they do to others. */
export function loginsFigures(measuring: Measuring): Promise<Figure[]> {
  return atPlace(measuring, async ({ start }) => {
    // Each client comes from an address of its own, as the proxy that the bench is says: no throttle and no lock has a say.
    const mesh = await start({ TRUSTED_PROXIES: '127.0.0.1/32' });
    const url = mesh.urls[0] ?? '';
    try {
      const people = await oneByOne(peopleCount, () => new Client(url).register());
      measuring.say('logins one at a time');
      const times = await loginTimes(url, people, measuring.short ? 5 : 200);
      measuring.say(`others beside 20 logins a second, ${measuring.rounds} rounds`);
      return [...times, ...(await besideLogins(url, people, measuring))];
    } finally {
      await mesh.stop();
    }
  });
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await call();
  return performance.now() - before;
}

/** From an address that nobody had before. */
function signIn(url: string, { email, password }: Pick<Account, 'email' | 'password'>): Promise<number> {
  return timed(() => new Client(url).query(login, { input: { email, password } }));
}

function failToSignIn(url: string, { email, password }: Pick<Account, 'email' | 'password'>): Promise<number> {
  return timed(async () => {
    const { extensions } = await new Client(url).refusal(login, { input: { email, password } });
    if (extensions.code !== 'UNAUTHENTICATED') throw new Error(`A wrong login was answered ${extensions.code}`);
  });
}

/**
 * How long a login takes: with the right password, with a wrong one, and of an account that is not there. All in turn, with
 * one comparison of a password by itself.
 */
async function loginTimes(url: string, people: Account[], calls: number): Promise<Figure[]> {
  const passwords = createPasswords({ atOnce: 1, queue: 1 });
  const stored = await passwords.hash('a password');
  const all = await oneByOne(warmUp + calls, async (n) => {
    const person = people[n % peopleCount] as Account;
    return {
      alone: await timed(() => passwords.verify(stored, 'a password')),
      right: await signIn(url, person),
      wrong: await failToSignIn(url, { ...person, password: 'not the password' }),
      unknown: await failToSignIn(url, { ...person, email: `nobody-${n}@example.com` }),
    };
  });
  const times = all.slice(warmUp);
  const of = (which: keyof (typeof times)[number]) => medianOf(times, (time) => time[which]);
  return [
    figure('login, p50', of('right'), 'ms'),
    figure('login, p50, over the comparison of a password', of('right') - of('alone'), 'ms', { goal: 10 }),
    figure('login with a wrong password, p50', of('wrong'), 'ms'),
    figure('login of an account that is not there, p50', of('unknown'), 'ms'),
    figure('between these two', Math.abs(of('wrong') - of('unknown')), 'ms', { goal: 5 }),
  ];
}

/** Calls each when it is due, however long those before it take: people do not wait for each other. */
function atRate(rate: number, work: (index: number) => Promise<number>) {
  const ending = new AbortController();
  const calls: Promise<number>[] = [];
  const running = (async () => {
    const begunAt = performance.now();
    for (let index = 0; !ending.signal.aborted; index += 1) {
      const waitMs = begunAt + (index * 1_000) / rate - performance.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal: ending.signal }).catch(() => undefined);
      if (!ending.signal.aborted) calls.push(work(index));
    }
  })();
  /** Begins nothing more, waits for what is under way, and answers what was measured. */
  return async () => {
    ending.abort();
    await running;
    return Promise.all(calls);
  };
}

interface Stretch {
  queries: number[];
  messages: number[];
}

/** What other people wait for while there are no logins and while there are 20 a second, in turn. */
async function besideLogins(url: string, people: Account[], { rounds, short, say }: Measuring): Promise<Figure[]> {
  const stretchMs = short ? 500 : 12_000;
  const ada = new Client(url);
  const enter = () => ada.login({ email: people[0]?.email ?? '', password: people[0]?.password ?? '' });
  await enter();
  const agentId = await createAgent(ada);
  const sessionIds = await oneByOne(10, async () => (await startSession(ada, agentId)).id);
  const failures: unknown[] = [];
  /** Calls that fail count as endless. */
  const orEndless = (call: Promise<number>) =>
    call.catch((error: unknown) => {
      failures.push(error);
      return Number.POSITIVE_INFINITY;
    });
  const asAda = (document: string, variables?: object) =>
    orEndless(timed(() => Object.assign(new Client(url), { tokens: ada.tokens }).query(document, variables)));

  async function idle(): Promise<Stretch> {
    const queries = atRate(rates.queries, () => asAda(query));
    const messages = atRate(rates.messages, (index) => {
      const sessionId = sessionIds[index % sessionIds.length];
      return asAda(sendMessage, { input: { sessionId, text: 'How long does it take?', clientTurnId: randomUUID() } });
    });
    await delay(stretchMs);
    return { queries: await queries(), messages: await messages() };
  }

  async function busy(): Promise<Stretch & { logins: number[] }> {
    const logins = atRate(rates.logins, (index) => orEndless(signIn(url, people[index % peopleCount] as Account)));
    return { ...(await idle()), logins: await logins() };
  }

  await busy(); // warm-up
  const measured = await oneByOne(rounds, async (round) => {
    await enter(); // a token lasts for minutes
    // What grows from one stretch to the next must not count for one side alone.
    const busyFirst = round % 2 === 1 ? await busy() : undefined;
    const quiet = await idle();
    return { idle: quiet, busy: busyFirst ?? (await busy()) };
  });
  if (failures.length > 0) say(`${failures.length} calls failed, and count as endless; first: ${String(failures[0])}`);

  const figures = (what: keyof Stretch, name: string): Figure[] => {
    const idleAt = (q: number) => medianOf(measured, (round) => quantile(round.idle[what], q));
    const ratios = (q: number) =>
      measured.map((round) => quantile(round.busy[what], q) / quantile(round.idle[what], q));
    const p99 = ratios(0.99);
    return [
      figure(`${name}, p50`, idleAt(0.5), 'ms'),
      figure(`${name}, p50, beside 20 logins a second, over idle`, median(ratios(0.5)), '×'),
      figure(`${name}, p99`, idleAt(0.99), 'ms'),
      figure(`${name}, p99, beside 20 logins a second, over idle`, median(p99), '×', { goal: 1.5 }),
      figure(`${name}, the same, best round`, Math.min(...p99), '×'),
      figure(`${name}, the same, worst round`, Math.max(...p99), '×'),
    ];
  };
  const loginTimesOfAll = measured.flatMap((round) => round.busy.logins);
  return [
    ...figures('queries', 'query by a person'),
    ...figures('messages', 'sendMessage'),
    figure('one of 20 logins a second, p50', quantile(loginTimesOfAll, 0.5), 'ms'),
    figure('one of 20 logins a second, p99', quantile(loginTimesOfAll, 0.99), 'ms'),
  ];
}
