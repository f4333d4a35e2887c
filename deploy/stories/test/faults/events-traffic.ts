import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../src/client.ts';
import { createAgent, endSession, sendMessage, startSession } from '../../src/conversation.ts';
import type { FaultMesh } from './fault-mesh.ts';

/** Somebody who has one short conversation after the other; the end of each is an event. */
export interface Traffic {
  client: Client;
  /** The sessions so far. */
  sessionIds: number[];
  /** Has one conversation, however often each step has to be asked for. Answers its session. */
  talk(): Promise<number>;
  /** The same, where nothing may be refused even once. */
  talkAtOnce(): Promise<number>;
}

let people = 0;

export async function traffic({ person, ledger }: FaultMesh): Promise<Traffic> {
  const name = `Visitor ${++people}`;
  const client = await person();
  const agentId = await createAgent(client);
  const sessionIds: number[] = [];
  async function begin() {
    const { id } = await startSession(client, agentId);
    sessionIds.push(id);
    return { id, text: `${name} in conversation ${sessionIds.length}` };
  }
  return {
    client,
    sessionIds,
    async talk() {
      const { id, text } = await begin();
      await ledger.send(client, id, text);
      await ledger.end(client, id);
      return id;
    },
    async talkAtOnce() {
      const { id, text } = await begin();
      await sendMessage(client, id, text);
      await endSession(client, id);
      return id;
    },
  };
}

const paceMs = 150;

/** Does the same again and again for so long, a few times a second: a fault has to last, and the mesh to work meanwhile. */
export async function during(lengthMs: number, work: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + lengthMs;
  while (performance.now() < end) {
    await work();
    await delay(paceMs);
  }
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
