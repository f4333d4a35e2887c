import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import { createAgent, sendMessage, startSession } from '@parley/stories/conversation';
import { createPasswords } from '../../../services/identity/src/passwords/passwords.ts';
import { type Figure, figure, median, medianOf, oneByOne, quantile, tookMs } from './figures.ts';
import { type BenchOptions, openPlace } from './processes.ts';

/** The number of accounts. It is so high that no account receives enough wrong passwords to be locked. */
const peopleCount = ({ short }: BenchOptions) => (short ? 3 : 20);
/** Operations per second. These rates are so low that the machine is mostly idle without logins. */
const rates = { logins: 20, queries: 25, messages: 10 };
const query = '{ myTenant { id } getAuthProfile { id } }';
const login = 'mutation ($input: SignInInput!) { login(input: $input) { accessToken } }';

/** Logs in from a new IP address. @throws Error for an unexpected response */
async function logIn({ url, account }: Client, wrong?: { email?: string; password?: string }): Promise<void> {
  const { email, password } = { ...account, ...wrong };
  const { errors, text } = await new Client(url).send(login, { input: { email, password } });
  if (errors?.[0]?.extensions.code !== (wrong && 'UNAUTHENTICATED')) throw new Error(`It was answered ${text}`);
}

/** Measures logins in a one-process mesh: their duration, and their effect on other requests. */
export async function loginsFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, short, say } = options;
  await using place = await openPlace(options);
  // The bench is a trusted proxy that gives each client an IP address, so that no rate limit or lockout applies.
  await using mesh = await place.start({ TRUSTED_PROXIES: '127.0.0.1/32' });
  const people = await oneByOne(peopleCount(options), async () => {
    const person = new Client(mesh.urls[0] ?? '');
    await person.register();
    return person;
  });
  say('logins one at a time');
  const alone = await loginTimes(people, short ? 1 : 20, short ? 2 : 200);
  say(`others beside 20 logins a second, ${rounds} rounds`);
  return [...alone, ...(await besideLogins(people, options))];
}

/**
 * Measures four operations alternately:
 * - a login with the right password
 * - a login with a wrong password
 * - a login with an unknown account
 * - the comparison of a password alone
 */
async function loginTimes(people: Client[], warmUp: number, calls: number): Promise<Figure[]> {
  const passwords = createPasswords({ atOnce: 1, waiting: 1, perUser: 1, perAddress: 1 });
  const asker = { address: 'here' };
  const stored = await passwords.hash('a password', asker);
  const times = await oneByOne(warmUp + calls, async (n) => {
    const person = people[n % people.length] as Client;
    return {
      alone: await tookMs(() => passwords.verify(stored, 'a password', asker)),
      right: await tookMs(() => logIn(person)),
      wrong: await tookMs(() => logIn(person, { password: 'not the password' })),
      unknown: await tookMs(() => logIn(person, { email: `nobody-${n}@example.com` })),
    };
  });
  const of = (which: keyof (typeof times)[number]) => medianOf(times.slice(warmUp), (time) => time[which]);
  return [
    figure('login, p50', of('right'), 'ms'),
    figure('login, p50, over the comparison of a password', of('right') - of('alone'), 'ms', { goal: 10 }),
    figure('login with a wrong password, p50', of('wrong'), 'ms'),
    figure('login of an account that is not there, p50', of('unknown'), 'ms'),
    figure('between these two', Math.abs(of('wrong') - of('unknown')), 'ms', { goal: 5 }),
  ];
}

/** Measures the latency of other requests, alternately without logins and with 20 logins per second. */
async function besideLogins(people: Client[], { rounds, short, say }: BenchOptions): Promise<Figure[]> {
  const ada = people[0] as Client;
  const agentId = await createAgent(ada);
  const sessionIds = await oneByOne(10, async () => (await startSession(ada, agentId)).id);
  const failures: unknown[] = [];

  /** Calls `work` at a fixed rate without waiting for earlier calls. A failure counts as an infinite duration. */
  async function go(rate: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
    const begunAt = performance.now();
    const calls: Promise<number>[] = [];
    for (let index = 0; index < rate * (short ? 0.15 : 12); index += 1) {
      await delay(Math.max(0, begunAt + (index * 1_000) / rate - performance.now()));
      const call = tookMs(() => work(index));
      calls.push(call.catch((error: unknown) => (failures.push(error) > 0 ? Number.POSITIVE_INFINITY : 0)));
    }
    return Promise.all(calls);
  }

  async function stretch(logins: number) {
    const elsewhere = () => ada.at(ada.url);
    const write = (sessionId = 0) => sendMessage(elsewhere(), sessionId, 'How long does it take?', randomUUID());
    const [queries, messages, times] = await Promise.all([
      go(rates.queries, () => elsewhere().query(query)),
      go(rates.messages, (index) => write(sessionIds[index % sessionIds.length])),
      go(logins, (index) => logIn(people[index % people.length] as Client)),
    ]);
    return { queries, messages, logins: times };
  }

  await stretch(rates.logins); // warm-up
  const measured = await oneByOne(rounds, async (round) => {
    // Logs in for each round, because a token is valid only for some minutes.
    await ada.login({ email: ada.account?.email ?? '', password: ada.account?.password ?? '' });
    // Alternates the order, so that the growth of the data over time affects the measurements with and without logins equally.
    const busyFirst = round % 2 === 1 ? await stretch(rates.logins) : undefined;
    const idle = await stretch(0);
    return { idle, busy: busyFirst ?? (await stretch(rates.logins)) };
  });
  if (failures.length > 0) say(`${failures.length} calls failed and count as infinite; first: ${String(failures[0])}`);

  const figures = (what: 'queries' | 'messages', name: string): Figure[] => {
    const idleAt = (q: number) => medianOf(measured, ({ idle }) => quantile(idle[what], q));
    const ratios = (q: number) => measured.map(({ idle, busy }) => quantile(busy[what], q) / quantile(idle[what], q));
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
  const logins = measured.flatMap(({ busy }) => busy.logins);
  return [
    ...figures('queries', 'query by a person'),
    // allow-name sendMessage: the operation that is measured.
    ...figures('messages', 'sendMessage'),
    figure('one of 20 logins a second, p50', quantile(logins, 0.5), 'ms'),
    figure('one of 20 logins a second, p99', quantile(logins, 0.99), 'ms'),
  ];
}
