import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import { closedByServer, converse, findEvaluation, follow } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const suspend = 'mutation ($on: Boolean!) { updateTenant(input: { isSuspended: $on }) { isSuspended } }';

/** Opens a socket for each of two sign-ins of one person, and subscribes both to the same session. */
async function followed(t: ExecutionContext, mesh: TestMesh) {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  const elsewhere = await ada.elsewhere();
  const second = follow(t, elsewhere, sessionId);
  await second.opened();
  const close = () => closedByServer(t, [events, second]);
  return { ada, elsewhere, sessionId, events, second, close };
}

async function refusedSocket(t: ExecutionContext, client: Client, sessionId: number) {
  const events = follow(t, client, sessionId);
  return events.until('the refusal', ({ closed, errors }) => closed ?? errors?.[0]?.extensions);
}

story(
  'a suspended tenant loses its sockets within a second, and may open them again after the suspension',
  async (t, mesh) => {
    const { ada, sessionId, close } = await followed(t, mesh);
    await ada.query(suspend, { on: true });
    await close();
    t.like(await refusedSocket(t, ada, sessionId), { code: 4403 });
    await ada.query(suspend, { on: false });
    await follow(t, ada, sessionId).opened();
  },
);

story('a deleted tenant loses its sockets within a second, and its session is not evaluated', async (t, mesh) => {
  const { ada, elsewhere, sessionId, close } = await followed(t, mesh);
  await ada.query('mutation { deleteTenant }');
  await close();
  for (const client of [ada, elsewhere]) {
    t.like(await refusedSocket(t, client, sessionId), { code: 'FORBIDDEN', reason: 'NO_TENANT' });
  }
  await ada.query('mutation { createTenant(input: { name: "Another" }) { id } }');
  t.like(await refusedSocket(t, ada, sessionId), { code: 'NOT_FOUND' });
  t.is(await findEvaluation(ada, sessionId), null);
});

story(
  'a sign-in that changes to another tenant loses its sockets in the previous one; other sign-ins keep theirs',
  async (t, mesh) => {
    const { ada, elsewhere, sessionId, events, second } = await followed(t, mesh);
    await ada.query('mutation { createTenant(input: { name: "Elsewhere" }) { id } }');
    await closedByServer(t, [events]);
    t.is(second.closed, undefined);
    t.like(await refusedSocket(t, ada, sessionId), { code: 'NOT_FOUND' });
    await follow(t, elsewhere, sessionId).opened();
  },
);
