import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { restApi } from '../src/actions.ts';
import type { Client } from '../src/client.ts';
import { createAgent, endSession, evaluated, sendMessage, startSession } from '../src/conversation.ts';
import { idsOf, withCredentials } from '../src/credentials.ts';
import { deliveriesOf, deliveryOf, waitingDelivery } from '../src/external-sync.ts';
import { foundIn, observe } from '../src/observe.ts';
import { operator, operatorOf } from '../src/operator.ts';
import { rowsOf } from '../src/stored-texts.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);
const observedStory = stories(test, { on: 'processes' });

const updateAgent = 'mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { id } }';
const isOver = ({ status }: { status: string }) => status !== 'PENDING';

async function endedSession(client: Client, agentId: number): Promise<number> {
  const { id } = await startSession(client, agentId);
  await sendMessage(client, id, 'I would use a lease, and renew it.');
  await endSession(client, id);
  return id;
}

observedStory(
  'an evaluation is delivered as a signed webhook in the format that its agent configures, and no secret is logged or stored',
  async (t, mesh) => {
    const observed = observe(mesh);
    const ada = await mesh.person();
    const { tenantId } = await idsOf(ada);
    const said = `canary-answer-${randomUUID()}`;
    const receiver = await restApi(t, (_, response) => response.writeHead(202).end(said));
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const fields = { externalSyncUrl: `${receiver.url}/hook`, externalSyncSecretRef: 'HOOK', externalSyncOwnerId: 12 };
    const refused = await ada.send('mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }', {
      input: { name: 'A', personaPrompt: 'B', position: 'C', ...fields },
    });
    t.like(refused.errors?.[0], {
      extensions: { code: 'BAD_REQUEST', fields: [{ path: 'input.externalSyncSecretRef' }] },
    });

    const admin = await operatorOf(t, withCredentials(mesh));
    await admin.putTenantSecret({ tenantId, name: 'HOOK', value: secret }, { caller: operator });
    const agentId = await createAgent(ada, fields);
    const sessionId = await endedSession(ada, agentId);
    const delivery = await deliveryOf(ada, { agentId, sessionId }, isOver);
    t.like(delivery, { status: 'DELIVERED', attempts: 1, lastError: null });
    const { score, summary, recommendation, id: evaluationId } = await evaluated(ada, sessionId);
    const [first] = receiver.seen;
    const verified = new Webhook(secret).verify(first?.body ?? '', first?.headers as Record<string, string>);
    t.like(verified, {
      type: 'evaluation.completed',
      sessionId,
      agentId,
      ownerId: 12,
      clientExternalId: 'customer-1',
      metadata: { from: 'test' },
      status: 'ENDED',
      evaluationId,
      score,
      summary,
      recommendation,
    });
    t.is(first?.headers['webhook-id'], delivery.webhookId);

    const mapping = { points: '$.score', who: '$.clientExternalId', from: '$.metadata.from', all: '$..nothing' };
    await ada.query(updateAgent, { id: agentId, input: { externalSyncSchemaConfig: mapping } });
    const next = await endedSession(ada, agentId);
    await deliveryOf(ada, { agentId, sessionId: next }, isOver);
    t.deepEqual(JSON.parse(receiver.seen[1]?.body ?? ''), {
      points: (await evaluated(ada, next)).score,
      who: 'customer-1',
      from: 'test',
      all: [],
    });
    t.is(receiver.seen.length, 2);

    await observed.allWritten();
    const texts = [
      await observed.written(),
      await rowsOf(mesh),
      { answer: JSON.stringify(await deliveriesOf(ada, agentId)) },
    ];
    const secrets = [secret, secret.slice('whsec_'.length), said];
    t.deepEqual([...new Set(texts.flatMap((each) => foundIn(each, secrets)))], []);
  },
);

story('an invalid mapping is refused when it is saved, and a slow one does not delay others', async (t, mesh) => {
  const [ada, eve] = [await mesh.person(), await mesh.person()];
  const receiver = await restApi(t, (_, response) => response.writeHead(204).end());
  const agentId = await createAgent(ada);
  for (const path of ['score', '$.a[', '$[?shell(@)]', `$[?${'value(@[?'.repeat(40)}@${'])'.repeat(40)}==1]`]) {
    const input = { externalSyncSchemaConfig: { a: path } };
    const { errors } = await ada.send(updateAgent, { id: agentId, input });
    t.like(errors?.[0], {
      extensions: { code: 'BAD_REQUEST', fields: [{ path: 'input.externalSyncSchemaConfig.a' }] },
    });
  }
  let deep: unknown = 1;
  for (let level = 0; level < 60; level += 1) deep = { a: deep, b: Array.from({ length: 100 }, (_, n) => n) };
  const hostile = { a: '$..*..*..*..*', b: "$..*[?search(@, '(a+)+$')]" };
  const admin = await operatorOf(t, withCredentials(mesh));
  for (const owner of [ada, eve]) {
    const { tenantId } = await idsOf(owner);
    await admin.putTenantSecret({ tenantId, name: 'HOOK', value: 'a key' }, { caller: operator });
  }
  const posts = { externalSyncUrl: receiver.url, externalSyncSecretRef: 'HOOK' };
  const evil = await createAgent(eve, { ...posts, externalSyncSchemaConfig: hostile });
  const document = 'mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }';
  const input = { agentId: evil, clientExternalId: 'x', metadata: { deep, long: `${'a'.repeat(60)}b` } };
  const { id: sessionId } = await eve.value<{ id: number }>(document, { input });
  await endSession(eve, sessionId);

  const good = await createAgent(ada, { ...posts, externalSyncSchemaConfig: { a: '$.score' } });
  await deliveryOf(ada, { agentId: good, sessionId: await endedSession(ada, good) }, isOver);
  const failed = await deliveryOf(eve, { agentId: evil, sessionId }, ({ lastError }) => lastError !== null);
  t.true(['MAPPING_TOO_SLOW', 'MAPPING_TOO_LARGE'].includes(failed.lastError ?? ''), `${failed.lastError}`);
  t.is(receiver.seen.length, 1);
});

story('deliveries are visible only to their tenant, and end with it', async (t, mesh) => {
  const [ada, eve] = [await mesh.person(), await mesh.person()];
  const { agentId, sessionId } = await waitingDelivery(ada);
  t.deepEqual(
    (await deliveriesOf(ada, agentId)).map((each) => each.sessionId),
    [sessionId],
  );
  t.deepEqual(await deliveriesOf(eve, agentId), []);
  t.deepEqual(await deliveriesOf(ada, agentId + 1_000_000), []);
  t.like((await ada.send(`{ externalSyncDeliveries(agentId: ${agentId}, first: 0) { id } }`)).errors?.[0], {
    extensions: { code: 'BAD_REQUEST', fields: [{ path: 'first' }] },
  });
  t.true(await ada.value('mutation { deleteTenant }'));
});
