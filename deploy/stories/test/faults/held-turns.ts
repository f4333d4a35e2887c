import { eventually } from '@parley/chassis/testing/eventually';
import { createGate, type Gate } from '@parley/chassis/testing/gate';
import type { Client } from '../../src/client.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import type { Ledger } from '../../src/ledger.ts';
import type { ScriptedModel } from '../../src/scripted-model.ts';

export interface HeldTurn {
  client: Client;
  sessionId: number;
  /** The message whose reply is held back. */
  text: string;
  /** What the reply says once it is whole. */
  reply: string;
}

/** Replies that have begun, and whose rest comes when the test says so. */
export interface HeldTurns {
  turns: HeldTurn[];
  /** The people who talk, each of a tenant of their own. */
  people: Client[];
  /** Lets the model finish these replies, also those that it is asked for again. */
  release(): void;
}

export interface HeldTurnsOptions {
  person(): Promise<Client>;
  ledger: Ledger;
  model: ScriptedModel;
}

/** What one tenant may have running at once is 50 by default. */
const turnsPerTenant = 40;
const atOnce = 10;
const firstWords = 'This is ';

let runs = 0;

/** Starts so many conversations, over as many tenants as that takes, and waits until every reply has begun. */
export async function holdTurns(count: number, { person, ledger, model }: HeldTurnsOptions): Promise<HeldTurns> {
  runs += 1;
  const prefix = `Held ${runs}, message `;
  const gates: Gate[] = [];
  let released = false;
  model.answerOthers(prefix, (text) => {
    const gate = createGate();
    if (released) gate.open();
    else gate.release(1);
    gates.push(gate);
    return { text: [firstWords, `the reply to: ${text}`], beforeDelta: gate };
  });

  const people = await Promise.all(Array.from({ length: Math.ceil(count / turnsPerTenant) }, person));
  const agents = await Promise.all(people.map((client) => createAgent(client)));
  const turns: HeldTurn[] = [];
  const waiting = Array.from({ length: count }, (_, n) => n).values();
  const lane = async () => {
    for (const n of waiting) {
      const index = n % people.length;
      const [client, agentId] = [people[index], agents[index]];
      if (!client || agentId === undefined) throw new Error('fewer people than tenants');
      const { id: sessionId } = await startSession(client, agentId);
      const text = await ledger.send(client, sessionId, `${prefix}${n}`);
      turns.push({ client, sessionId, text, reply: `${firstWords}the reply to: ${text}` });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  await eventually('the model is asked for every reply', () => gates.length >= count, { timeoutMs: 30_000 });

  return {
    turns,
    people,
    release() {
      released = true;
      for (const gate of gates) gate.open();
    },
  };
}
