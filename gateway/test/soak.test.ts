import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { hostileRequests, neverSeen } from './support/hostile.ts';
import { rawPost } from './support/raw-post.ts';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

/** The heap and the buffers that hang on it. */
function heldBytes(): number {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What a few hundred requests may leave behind, client included: documents are remembered, connections kept. */
const mayStayBytes = 30_000_000;

// In a file of its own: what other tests of a process leave behind would count as well.
test('300 hostile requests leave memory where it was, and who means well is served between them', async (t) => {
  const { url, ask, identity } = await gatewayMesh(t, { resolvers: { agent: { Query: { agentCount: () => 2 } } } });
  const token = await identity.signIn('s-1');
  let sent = 0;
  async function round(): Promise<void> {
    const batch = Array.from({ length: 10 }, () => hostileRequests[sent++ % hostileRequests.length]);
    const answers = await Promise.all(
      batch.flatMap((request) => {
        if (!request) return [];
        const { body, headers = {}, signedIn } = neverSeen(request, sent);
        const credential = signedIn && { authorization: `Bearer ${token}` };
        return [rawPost(url, { body: [body], headers: { ...headers, ...credential } })];
      }),
    );
    t.false(answers.some(({ status }) => status >= 500));
    t.deepEqual((await ask('{ agentCount }', { token })).data, { agentCount: 2 });
  }

  for (let i = 0; i < 10; i++) await round(); // what is made once is made now
  const before = heldBytes();
  for (let i = 0; i < 30; i++) await round();
  // A connection that was just cut lets go of its buffers a moment later.
  await eventually('memory is where it was', () => heldBytes() - before < mayStayBytes);
  t.true(sent >= 400);
});
