// Loses responses to COMMIT in the proxy to PostgreSQL. At full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import test from 'ava';
import { fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { traffic } from './traffic.ts';

/** The test ends after this number of messages whose outcome is unknown because their client got no response. */
const unknownSends = fullLength ? 80 : 3;
const shareOfCuts = 0.2;

const shared = sharedFaultMesh(test);

serverTest(
  meshEngines,
  'when responses to COMMIT are lost, nothing is done twice and nothing is left undone',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const line = mesh.toPostgres;
    const people = await Promise.all(Array.from({ length: 4 }, () => traffic(mesh)));
    const unknown = () => mesh.ledger.messages.filter(({ outcome }) => outcome === 'unknown').length;
    const [lostBefore, unknownBefore] = [line.lost(), unknown()];
    line.loseAnswers(shareOfCuts);
    try {
      const talking = people.map(async ({ talk }) => {
        // The start of a session may be reported as failed and still be committed. Such a session stays idle, because no client knows it.
        while (unknown() < unknownBefore + unknownSends) await talk().catch(() => undefined);
      });
      await Promise.all(talking);
    } finally {
      line.loseAnswers(0);
    }
    const lost = line.lost() - lostBefore;
    // If a relay does not know that its claim of an event was committed, the claim expires after 30 s.
    for (const { client, sessionIds } of people) for (const id of sessionIds) await mesh.ledger.end(client, id);
    // A process that gets no response to its COMMIT may send a model request again.
    t.deepEqual(await mesh.settled({ timeoutMs: 120_000, repeats: lost }), []);
    const { messages } = await mesh.rows();
    const said = messages.filter(({ role }) => role === 'USER').map(({ sessionId, text }) => `${sessionId} ${text}`);
    t.is(new Set(said).size, said.length);
    t.log(`${lost} answers lost, ${unknown() - unknownBefore} sends whose outcome no client knows`);
  },
);
