import type { Environment } from '@parley/kernel/settings/config';
import { requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import { eventually } from '@parley/testing/eventually';
import type { ChatRequestBody } from '@parley/testing/model-answer';
import type { ModelServer } from '@parley/testing/model-server';
import { schemas } from '@parley/units';
import * as eventInvariants from './invariants/event-invariants.ts';
import type { Facts, Invariant } from './invariants/facts.ts';
import { readRows, readTasks } from './invariants/read-rows.ts';
import { readLag, readTopics } from './invariants/read-topics.ts';
import * as responseInvariants from './invariants/response-invariants.ts';
import * as rowInvariants from './invariants/row-invariants.ts';
import type { Ledger } from './ledger.ts';
import { messageOf } from './scripted-model.ts';

/**
 * The invariants of an idle mesh: all functions that these three files export. Whoever adds new state must add a fact
 * (`invariants/facts.ts`) and an invariant.
 */
const invariants: readonly Invariant[] = [rowInvariants, eventInvariants, responseInvariants].flatMap((file) =>
  Object.values<Invariant>(file),
);

/** Observations of a mesh in addition to its rows. */
interface Witnesses {
  /** The responses that the mesh's clients received. */
  ledger?: Ledger;
  /** The only model that the mesh calls. */
  model?: Pick<ModelServer, 'requests'>;
  /** How many model calls may be repeated within one attempt because the calling process was killed. Default 0. */
  repeats?: number;
  /** Ids of the events that are expected as dead letters. A message that is not an event is named `<partition>:<offset>`. */
  poison?: readonly string[];
}

/** How long to wait until the mesh is idle. */
const idleTimeoutMs = 60_000;

/** Checks the database of a mesh and, with `KAFKA_BROKERS`, its topics. The mesh may be running. */
export function openChecker(env: Environment) {
  const databases = new Map(schemas.map((schema) => [schema.name, openOf(env, schema)]));
  const database = (name: string) => databases.get(name) as Database;
  /** Lists the remaining work. The list is empty once the mesh is idle. */
  async function remainingWork(): Promise<string[]> {
    const tasks = await readTasks(database);
    const groups = env.KAFKA_BROKERS ? await readLag(env) : [];
    return [...eventInvariants.nothingIsLeftToDo(tasks), ...eventInvariants.nothingIsUnread({ topics: { groups } })];
  }
  return {
    database,
    remainingWork,
    /** Resolves once the mesh is idle, or after a minute. */
    async rest(): Promise<void> {
      const isIdle = async () => (await remainingWork()).length === 0;
      await eventually('the mesh is idle', isIdle, { timeoutMs: idleTimeoutMs }).catch(() => undefined);
    },
    /** Returns the violated invariants of an idle mesh, one sentence each. */
    async broken({ ledger, model, repeats = 0, poison = [] }: Witnesses = {}): Promise<string[]> {
      const rows = await readRows(database);
      const topics = env.KAFKA_BROKERS ? await readTopics(env, poison) : undefined;
      const bodies = model?.requests.map(({ body }) => body);
      const asked = bodies && {
        replies: bodies.filter((body) => !body.response_format && !followsTools(body)).map(messageOf),
        judgements: bodies.filter((body) => body.response_format).map(({ messages }) => JSON.stringify(messages)),
        repeats,
      };
      return problemsOf({ ...rows, topics, responses: ledger, asked });
    },
    async close(): Promise<void> {
      await Promise.all([...databases.values()].map((each) => each.close()));
    },
  };
}

/** Reports whether a request continues a reply after tool calls. All other requests start a reply. */
function followsTools({ messages }: ChatRequestBody): boolean {
  return messages.at(-1)?.role === 'tool';
}

/** Opens a database with one connection and long timeouts, because the reads after a long run wait for each other. */
function openOf(env: Environment, schema: SchemaDeclaration): Database {
  const patience = { statementTimeoutMs: idleTimeoutMs, acquireTimeoutMs: idleTimeoutMs };
  return openDatabase({ ...requireDatabaseUrls(env, schema.name), schema, poolSize: 1, ...patience });
}

/** Returns the distinct violations of all invariants. */
export function problemsOf(facts: Facts): string[] {
  return [...new Set(invariants.flatMap((holds) => holds(facts)))];
}
