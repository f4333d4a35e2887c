import { unauthenticated, unavailable } from '@parley/kernel/errors';
import type { GraphContext } from '@parley/subgraph/subgraph';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';

const home = '192.0.2.7';
const stranger = '203.0.113.9';
const placesForAttempts = 16;
const flooding = 300;

/** Starts a gateway. The test decides when identity answers attempts to sign in. */
async function setup(t: ExecutionContext) {
  /** Client addresses of the attempts that identity received, in order. */
  const begun: string[] = [];
  /** For each waiting attempt, a function that answers it. */
  const held = new Map<string, () => void>();
  const state = { isHeld: false, isRight: (_address: string) => true };
  const answer = async (_: unknown, __: unknown, { caller: { ip = '' } }: GraphContext) => {
    begun.push(ip);
    if (state.isHeld) await new Promise<void>((resolve) => held.set(ip, resolve));
    if (!state.isRight(ip)) throw unauthenticated('Wrong credentials');
    return { accessToken: 'a', expiresIn: 1, refreshToken: '', refreshExpiresIn: 1 };
  };
  const mesh = await gatewayMesh(t, {
    // The timeout is so long that no call is refused because of its wait.
    env: { TRUSTED_PROXIES: '127.0.0.1', GATEWAY_SUBGRAPH_TIMEOUT_MS: '3600000' },
    resolvers: {
      identity: {
        Mutation: { login: answer, refreshToken: () => ({ accessToken: 'b' }), generateOTP: () => 1 },
      },
    },
  });
  const { keyValue } = mesh;
  const { get, set } = keyValue;
  const known: string[] = [];
  const store = { isDown: false };
  const used = (operation: string, key: string) => {
    if (!key.startsWith('parley:known-network:')) return;
    known.push(operation);
    if (store.isDown) throw unavailable('The store is down');
  };
  keyValue.get = async (key) => {
    used('get', key);
    return get(key);
  };
  keyValue.set = async (key, ...rest) => {
    used('set', key);
    return set(key, ...rest);
  };
  async function waiting() {
    const text = await (await fetch(`${mesh.addresses.of('gateway', 'ops')}/metrics`)).text();
    return Number(/^parley_subgraph_calls_waiting\S* (\d+)$/mu.exec(text)?.[1]);
  }
  const ask = (document: string, address: string, at?: string) =>
    mesh.ask(document, { headers: { 'x-forwarded-for': address }, ...(at !== undefined && { at }) });
  const logIn = (address: string, at?: string) =>
    ask('mutation { mine: login(input: { email: "a@example.com", password: "p" }) { accessToken } }', address, at);
  return {
    begun,
    state,
    store,
    known,
    ask,
    logIn,
    secondGateway: mesh.secondGateway,
    isWaiting: (count: number) => eventually(`${count} wait`, async () => (await waiting()) === count),
    /** Sends attempts to sign in from 300 networks, each in its own /16. Waits until the first attempts run and all others are queued. */
    async flood() {
      state.isHeld = true;
      begun.length = 0;
      const answers = Array.from({ length: flooding }, (_, n) => logIn(`${20 + (n >> 8)}.${n & 255}.0.1`));
      await eventually('the others wait', async () => (await waiting()) === flooding - placesForAttempts);
      await eventually('the first are under way', () => begun.length === placesForAttempts);
      return { answers: Promise.all(answers) };
    },
    end: (address: string) => held.get(address)?.(),
    endAll() {
      state.isHeld = false;
      for (const end of held.values()) end();
    },
  };
}

test('a flood from many networks does not delay an attempt from one where a sign-in succeeded, at any gateway', async (t) => {
  const { begun, state, logIn, secondGateway, isWaiting, flood, end, endAll } = await setup(t);
  t.like(await logIn(home, await secondGateway()), { data: { mine: { accessToken: 'a' } } });
  state.isRight = (address) => address === home || address === stranger;
  const { answers } = await flood();
  const fromStranger = logIn(stranger);
  await isWaiting(flooding - placesForAttempts + 1);
  const fromHome = logIn(home);
  await eventually('the known network has a place of its own', () => begun.length > placesForAttempts);
  t.is(begun.at(-1), home);
  end(home);
  t.like(await fromHome, { data: { mine: { accessToken: 'a' } }, errors: undefined });
  t.false(begun.includes(stranger), 'a new network waits until an attempt of the flood ends');
  endAll();
  t.like(await fromStranger, { data: { mine: { accessToken: 'a' } }, errors: undefined });
  for (const answer of await answers) t.deepEqual(codesOf(answer), ['UNAUTHENTICATED']);
});

test('while the store is down, attempts succeed, and a known network waits as a new one does', async (t) => {
  const { begun, store, logIn, isWaiting, flood, endAll } = await setup(t);
  await logIn(home);
  store.isDown = true;
  t.like(await logIn(home), { data: { mine: { accessToken: 'a' } }, errors: undefined });
  const { answers } = await flood();
  const fromHome = logIn(home);
  await isWaiting(flooding - placesForAttempts + 1);
  t.false(begun.includes(home));
  endAll();
  for (const answer of [await fromHome, ...(await answers)]) t.is(answer.errors, undefined);
});

test('each attempt reads the store once and the first success writes once; other operations do neither', async (t) => {
  const { state, known, ask, logIn } = await setup(t);
  const operations = () => known.splice(0);
  state.isRight = () => false;
  t.deepEqual(codesOf(await logIn(home)), ['UNAUTHENTICATED']);
  t.deepEqual(operations(), ['get']);
  await ask('mutation { generateOTP(input: { email: "a@example.com" }) }', home);
  t.false(operations().includes('set'), 'a code is no sign-in');
  state.isRight = () => true;
  await logIn(home);
  t.deepEqual(operations(), ['get', 'set']);
  await logIn(home);
  t.deepEqual(operations(), ['get']);
  await ask('mutation { refreshToken(input: { refreshToken: "r" }) { accessToken } }', home);
  t.deepEqual(operations(), []);
});
