import { setTimeout as delay } from 'node:timers/promises';
import { Client, newAccount } from '@parley/stories/client';
import { atOnce, type Figure, figure, oneByOne, quantile, tookMs } from '../figures.ts';
import { codeOf, type Flood, type Scene } from './flood.ts';

/** Logins with wrong passwords from many addresses of one network, each as soon as the previous one returns, while users sign in. */
export const failingLogins: Flood = {
  name: 'failing logins',
  probes: ['query', 'signIn'],
  run,
};

async function run({ short, say, mesh }: Scene): Promise<Figure[]> {
  const [addresses, signIns] = short ? [10, 2] : [200, 20];
  const [url = ''] = mesh.urls;
  const people = await oneByOne(signIns, async () => {
    const person = new Client(url);
    await person.register();
    return person;
  });
  const credentials = ({ account }: Client) => ({ email: account?.email ?? '', password: account?.password ?? '' });
  const fromElsewhere = (person: Client) => new Client(url).login(credentials(person));
  /** Signs in from the address that registered the account. */
  const fromHome = (person: Client) => Object.assign(new Client(url), { ip: person.ip }).login(credentials(person));
  const times = (signIn: (person: Client) => Promise<unknown>) =>
    oneByOne(signIns, (n) => tookMs(() => signIn(people[n] as Client)));
  await times(fromElsewhere); // warm-up
  const alone = await times(fromElsewhere);

  say(`failing logins from ${addresses} addresses`);
  const answers = new Map<string, number>();
  const end = new AbortController();
  const flood = atOnce(addresses, async (n) => {
    const attacker = Object.assign(new Client(url), { ip: `198.51.100.${n % 250}` });
    while (!end.signal.aborted) {
      const { email, password } = newAccount();
      const outcome = await attacker.login({ email, password }).then(() => 'a sign-in', codeOf);
      answers.set(outcome, (answers.get(outcome) ?? 0) + 1);
      // Without a pause, clients that are refused at once would only keep the gateway busy.
      if (outcome !== 'UNAUTHENTICATED') await delay(1_000);
    }
  });
  await delay(short ? 100 : 2_000);
  // One after the other, because an address has a limited number of attempts.
  const beside = await oneByOne(signIns, async (n) => ({
    elsewhere: await tookMs(() => fromElsewhere(people[n] as Client)),
    home: await tookMs(() => fromHome(people[n] as Client)),
  }));
  const elsewhere = beside.map((each) => each.elsewhere);
  const home = beside.map((each) => each.home);
  end.abort();
  await flood;
  return [
    figure('right login from a new address, alone, p50', quantile(alone, 0.5), 'ms'),
    figure('right login from a new address, p50', quantile(elsewhere, 0.5), 'ms', { goal: 1_000 }),
    figure('right login from a new address, slowest', Math.max(...elsewhere), 'ms'),
    figure('right login from an address of the account, p50', quantile(home, 0.5), 'ms', { goal: 1_000 }),
    figure('right login from an address of the account, slowest', Math.max(...home), 'ms'),
    ...[...answers].map(([outcome, count]) => figure(`failing logins answered with ${outcome}`, count, 'in all')),
  ];
}
