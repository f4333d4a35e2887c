import { sessionSchema } from '@parley/session/schema';
import test from 'ava';
import { converse, createAgent, sendMessage, startSession } from '../src/conversation.ts';
import { sharedMesh, type TestMesh } from '../src/mesh.ts';

const mesh = sharedMesh(test);

const refused = {
  message: 'The answer is too large; ask for less at a time',
  extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' },
};

/** What these take on a machine that is busy with other tests, in ms. */
const withinMs = 180_000;

let made: ReturnType<typeof makeTalkative> | undefined;

/** Somebody with a session that holds 40 million characters: a quarter more than an answer may. The same for all stories. */
function talkative() {
  made ??= mesh().then(makeTalkative);
  return made;
}

async function makeTalkative({ person, database }: TestMesh) {
  const ada = await person();
  const { id: sessionId } = await startSession(ada, await createAgent(ada));
  const { me } = await ada.query<{ me: { tenantId: number } }>('{ me: myTenant { tenantId: id } }');
  await database(sessionSchema).transact(me.tenantId, ({ knex }) =>
    knex.raw(
      `WITH said AS (
         INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
         SELECT tenant_id, id, 'USER', repeat('x', 10000), next_turn_index + n, next_turn_index + n, 2500
           FROM sessions, generate_series(0, 3999) AS n WHERE id = :sessionId
       )
       UPDATE sessions SET next_turn_index = next_turn_index + 4000 WHERE id = :sessionId`,
      { sessionId },
    ),
  );
  return { ada, sessionId };
}

// One after the other: each keeps a processor busy by itself, and in one process the gateway and all units share that.
test.serial('who asks for more than an answer holds is refused, and a conversation beside it goes on', async (t) => {
  t.timeout(withinMs);
  const running = await mesh();
  const { ada } = await talkative();
  const grace = await running.person();
  const beside = await converse(t, grace);

  // No two of these are alike, so that none can be answered from what was read for another.
  const lists = Array.from({ length: 16 }, (_, n) => `a${n}: sessions { messages(first: ${5_000 + n}) { text } }`);
  const hostile = Promise.all(Array.from({ length: 3 }, () => ada.refusal(`{ ${lists.join(' ')} }`)));
  await sendMessage(grace, beside.sessionId, 'Are you still there?');
  const [reply] = await beside.events.turns(1);

  for (const error of await hostile) t.like(error, refused);
  t.is(reply?.__typename, 'AiResponseEvent');
  for (const ops of running.addresses('session', 'ops')) t.is((await fetch(`${ops}/healthz`)).status, 200);
});

test.serial('what is too much as a whole is read page by page, and all of it where nothing is long', async (t) => {
  t.timeout(withinMs);
  const { ada, sessionId } = await talkative();
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
});
