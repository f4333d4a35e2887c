import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import type { Client } from '../src/client.ts';
import { createAgent, startSession } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import { sessionEventsDocument } from '../src/session-events.ts';
import { openSocket } from '../src/sockets.ts';
import { stories } from '../src/stories.ts';

// The connections of a real database are shared fairly. The embedded database runs one transaction at a time, in order of arrival.
const story = stories(test, { on: 'processes' });
const calls = 300;
/** The maximum number of subscriptions on one socket. */
const subscriptions = 50;
/**
 * The maximum number of one client's calls that may be answered while another client waits for the answer to a single query. In a shared
 * FIFO queue, almost all of the calls would be answered before the query. In a fair queue, the query waits only for about as many calls as
 * were running when it arrived, and for more on a busy machine.
 */
const mayPass = 120;

/** Mutations by one account. They are slow, or wait for each other's locks. */
const slow: Record<string, (ada: Client, n: number) => [document: string, variables: object]> = {
  changePassword: ({ account }) => [
    'mutation ($input: PasswordInput!) { changePassword(input: $input) }',
    { input: { newPassword: account?.password } },
  ],
  updateTenant: (_ada, n) => [
    'mutation ($input: UpdateTenantInput!) { updateTenant(input: $input) { id } }',
    { input: { name: `Name ${n}` } },
  ],
};

/** Returns the number of calls in the queues of all gateways. */
async function waiting(mesh: TestMesh): Promise<number> {
  const counts = mesh.addresses('gateway', 'ops').map(async (address) => {
    const text = await (await fetch(`${address}/metrics`)).text();
    return Number(/^parley_subgraph_calls_waiting\S* (\d+)$/mu.exec(text)?.[1]);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

for (const [name, callOf] of Object.entries(slow)) {
  story.serial(
    `${calls} calls of ${name} by one account do not delay others, and end when their client disconnects`,
    async (t, mesh) => {
      const ada = await mesh.person();
      const grace = await mesh.person();
      const stranger = grace.at(ada.url);
      await stranger.query('{ myTenant { id } }');
      const leaving = new AbortController();
      let answered = 0;
      // Repeats each refused call at once, as an abusive client does. Otherwise a fast service might answer all calls before the test
      // counts the waiting ones.
      const all = Array.from({ length: calls }, async (_, n) => {
        const [document, variables] = callOf(ada, n);
        for (;;) {
          const { errors } = await ada.send(document, variables, {}, leaving.signal);
          if (errors?.[0]?.extensions.code === 'TOO_MANY_REQUESTS') continue;
          answered += 1;
          if (errors) return errors;
        }
      });
      const over = Promise.allSettled(all);
      await eventually('most of them wait', async () => (await waiting(mesh)) > calls / 2);

      for (let n = 0; n < 3; n += 1) {
        const before = answered;
        t.truthy((await stranger.query<{ myTenant: unknown }>('{ myTenant { id } }')).myTenant);
        t.true(answered - before < mayPass, `${answered - before} of ${calls} were answered meanwhile`);
      }
      leaving.abort();
      await eventually('none of them waits', async () => (await waiting(mesh)) === 0);
      for (const outcome of await over) {
        if (outcome.status === 'fulfilled') t.notRegex(JSON.stringify(outcome.value ?? []), /INTERNAL/u);
        else t.is(outcome.reason?.name, 'AbortError');
      }
    },
  );
}

/** Opens a socket for subscriptions to a session. */
async function socketOf({ url, ip, tokens }: Client, sessionId: number) {
  const opened = Promise.withResolvers<void>();
  const authorization = `Bearer ${tokens?.accessToken}`;
  const client = openSocket({
    url,
    credentials: { 'x-app-platform': 'customer', 'x-forwarded-for': ip, authorization },
    on: { connected: () => opened.resolve() },
  });
  await opened.promise;
  const payload = { query: sessionEventsDocument, variables: { sessionId: String(sessionId), after: '0' } };
  return {
    follow: (onEvent: (event: unknown) => void) =>
      client.subscribe(payload, { next: onEvent, error: onEvent, complete: () => undefined }),
    close: () => void client.dispose(),
  };
}

story.serial(`${calls} concurrent subscriptions of one client do not delay others`, async (t, mesh) => {
  const ada = await mesh.person();
  const grace = await mesh.person();
  const stranger = grace.at(ada.url);
  const { id } = await startSession(ada, await createAgent(ada));
  const sockets = await Promise.all(Array.from({ length: calls / subscriptions }, () => socketOf(ada, id)));
  t.teardown(() => sockets.forEach((socket) => socket.close()));
  await stranger.query('{ sessionCount }');

  /** The first events of the subscriptions. */
  const first: unknown[] = [];
  for (const socket of sockets) {
    for (let n = 0; n < subscriptions; n += 1) {
      let isFirst = true;
      socket.follow((event) => {
        if (isFirst) first.push(event);
        isFirst = false;
      });
    }
  }
  await eventually('the first have begun', () => first.length > 0);
  const before = first.length;
  t.like(await stranger.query('{ sessionCount }'), { sessionCount: 0 });
  const passed = first.length - before;
  t.log(`${passed} of ${calls} began while the stranger waited, ${before} before`);
  t.true(passed < mayPass / 2, `${passed} of ${calls} began meanwhile`);
  await eventually('all have begun', () => first.length === calls);
  t.deepEqual(
    first.filter((event) => !Object.hasOwn(event as object, 'data')),
    [],
  );
});
