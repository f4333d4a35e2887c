import { setTimeout as delay } from 'node:timers/promises';
import { createAgent, endSession, sendMessage, startSession } from '../../src/conversation.ts';
import { type FaultMesh, fullLength } from './fault-mesh.ts';

let people = 0;

/** Creates a user who has one short conversation after the other. The end of each conversation publishes an event. */
export async function traffic({ person, ledger }: FaultMesh) {
  const name = `Visitor ${++people}`;
  const client = await person();
  const agentId = await createAgent(client);
  /** The ids of the sessions so far. */
  const sessionIds: number[] = [];
  async function begin() {
    const { id } = await startSession(client, agentId);
    sessionIds.push(id);
    return { id, text: `${name} in conversation ${sessionIds.length}` };
  }
  return {
    client,
    sessionIds,
    /** Holds one conversation. The message and the end of the session are retried until they succeed. @returns the id of its session */
    async talk(): Promise<number> {
      const { id, text } = await begin();
      await ledger.send(client, id, text);
      await ledger.end(client, id);
      return id;
    },
    /** Holds one conversation without retries. Any refused request fails the test. */
    async talkAtOnce(): Promise<number> {
      const { id, text } = await begin();
      await sendMessage(client, id, text);
      await endSession(client, id);
      return id;
    },
  };
}

const paceMs = fullLength ? 300 : 600;

/** Repeats `work` for this time, or until the signal is aborted, so that the mesh is busy during a fault. */
export async function during(lengthMs: number, work: () => Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const end = performance.now() + lengthMs;
  const isOver = () => performance.now() >= end || signal?.aborted;
  for (; !isOver(); await delay(paceMs)) await work();
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
