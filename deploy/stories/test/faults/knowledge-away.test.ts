// Kills knowledge. At full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createAgent, readSession, startSession } from '../../src/conversation.ts';
import { createKnowledgeBase, ingestText } from '../../src/knowledge.ts';
import { meshEngines, sharedFaultMesh } from './fault-mesh.ts';

const shared = sharedFaultMesh(test);

serverTest(
  meshEngines,
  'while knowledge is down, turns are answered without passages, and with passages once it is back',
  async (t) => {
    t.timeout(180_000);
    const mesh = await shared();
    const ada = await mesh.person();
    const base = await createKnowledgeBase(ada);
    await ingestText(ada, base, 'Lamps can be returned within 30 days of the purchase, in their original box.');
    const { id: sessionId } = await startSession(ada, await createAgent(ada, { knowledgeBaseIds: [base] }));
    const ask = async (question: string) => {
      const { length } = (await readSession(ada, sessionId)).messages;
      await mesh.ledger.send(ada, sessionId, question);
      const reply = await eventually('the reply', async () => (await readSession(ada, sessionId)).messages[length + 1]);
      return reply.citations?.map(({ documentName }) => documentName);
    };
    t.deepEqual(await ask('How many days after the purchase can lamps be returned?'), ['returns.md']);

    const { back } = await mesh.kill('knowledge-1');
    t.is(await ask('How many weeks after the purchase can lamps be returned?'), undefined);
    await back();
    let tries = 0;
    await eventually('passages are found again', async () => {
      tries += 1;
      return (await ask(`How long can lamps be returned by post, asked ${tries} times?`))?.length;
    });
    await mesh.ledger.end(ada, sessionId);
    t.deepEqual(await mesh.settled(), []);
  },
);
