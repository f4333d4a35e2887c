import { evaluationSchema } from '@parley/evaluation/schema';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import type { Client } from '../src/client.ts';
import {
  closedByServer,
  converse,
  createAgent,
  endSession,
  evaluated,
  findEvaluation,
  follow,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { idsOf, outcome, profile, withCredentials } from '../src/credentials.ts';
import type { TestMesh } from '../src/mesh.ts';
import { openSocket } from '../src/sockets.ts';
import { stories } from '../src/stories.ts';
import { withinASecond } from '../src/within-a-second.ts';

const story = stories(test, { on: 'processes' });
const interrupt = 'mutation ($id: ID!) { interruptSession(sessionId: $id) }';
const suspended = 'FORBIDDEN TENANT_SUSPENDED';

/** Opens a socket with an API key, and observes the code with which the socket is closed. */
function apiKeySocket(url: string, key: string) {
  let closed: number | undefined;
  let connected = false;
  const client = openSocket({
    url,
    credentials: { 'x-app-platform': 'customer', 'x-api-key': key },
    on: {
      connected: () => {
        connected = true;
      },
      closed: (event) => {
        closed = (event as { code: number }).code;
      },
    },
  });
  return {
    closed: () => closed,
    connected: () => connected,
    dispose: async () => client.dispose(),
  };
}

/** Returns the time at which the postponed evaluation of a session is due; undefined if it was not postponed. */
function judgementDue({ database }: TestMesh, sessionId: number): Promise<Date | undefined> {
  return database(evaluationSchema).transactShared(async ({ knex }) => {
    const waiting = knex('jobs').where({ kind: 'evaluation.judge', key: String(sessionId), state: 'queued' });
    return (await waiting.where('run_at', '>', knex.raw('parley_now()')).first('runAt'))?.runAt;
  });
}

async function apiKeyOf(client: Client): Promise<string> {
  return (await client.query<{ generateApiKey: { key: string } }>('mutation { generateApiKey { key } }')).generateApiKey
    .key;
}

story('a replaced API key loses its sockets and cannot open new ones, on either gateway', async (t, mesh) => {
  const { person, url, secondUrl } = withCredentials(mesh);
  const ada = await person();
  const key = await apiKeyOf(ada);
  const sockets = [url, secondUrl].map((at) => apiKeySocket(at, key));
  t.teardown(() => Promise.all(sockets.map((socket) => socket.dispose())));
  await eventually('both are open', () => sockets.every((socket) => socket.connected()));
  const next = await apiKeyOf(ada);
  await withinASecond(url, 'both are closed', () => sockets.every((socket) => socket.closed() === 4403));
  for (const at of [url, secondUrl]) {
    const late = apiKeySocket(at, key);
    t.is(await eventually('the old key opens nothing', late.closed), 4403);
    const fresh = apiKeySocket(at, next);
    await eventually('the new one does', fresh.connected);
    await fresh.dispose();
  }
});

story('a session token allows only the operations of its own session', async (t, mesh) => {
  const { person, withSessionToken } = withCredentials(mesh);
  const ada = await person();
  const { tenantId } = await idsOf(ada);
  const agentId = await createAgent(ada);
  const [own, other] = [await startSession(ada, agentId), await startSession(ada, agentId)];
  const eve = await person();
  const foreign = await startSession(eve, await createAgent(eve));
  const widget = withSessionToken({ tenantId, sessionId: own.id });

  t.is(await outcome(widget, interrupt, { id: own.id }), 'ok');
  for (const id of [other.id, foreign.id, 999_999, 0, -1, 99999999999, 'abc', `0${own.id}`, `${own.id} `]) {
    t.is(await outcome(widget, interrupt, { id: String(id) }), 'FORBIDDEN', String(id));
    const events = widget.subscribe(String(id));
    t.teardown(() => events.close());
    const [refused] = await events.until('the refusal', ({ errors }) => errors);
    t.is(refused?.extensions.code, 'FORBIDDEN', String(id));
  }
  for (const query of ['{ agentCount }', profile, 'mutation { deleteTenant }']) {
    t.is(await outcome(widget, query), 'UNAUTHENTICATED', query);
  }
  const mine = follow(t, widget, own.id);
  await mine.opened();

  const forged = [
    withSessionToken({ tenantId: (await idsOf(eve)).tenantId, sessionId: own.id }),
    withSessionToken({ tenantId, sessionId: 999_999 }),
    withSessionToken({ tenantId: 999_999, sessionId: own.id }),
    withSessionToken({ tenantId, sessionId: own.id }, { lifetimeMs: -1 }),
  ];
  for (const client of forged) {
    t.like(await client.refusal(interrupt, { id: own.id }), {
      message: 'Invalid or expired avatar token',
      extensions: { code: 'UNAUTHENTICATED' },
    });
    t.is((await follow(t, client, own.id).until('the refusal', ({ closed }) => closed)).code, 4403);
  }
});

story('the end of a session closes the sockets of its tokens after the event that reports it', async (t, mesh) => {
  const { person, withSessionToken, atSecond } = withCredentials(mesh);
  const ada = await person();
  const { tenantId } = await idsOf(ada);
  const { id } = await startSession(ada, await createAgent(ada));
  const widget = withSessionToken({ tenantId, sessionId: id });
  const sockets = [follow(t, widget, id), follow(t, atSecond(widget), id)];
  const dashboard = follow(t, ada, id);
  await Promise.all([...sockets, dashboard].map((events) => events.opened()));

  await endSession(ada, id);
  await closedByServer(t, sockets);
  for (const events of sockets) t.like(events.all.at(-1), { __typename: 'SessionStatusEvent', status: 'ENDED' });
  await dashboard.sessionEnded();
  t.is(dashboard.closed, undefined);
  t.like(await widget.refusal(interrupt, { id }), {
    message: `Session ${id} is not active (status: ENDED)`,
    extensions: { code: 'BAD_REQUEST' },
  });
});

for (const whose of ['its owner', 'the operator'] as const) {
  story(
    `a tenant suspended by ${whose} can only be read, manage its accounts and end what is running, on either gateway`,
    async (t, mesh) => {
      const { person, atSecond, people, withSessionToken, url } = withCredentials(mesh);
      const ada = await person();
      const { tenantId } = await idsOf(ada);
      const key = await apiKeyOf(ada);
      const { sessionId, events } = await converse(t, ada);
      const done = await startSession(ada, await createAgent(ada));
      const widget = withSessionToken({ tenantId, sessionId });
      const sockets = [follow(t, widget, sessionId), follow(t, atSecond(ada), sessionId)];
      const keyed = apiKeySocket(url, key);
      t.teardown(() => keyed.dispose());
      await Promise.all(sockets.map((each) => each.opened()));
      await eventually('the key has opened one', keyed.connected);
      await sendMessage(ada, sessionId, 'Is anybody there?');

      if (whose === 'its owner') await ada.query('mutation { updateTenant(input: { isSuspended: true }) { id } }');
      else {
        const row = { suspended_by_operator: true };
        await people(({ knex }) => knex('tenants').where({ id: tenantId }).update(row));
      }
      await closedByServer(t, [events, ...sockets]);
      t.is(await eventually('that of the key is closed', keyed.closed), 4403);

      for (const client of [ada, atSecond(ada)]) {
        t.is(await outcome(client, 'mutation { generateApiKey { key } }'), suspended);
        t.is(await outcome(client, 'mutation { upsertAvatarConfig(input: { speakingRate: 1.5 }) { id } }'), suspended);
        t.is(
          await outcome(client, `mutation { sendMessage(input: { sessionId: ${sessionId}, text: "hi" }) { id } }`),
          suspended,
        );
        t.is(await outcome(client, 'mutation { deleteAgent(id: 1) }'), suspended);
        t.is(
          await outcome(client, '{ agents { id } sessions { id } myTenant { isSuspended } myTenants { id } }'),
          'ok',
        );
        t.is(await outcome(client, 'mutation { setPrimaryBillingAccount(billingAccount: PLATFORM) { id } }'), 'ok');
        t.is(await outcome(client, 'mutation { generateTwoFactor { secret } }'), 'ok');
        t.is(await outcome(client, 'mutation ($id: ID!) { endSession(sessionId: $id) { id } }', { id: done.id }), 'ok');
        t.is(
          await outcome(client, 'mutation { changePassword(input: { newPassword: "correct horse battery" }) }'),
          'ok',
        );
        t.is((await follow(t, client, sessionId).until('the refusal', ({ closed }) => closed)).code, 4403);
      }
      t.is(await outcome(ada, 'mutation { createTenant(input: { name: "Not suspended" }) { id } }'), 'ok');
      t.is(await outcome(ada, `mutation { switchTenant(id: ${tenantId}) { id } }`), 'ok');
      t.is(await outcome(widget, interrupt, { id: sessionId }), suspended);
      t.is((await follow(t, widget, sessionId).until('the refusal', ({ closed }) => closed)).code, 4403);

      const { session } = await eventually('the running turn has finished', async () => {
        const read = await ada.query<{ session: { status: string; messages: { role: string }[] } }>(
          'query ($id: ID!) { session(id: $id) { status messages { role } } }',
          { id: sessionId },
        );
        return read.session.messages.some(({ role }) => role === 'MODEL') && read;
      });
      t.is(session.status, 'ACTIVE');
      await endSession(ada, sessionId);
      t.is(await findEvaluation(ada, sessionId), null);

      const looksAgain = await eventually('its judgement is put off', () => judgementDue(mesh, sessionId));

      const lift = 'mutation { updateTenant(input: { isSuspended: false }) { isSuspended } }';
      if (whose === 'its owner') t.deepEqual(await ada.query(lift), { updateTenant: { isSuspended: false } });
      else {
        t.is(await outcome(ada, lift), 'FORBIDDEN SUSPENDED_BY_OPERATOR');
        await people(({ knex }) => knex('tenants').where({ id: tenantId }).update({ suspended_by_operator: false }));
      }
      const { generatedAt } = await evaluated(ada, sessionId);
      if (whose === 'its owner') t.true(new Date(generatedAt ?? '') < looksAgain, 'as soon as it was lifted');
    },
  );
}

story(
  'when a tab switches tenants, its sockets close on both gateways within a second, and another tab keeps its tenant',
  async (t, mesh) => {
    const { person, atSecond, url } = withCredentials(mesh);
    const ada = await person();
    const { tenantId: first } = await idsOf(ada);
    const tab = await ada.elsewhere();
    const { id: sessionId } = await startSession(ada, await createAgent(ada));
    const { createTenant } = await ada.query<{ createTenant: { id: number } }>(
      'mutation { createTenant(input: { name: "Second" }) { id } }',
    );
    const switchTo = 'mutation ($id: Int!) { switchTenant(id: $id) { id name } }';
    t.deepEqual(await ada.query('{ myTenants { id } }'), { myTenants: [{ id: first }, { id: createTenant.id }] });
    t.like(await ada.query(switchTo, { id: first }), { switchTenant: { id: first } });
    t.is((await idsOf(ada)).tenantId, first, 'with the next request');
    await withinASecond(url, 'the other gateway knows', async () => (await idsOf(atSecond(ada))).tenantId === first);
    const [own, owns] = [follow(t, ada, sessionId), follow(t, atSecond(ada), sessionId)];
    const tabs = follow(t, tab, sessionId);
    await Promise.all([own, owns, tabs].map((events) => events.opened()));

    await ada.query(switchTo, { id: createTenant.id });
    await closedByServer(t, [own, owns]);
    for (const client of [ada, atSecond(ada)]) {
      t.deepEqual(await client.query('{ myTenant { id } agentCount }'), {
        myTenant: { id: createTenant.id },
        agentCount: 0,
      });
    }
    t.deepEqual(await tab.query('{ myTenant { id } agentCount }'), { myTenant: { id: first }, agentCount: 1 });
    t.is(tabs.closed, undefined);
    t.is((await idsOf(await ada.elsewhere())).tenantId, createTenant.id, 'a new sign-in begins where was chosen last');

    const foreign = (await idsOf(await person())).tenantId;
    for (const id of [foreign, 0, 2_147_483_647]) t.is(await outcome(ada, switchTo, { id }), 'NOT_FOUND', String(id));
    t.deepEqual(
      await ada.query(
        `mutation ($id: Int!) { switchTenant(id: $id) { id } upsertAvatarConfig(input: { speakingRate: 2 }) { speakingRate } }`,
        {
          id: first,
        },
      ),
      { switchTenant: { id: first }, upsertAvatarConfig: { speakingRate: 2 } },
    );
    const rate = '{ avatarConfig { speakingRate } }';
    t.deepEqual(await tab.query(rate), { avatarConfig: { speakingRate: 2 } }, 'the tenant of the mutation before');
  },
);

story('deleteTenant ends key, tokens, sockets and sessions, and no session is evaluated', async (t, mesh) => {
  const { person, atSecond, withSessionToken, sessions, url, secondUrl } = withCredentials(mesh);
  const ada = await person();
  const { tenantId } = await idsOf(ada);
  const key = await apiKeyOf(ada);
  const { sessionId } = await converse(t, ada);
  const quiet = await startSession(ada, await createAgent(ada));
  const widget = withSessionToken({ tenantId, sessionId });
  const sockets = [ada, widget].flatMap((client) => [
    follow(t, client, sessionId),
    follow(t, atSecond(client), sessionId),
  ]);
  const keyed = [url, secondUrl].map((at) => apiKeySocket(at, key));
  t.teardown(() => Promise.all(keyed.map((socket) => socket.dispose())));
  await Promise.all(sockets.map((each) => each.opened()));
  await eventually('the key has opened two', () => keyed.every((socket) => socket.connected()));
  for (const text of ['one', 'two', 'three']) await sendMessage(ada, sessionId, text);

  await ada.query('mutation { deleteTenant }');
  t.like(await widget.refusal(interrupt, { id: sessionId }), { message: 'Invalid or expired avatar token' });
  t.is(await outcome(ada, '{ agents { id } }'), 'FORBIDDEN NO_TENANT');
  await withinASecond(
    url,
    'the other gateway knows',
    async () => (await outcome(atSecond(widget), interrupt, { id: sessionId })) === 'UNAUTHENTICATED',
  );
  await closedByServer(t, sockets);
  await withinASecond(url, 'those of the key too', () => keyed.every((socket) => socket.closed() === 4403));

  await eventually('its sessions have ended', () =>
    sessions(tenantId, async ({ knex }) => {
      const rows = await knex('sessions').whereIn('id', [sessionId, quiet.id]).select('status');
      return rows.length === 2 && rows.every(({ status }) => status === 'ENDED');
    }),
  );
  await sessions(tenantId, async ({ knex }) => {
    t.deepEqual(await knex('turns').whereIn('state', ['QUEUED', 'RUNNING']), []);
    const failed = await knex('turns').where({ state: 'FAILED' }).distinct('failure_code');
    t.true(failed.every(({ failureCode: code }) => code === 'SESSION_ENDED'));
    t.deepEqual(await knex('outbox').where({ topic: 'session-ended', tenant_id: tenantId }), []);
  });
  t.is(await outcome(ada, 'mutation { createTenant(input: { name: "A new start" }) { id } }'), 'ok');
});
