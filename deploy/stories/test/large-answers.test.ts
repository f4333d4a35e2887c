import { sessionSchema } from '@parley/session/schema';
import test from 'ava';
import { converse, createAgent, sendMessage, startSession } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const refused = {
  message: 'The answer is too large; ask for less at a time',
  extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' },
};

/** The timeout of these stories on a machine that is busy with other tests, in ms. */
const withinMs = 180_000;

const made = new Map<TestMesh, ReturnType<typeof makeTalkative>>();

/**
 * Returns a user with a session of 40 million characters, a quarter more than the maximum of one response. All stories on a mesh share the
 * user. The messages have the role MODEL, so that none needs a reply.
 */
function talkative(mesh: TestMesh) {
  const known = made.get(mesh) ?? makeTalkative(mesh);
  made.set(mesh, known);
  return known;
}

async function makeTalkative({ person, database }: TestMesh) {
  const ada = await person();
  const { id: sessionId } = await startSession(ada, await createAgent(ada));
  const { me } = await ada.query<{ me: { tenantId: number } }>('{ me: myTenant { tenantId: id } }');
  await database(sessionSchema).transact(me.tenantId, ({ knex }) =>
    knex.raw(
      `WITH said AS (
         INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
         SELECT tenant_id, id, 'MODEL', repeat('x', 10000), next_turn_index + n, next_turn_index + n, 2500
           FROM sessions, generate_series(0, 3999) AS n WHERE id = :sessionId
       )
       UPDATE sessions SET next_turn_index = next_turn_index + 4000 WHERE id = :sessionId`,
      { sessionId },
    ),
  );
  /** Deletes the messages, because other tests read all rows. */
  const forget = () =>
    database(sessionSchema).transact(me.tenantId, async ({ knex }) => {
      await knex('messages').where({ session_id: sessionId }).delete();
    });
  return { ada, sessionId, forget };
}

// The stories run one after the other, because each one fully uses a processor. In the one-process mesh, the gateway and all units share
// one processor.
story.serial(
  'a request whose response would be too large is refused, and a concurrent conversation continues',
  async (t, mesh) => {
    t.timeout(withinMs);
    const { ada } = await talkative(mesh);
    const grace = await mesh.person();
    const beside = await converse(t, grace);

    // Each list has another length, so that no list can reuse the rows that were read for another one.
    const lists = Array.from({ length: 16 }, (_, n) => `a${n}: sessions { messages(first: ${5_000 + n}) { text } }`);
    const hostile = Promise.all(Array.from({ length: 3 }, () => ada.refusal(`{ ${lists.join(' ')} }`)));
    await sendMessage(grace, beside.sessionId, 'Are you still there?');
    const [reply] = await beside.events.turns(1);

    for (const error of await hostile) t.like(error, refused);
    t.is(reply?.__typename, 'AiResponseEvent');
    for (const ops of mesh.addresses('session', 'ops')) t.is((await fetch(`${ops}/healthz`)).status, 200);
  },
);

story.serial(
  'a list that is too large for one response can be read in pages, or at once without its long fields',
  async (t, mesh) => {
    t.timeout(withinMs);
    const { ada, sessionId, forget } = await talkative(mesh);
    t.teardown(forget);
    t.like(await ada.refusal('{ sessions { messages { text } } }'), refused);
    const narrow = await ada.query<{ sessions: { messages: { turnIndex: number }[] }[] }>(
      '{ sessions { messages { turnIndex } } }',
    );
    const turns = narrow.sessions[0]?.messages.map(({ turnIndex }) => turnIndex) ?? [];
    t.true(turns.length >= 4_000);

    let after = 0;
    const read: number[] = [];
    for (;;) {
      const { session } = await ada.query<{ session: { messages: { id: number; turnIndex: number; text: string }[] } }>(
        `{ session(id: ${sessionId}) { messages(first: 1000, after: ${after}) { id turnIndex text } } }`,
      );
      read.push(...session.messages.map(({ turnIndex }) => turnIndex));
      const last = session.messages.at(-1);
      if (!last) break;
      t.is(last.text.length, 10_000);
      after = last.id;
    }
    t.deepEqual(read, turns);
  },
);
