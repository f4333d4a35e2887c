import { setTimeout as delay } from 'node:timers/promises';
import { Client, newAccount } from '@parley/stories/client';
import { atOnce, type Figure, figure, oneByOne, quantile, tookMs } from '../figures.ts';
import { codeOf, type Flood, type Scene } from './flood.ts';

/**
 * Many clients send wrong passwords, each as soon as its previous one was refused, while other people sign in. First, the addresses of the
 * clients belong to one network; then each address belongs to a different network.
 */
export const failingLogins: Flood = {
  name: 'failing logins',
  probes: ['query', 'signIn'],
  run,
};

/** The two floods, by the networks of their clients. Each function returns the IP address of the n-th client. */
const floods = {
  'of one /24': (n: number) => `198.51.100.${n % 250}`,
  'of a /16 each': (n: number) => `198.${n % 250}.0.1`,
};

async function run(scene: Scene): Promise<Figure[]> {
  const people = await newPeople(scene);
  await people.signIn('elsewhere'); // warm-up
  const alone = await people.signIn('elsewhere');
  const figures = [figure('right login from a new address, alone, p50', quantile(alone, 0.5), 'ms')];
  for (const [from, ipOf] of Object.entries(floods)) {
    const flooded = await flood(scene, from, ipOf, people);
    figures.push(...flooded.map((each) => ({ ...each, name: `addresses ${from}: ${each.name}` })));
  }
  return figures;
}

/** Registers accounts. `signIn` logs in with each account, one after the other, and returns the durations. */
async function newPeople({ short, mesh: { urls } }: Scene) {
  const [url = ''] = urls;
  const signIns = short ? 2 : 20;
  const people = await oneByOne(signIns, async () => {
    const person = new Client(url);
    await person.register();
    return person;
  });
  const credentials = ({ account }: Client) => ({ email: account?.email ?? '', password: account?.password ?? '' });
  const from = {
    elsewhere: (person: Client) => new Client(url).login(credentials(person)),
    /** Logs in from the IP address from which the account was registered. */
    home: (person: Client) => Object.assign(new Client(url), { ip: person.ip }).login(credentials(person)),
  };
  return {
    signIn: (where: keyof typeof from) => oneByOne(signIns, (n) => tookMs(() => from[where](people[n] as Client))),
  };
}

async function flood(
  { short, say, mesh: { urls } }: Scene,
  from: string,
  ipOf: (n: number) => string,
  people: Awaited<ReturnType<typeof newPeople>>,
): Promise<Figure[]> {
  const [url = ''] = urls;
  const addresses = short ? 10 : 200;
  say(`failing logins from ${addresses} addresses ${from}`);
  const answers = new Map<string, number>();
  const end = new AbortController();
  const attackers = atOnce(addresses, async (n) => {
    const attacker = Object.assign(new Client(url), { ip: ipOf(n) });
    while (!end.signal.aborted) {
      const { email, password } = newAccount();
      const outcome = await attacker.login({ email, password }).then(() => 'a sign-in', codeOf);
      answers.set(outcome, (answers.get(outcome) ?? 0) + 1);
      // Without a pause, clients that are refused at once would send so many requests that they only keep the gateway busy.
      if (outcome !== 'UNAUTHENTICATED') await delay(1_000);
    }
  });
  await delay(short ? 100 : 2_000);
  // Logs in from new addresses and from the accounts' known addresses at the same time, because the number of attempts from each address is
  // limited.
  const [elsewhere, home] = await Promise.all([people.signIn('elsewhere'), people.signIn('home')]);
  end.abort();
  await attackers;
  return [
    figure('right login from a new address, p50', quantile(elsewhere, 0.5), 'ms'),
    figure('right login from a new address, slowest', Math.max(...elsewhere), 'ms'),
    figure('right login from an address of the account, p50', quantile(home, 0.5), 'ms', { goal: 1_000 }),
    figure('right login from an address of the account, slowest', Math.max(...home), 'ms'),
    ...[...answers].map(([outcome, count]) => figure(`failing logins answered with ${outcome}`, count, 'in all')),
  ];
}
