import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import { createAgent, readSession, sendMessage, startSession } from '../../src/conversation.ts';
import { createKnowledgeBase, findPassages, ingestText, parsedDocument, uploadFile } from '../../src/knowledge.ts';
import type { FaultMesh } from './fault-mesh.ts';

let readers = 0;

/** Creates a user who searches a knowledge base, asks an agent that uses it, and uploads files to it. Any refusal fails the test. */
export async function reader({ person, ledger }: FaultMesh) {
  const client = await person();
  const base = await createKnowledgeBase(client);
  await ingestText(client, base, 'Lamps can be returned within 30 days of the purchase, in their original box.');
  const { id: sessionId } = await startSession(client, await createAgent(client, { knowledgeBaseIds: [base] }));
  const name = `Reader ${++readers}`;
  const uploads: number[] = [];
  return {
    /** Returns the number of confirmed uploads. */
    uploads: () => uploads.length,
    async readAndUpload(t: ExecutionContext): Promise<void> {
      const [found] = await findPassages(client, base, 'How can lamps be returned?');
      t.is(found?.documentName, 'returns.md');
      const { length } = (await readSession(client, sessionId)).messages;
      await sendMessage(
        client,
        sessionId,
        `${name} asks within how many days lamps can be returned, after ${length} messages.`,
      );
      const reply = await eventually(
        'its reply',
        async () => (await readSession(client, sessionId)).messages[length + 1],
      );
      t.true(reply.citations?.some(({ documentName }) => documentName === 'returns.md'));
      uploads.push(await uploadFile(client, base, `${name} has ${uploads.length} files.`));
    },
    /** Waits until all files are READY, and ends the conversation. */
    async assertRead(t: ExecutionContext): Promise<void> {
      for (const id of uploads)
        t.like(await parsedDocument(client, id, 60_000), { parseStatus: 'READY', parseError: null });
      await ledger.end(client, sessionId);
    },
  };
}
