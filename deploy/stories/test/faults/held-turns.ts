import { eventually } from '@parley/testing/eventually';
import { createGate, type Gate } from '@parley/testing/gate';
import type { Client } from '../../src/client.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import type { FaultMesh } from './fault-mesh.ts';

export type HeldTurn = Awaited<ReturnType<typeof holdTurns>>['turns'][number];

/** The number of concurrent turns of each tenant: below 50, the default limit. */
const turnsPerTenant = 40;
const atOnce = 10;
const firstWords = 'This is ';
/** Empty chunks that a model sends while it waits for the test, because a model call fails after 30 s without a chunk. */
const emptyPieces = Array.from({ length: 60 }, () => '');
const pieceEveryMs = 10_000;

let runs = 0;

/** Starts `count` conversations over as many tenants as needed, and waits until every reply has begun. */
export async function holdTurns({ person, ledger, model }: FaultMesh, count: number) {
  const prefix = `Held ${++runs}, message `;
  const gates: Gate[] = [];
  let released = false;
  model.answerOthers(prefix, (text) => {
    const gate = createGate();
    if (released) gate.open();
    else gate.release(1);
    gates.push(gate);
    return { text: [firstWords, ...emptyPieces, `the reply to: ${text}`], beforeDelta: gate };
  });

  const piece = setInterval(() => gates.forEach((gate) => gate.release()), pieceEveryMs).unref();

  const people = await Promise.all(
    Array.from({ length: Math.ceil(count / turnsPerTenant) }, async () => {
      const client = await person();
      return { client, agentId: await createAgent(client) };
    }),
  );
  /** Turns with held replies. `text`: the message. `reply`: the complete text of the reply. */
  const turns: { client: Client; sessionId: number; text: string; reply: string }[] = [];
  const waiting = Array.from({ length: count }, (_, n) => n).values();
  const worker = async () => {
    for (const n of waiting) {
      const talker = people[n % people.length];
      if (!talker) throw new Error('fewer people than tenants');
      const { client, agentId } = talker;
      const { id: sessionId } = await startSession(client, agentId);
      const text = await ledger.send(client, sessionId, `${prefix}${n}`);
      turns.push({ client, sessionId, text, reply: `${firstWords}the reply to: ${text}` });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  await eventually('the model is asked for every reply', () => gates.length >= count);

  return {
    turns,
    /** Lets the model finish all held replies, and any reply that is requested again later. */
    release() {
      released = true;
      clearInterval(piece);
      for (const gate of gates) gate.open();
    },
  };
}
