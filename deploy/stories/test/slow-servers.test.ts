import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { actionCalls, createAction, createConnector, endlessServer, restApi } from '../src/actions.ts';
import { converse, sendMessage } from '../src/conversation.ts';
import { idsOf } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

const callsAtOnce = 200;
/** The maximum number of concurrent calls of one tenant to one action. */
const runningAtOnce = 8;
const otherCalls = 40;

story('200 calls of one tenant to a slow server do not delay those of another', async (t, mesh) => {
  const [busy, other] = [await mesh.person(), await mesh.person()];
  const gate = createGate();
  let asked = 0;
  const slow = await restApi(t, async (_request, response) => {
    asked += 1;
    await gate.pass();
    response.end('late');
  });
  const quick = await restApi(t, (_request, response) => response.end('at once'));
  const { callAction } = await actionCalls(t, mesh);
  const slowAction = await createAction(busy, { url: slow.url });
  const quickAction = await createAction(other, { name: 'quick', url: quick.url });
  const { tenantId: busyTenant } = await idsOf(busy);
  const { tenantId } = await idsOf(other);

  let waiting = callsAtOnce;
  const calls = Array.from({ length: callsAtOnce }, async () => {
    const result = await callAction(busyTenant, slowAction);
    waiting -= 1;
    return result?.errorKind;
  });
  await eventually('its server has as many as it may', () => asked === runningAtOnce);

  const results = await Promise.all(Array.from({ length: otherCalls }, () => callAction(tenantId, quickAction)));
  t.deepEqual(new Set(results.map((result) => result?.errorKind)), new Set(['']));
  mesh.model.answer('Quickly, please.', ({ results: given }) =>
    given.length === 0 ? { toolCalls: [{ name: 'quick' }] } : { text: 'At once.' },
  );
  const { sessionId, events } = await converse(t, other, { tools: [{ actionId: quickAction }] });
  await sendMessage(other, sessionId, 'Quickly, please.');
  const [reply] = await events.turns(1);
  t.like(reply, { __typename: 'AiResponseEvent', text: 'At once.' });
  t.is(quick.seen.length, otherCalls + 1);
  t.is(waiting, callsAtOnce, 'all of the slow ones still wait');
  t.is(asked, runningAtOnce, 'none of them has taken the place of another');

  gate.open();
  // A call whose deadline passed in the queue is not sent.
  const kinds = Map.groupBy(await Promise.all(calls), (kind) => kind ?? 'none');
  t.log(Object.fromEntries([...kinds].map(([kind, { length }]) => [kind || 'succeeded', length])));
  t.true([...kinds.keys()].every((kind) => ['', 'TOO_MANY_CALLS'].includes(kind)));
  t.is(kinds.get('')?.length, asked);
});

/** The service reads at most a few MB of a response; socket buffers hold the rest. */
const maxBytes = 16 * 2 ** 20;

const never = {
  text: { 'content-type': 'text/plain' },
  JSON: { 'content-type': 'application/json' },
  events: { 'content-type': 'text/event-stream' },
};

for (const [kind, headers] of Object.entries(never)) {
  story(`an endless response of ${kind} is cut off after some MB, for tools and for actions`, async (t, mesh) => {
    const ada = await mesh.person();
    const { tenantId } = await idsOf(ada);
    const server = await endlessServer(t, headers);
    const { callAction, callTool } = await actionCalls(t, mesh);
    const actionId = await createAction(ada, { url: server.url });
    const connectorId = await createConnector(ada, { serverUrl: `${server.url}/mcp` });
    const calls = 20;
    const results = await Promise.all(
      Array.from({ length: calls }, (_, n) =>
        n % 2 === 0 ? callAction(tenantId, actionId) : callTool(tenantId, connectorId, 'any'),
      ),
    );
    for (const result of results) t.regex(result?.errorKind ?? '', /^(REMOTE_TOO_LARGE|CONNECTOR_UNREACHABLE)$/u);
    await eventually('it is left', () => server.open() === 0);
    const each = server.sent() / calls;
    t.true(each < maxBytes, `${Math.round(each)} bytes for each call`);
    t.log(`${(each / 2 ** 20).toFixed(1)} MB for each call`);
  });
}
