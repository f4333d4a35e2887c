import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '@parley/kernel/config';
import { schemas } from '@parley/local/schemas';
import type { Database } from '@parley/postgres/database/types';
import { serviceDatabase } from '@parley/service/connect-service';
import type { ModelServer } from '@parley/testing/model-server';
import * as eventInvariants from './invariants/event-invariants.ts';
import type { Facts, Invariant } from './invariants/facts.ts';
import { readRows, readTasks } from './invariants/read-rows.ts';
import { readLag, readTopics } from './invariants/read-topics.ts';
import * as rowInvariants from './invariants/row-invariants.ts';
import * as toldInvariants from './invariants/told-invariants.ts';
import type { Ledger } from './ledger.ts';
import { messageOf } from './scripted-model.ts';

/**
 * What must hold of a mesh that rests: every function that these files export. Whoever keeps something new adds a fact
 * (`invariants/facts.ts`) and an invariant.
 */
const invariants: readonly Invariant[] = [rowInvariants, eventInvariants, toldInvariants].flatMap((file) =>
  Object.values<Invariant>(file),
);

/** What is known of a mesh beside its rows. */
interface Witnesses {
  /** What its clients were told. */
  ledger?: Ledger;
  /** The only model that it asks. */
  model?: Pick<ModelServer, 'requests'>;
  /** How often one who was asked may have died and been asked again within one attempt. Default 0. */
  repeats?: number;
  /** Ids of the events that belong among the dead letters; of messages that are no events, their `<partition>:<offset>`. */
  poison?: readonly string[];
}

/** How long all that is under way may take, and how long to wait before looking again. */
const restsWithinMs = 60_000;
const pauseMs = 200;

/** Looks at a mesh on PostgreSQL and, where `KAFKA_BROKERS` says so, at its topics, as often as one likes. It may run meanwhile. */
export function openChecker(env: Environment) {
  const databases = new Map(schemas.map((schema) => [schema.name, serviceDatabase(env, schema, 1)]));
  const database = (name: string) => databases.get(name) as Database;
  /** What is still to be done: empty once the mesh rests. */
  async function left(): Promise<string[]> {
    const tasks = await readTasks(database);
    const groups = env.KAFKA_BROKERS ? await readLag(env) : [];
    return [...eventInvariants.nothingIsLeftToDo(tasks), ...eventInvariants.nothingIsUnread({ topics: { groups } })];
  }
  return {
    database,
    left,
    /** Resolves once nothing is left to do, or after a minute. */
    async rest(): Promise<void> {
      for (const end = performance.now() + restsWithinMs; performance.now() < end; await delay(pauseMs)) {
        if ((await left()).length === 0) return;
      }
    },
    /** What is wrong with a mesh that rests, one sentence each. */
    async broken({ ledger, model, repeats = 0, poison = [] }: Witnesses = {}): Promise<string[]> {
      const rows = await readRows(database);
      const topics = env.KAFKA_BROKERS ? await readTopics(env, poison) : undefined;
      const bodies = model?.requests.map(({ body }) => body);
      const asked = bodies && {
        replies: bodies.filter((body) => !body.response_format).map(messageOf),
        judgements: bodies.filter((body) => body.response_format).map(({ messages }) => JSON.stringify(messages)),
        repeats,
      };
      return problemsOf({ ...rows, topics, told: ledger, asked });
    },
    async close(): Promise<void> {
      await Promise.all([...databases.values()].map((each) => each.close()));
    },
  };
}

/** Every sentence of every invariant, none twice. */
export function problemsOf(facts: Facts): string[] {
  return [...new Set(invariants.flatMap((holds) => holds(facts)))];
}
