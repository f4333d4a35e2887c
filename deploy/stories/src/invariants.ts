import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '@parley/chassis/config';
import { serviceDatabase } from '@parley/chassis/connect';
import type { Database } from '@parley/chassis/database/types';
import type { ModelServer } from '@parley/chassis/testing/model-server';
import { schemas } from '@parley/local/schemas';
import {
  deadLettersArePoison,
  everyEndIsToldOnce,
  everyEventTookEffect,
  nothingIsLeftToDo,
  nothingIsUnread,
} from './invariants/event-invariants.ts';
import type { Facts, Invariant } from './invariants/facts.ts';
import { readRows, readTasks } from './invariants/read-rows.ts';
import { readLag, readTopics } from './invariants/read-topics.ts';
import {
  everyEndIsJudgedOnce,
  everyMessageHasOneEnd,
  messagesAreCounted,
  nothingCrossesTenants,
  nothingIsAbandoned,
} from './invariants/row-invariants.ts';
import { judgesAreAskedOnce, modelsAreAskedOnce, whatWasToldIsTrue } from './invariants/told-invariants.ts';
import type { Ledger } from './ledger.ts';
import { messageOf } from './scripted-model.ts';

/** What must hold of a mesh that rests. Whoever keeps something new adds a fact (`invariants/facts.ts`) and an invariant. */
export const invariants: readonly Invariant[] = [
  everyMessageHasOneEnd,
  messagesAreCounted,
  everyEndIsJudgedOnce,
  nothingIsLeftToDo,
  nothingIsAbandoned,
  nothingCrossesTenants,
  nothingIsUnread,
  everyEventTookEffect,
  everyEndIsToldOnce,
  deadLettersArePoison,
  whatWasToldIsTrue,
  modelsAreAskedOnce,
  judgesAreAskedOnce,
];

/** What is known of a mesh beside its rows. */
export interface Witnesses {
  /** What its clients were told. */
  ledger?: Ledger;
  /** The only model that it asks. */
  model?: Pick<ModelServer, 'requests'>;
  /** How often one who was asked may have died and been asked again within one attempt. Default 0. */
  repeats?: number;
  /** Ids of the events that belong among the dead letters; of messages that are no events, their `<partition>:<offset>`. */
  poison?: readonly string[];
}

/** A look at one mesh, as often as one likes. */
export interface Checker {
  /** What is still to be done: empty once the mesh rests. */
  left(): Promise<string[]>;
  /** Resolves once nothing is left to do, or after a minute. */
  rest(): Promise<void>;
  /** What is wrong with a mesh that rests, one sentence each. */
  broken(witnesses?: Witnesses): Promise<string[]>;
  database(name: string): Database;
  close(): Promise<void>;
}

/** How long all that is under way may take, and how long to wait before looking again. */
const restsWithinMs = 60_000;
const pauseMs = 200;

const nothing = { agents: [], sessions: [], messages: [], turns: [], evaluations: [] };

/** Looks at a mesh on PostgreSQL and, where `KAFKA_BROKERS` says so, at its topics. It may run meanwhile. */
export function openChecker(env: Environment): Checker {
  const databases = new Map(schemas.map((schema) => [schema.name, serviceDatabase(env, schema, 1)]));
  const database = (name: string) => databases.get(name) as Database;
  async function left(): Promise<string[]> {
    const tasks = await readTasks(database);
    const lag = env.KAFKA_BROKERS ? await readLag(env) : [];
    const topics = { groups: lag, events: [], letters: [], poison: [] };
    return [nothingIsLeftToDo, nothingIsUnread].flatMap((look) => look({ ...nothing, ...tasks, topics }));
  }
  return {
    database,
    left,
    async rest() {
      for (const end = performance.now() + restsWithinMs; performance.now() < end; await delay(pauseMs)) {
        if ((await left()).length === 0) return;
      }
    },
    async broken(witnesses = {}) {
      const rows = await readRows(database);
      const topics = env.KAFKA_BROKERS ? await readTopics(env, witnesses.poison ?? []) : undefined;
      return problemsOf({ ...rows, topics, ...testimonyOf(witnesses) });
    },

    async close() {
      await Promise.all([...databases.values()].map((each) => each.close()));
    },
  };
}

/** Every sentence of every invariant, none twice. */
export function problemsOf(facts: Facts): string[] {
  return [...new Set(invariants.flatMap((holds) => holds(facts)))];
}

function testimonyOf({ ledger, model, repeats = 0 }: Witnesses): Pick<Facts, 'told' | 'asked'> {
  const bodies = model?.requests.map(({ body }) => body);
  return {
    told: ledger,
    asked: bodies && {
      replies: bodies.filter((body) => !body.response_format).map(messageOf),
      judgements: bodies.filter((body) => body.response_format).map(({ messages }) => JSON.stringify(messages)),
      repeats,
    },
  };
}
