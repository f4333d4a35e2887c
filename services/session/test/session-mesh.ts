import { randomBytes } from 'node:crypto';
import type { Envelope } from '@parley/events/envelope';
import type { EventBus } from '@parley/events/event-bus';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { createCallers, type TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { type Addresses, createAddresses } from '@parley/kernel/processes/addresses';
import type { Unit } from '@parley/kernel/processes/unit';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { EventLog } from '@parley/live/event-log/event-log';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import {
  GetTenantResponse,
  IdentityServiceDefinition,
  type ProviderPerson,
} from '@parley/protos/parley/identity/v1/identity';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { type Bound, bound } from '@parley/testing/bound';
import { eventually } from '@parley/testing/eventually';
import { requestOf } from '@parley/testing/request-of';
import { serveStub } from '@parley/testing/serve-stub';
import { startService } from '@parley/testing/service-harness';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { avatarToken } from '../src/embed/avatar-token.ts';
import { customerUsage, listCustomerSessions } from '../src/embed/customer-sessions.ts';
import { refreshAvatarToken } from '../src/embed/refresh-avatar-token.ts';
import { sdkEndSession } from '../src/embed/sdk-end-session.ts';
import { sdkSendMessage } from '../src/embed/sdk-send-message.ts';
import { sdkStart } from '../src/embed/sdk-start.ts';
import { verifyIdpIdentity } from '../src/embed/verify-idp-identity.ts';
import { endSession } from '../src/end-session.ts';
import { findEvaluation } from '../src/find-evaluation.ts';
import { interruptSession } from '../src/interrupt-session.ts';
import {
  countSessions,
  findSession,
  getTranscript,
  listMessages,
  listSessions,
  streamTranscript,
} from '../src/read-sessions.ts';
import { resolveSessions } from '../src/resolve-sessions.ts';
import { sendMessage } from '../src/send-message.ts';
import { session } from '../src/service.ts';
import { sessionSchema } from '../src/session-schema.ts';
import { transcribeSpeech } from '../src/speech/transcribe-speech.ts';
import { startSession } from '../src/start-session.ts';
import { watchSession } from '../src/watch-session.ts';
import { type ScriptedAgent, scriptedAgent } from './scripted-agent.ts';

export const useCases = {
  sdkStart,
  sdkSendMessage,
  sdkEndSession,
  refreshAvatarToken,
  avatarToken,
  verifyIdpIdentity,
  listCustomerSessions,
  customerUsage,
  findSession,
  listSessions,
  countSessions,
  listMessages,
  findEvaluation,
  startSession,
  sendMessage,
  transcribeSpeech,
  interruptSession,
  endSession,
  resolveSessions,
  getTranscript,
  streamTranscript,
  watchSession,
};

export type App = Bound<typeof useCases>;

export interface MeshOptions {
  /** Settings that differ from the defaults. */
  env?: Record<string, string>;
  /** A time in ms that is added to the database's clock. */
  clockOffsetMs?: () => number;
}

/** One process of the session service. */
export interface Replica {
  app: App;
  unit: Unit;
  eventLog: EventLog;
}

/** The session unit on its own database schema, with a scripted agent and as many replicas as a test starts. */
export interface SessionMesh extends Replica {
  database: Database;
  agent: ScriptedAgent;
  /** Published `session-ended` events. */
  published: Envelope[];
  /** Identity's responses for tenants; tenants that are not listed are active. */
  tenants: Map<number, Partial<GetTenantResponse>>;
  /** Persons by their valid ticket; identity refuses all other tickets. */
  tickets: Map<string, ProviderPerson>;
  eventBus: EventBus;
  keyValue: KeyValue;
  /** The addresses of the units that session calls. */
  addresses: Addresses;
  replica(options?: ReplicaOptions): Promise<Replica>;
}

export interface ReplicaOptions extends MeshOptions {
  eventLog?: EventLog;
  soleOwner?: boolean;
  /** The replica's connection pool. A test closes it to simulate the death of the process. */
  database?: Database;
}

/** A value for `AVATAR_TOKEN_KEYS`. */
export const tokenKeys = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

/** Replaces identity: every tenant is active unless `tenants` contains something else. */
export async function serveIdentity(
  t: ExecutionContext,
  tenants: ReadonlyMap<number, Partial<GetTenantResponse>>,
  mesh: Parameters<typeof serveStub>[3],
  tickets = new Map<string, ProviderPerson>(),
): Promise<void> {
  const getTenant = async ({ tenantId }: { tenantId: number }) =>
    GetTenantResponse.fromPartial({ tenantId, plan: 'DEV', ...tenants.get(tenantId) });
  const exchangeTicket = async ({ ticket }: { ticket: string }) => {
    if (ticket === 'provider away') throw unavailable('The identity provider is not available at the moment');
    const person = tickets.get(ticket);
    tickets.delete(ticket);
    return { person };
  };
  await serveStub(t, IdentityServiceDefinition, { getTenant, exchangeTicket }, mesh);
}

let previous: Promise<unknown> = Promise.resolve();

/** Runs the set-ups of a test file one after another: concurrent migrations would cause timeouts in the embedded database. */
export function oneAtATime<T>(setUp: () => Promise<T>): Promise<T> {
  const done = previous.then(setUp);
  previous = done.catch(() => undefined);
  return done;
}

export function sessionMesh(t: ExecutionContext, options: MeshOptions = {}): Promise<SessionMesh> {
  return oneAtATime(() => startMesh(t, options));
}

async function startMesh(t: ExecutionContext, { env = {}, clockOffsetMs }: MeshOptions): Promise<SessionMesh> {
  const offset = clockOffsetMs === undefined ? {} : { clockOffsetMs };
  const database = await testSchema(t, sessionSchema, offset);
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({ EVALUATION_RPC_URL: '127.0.0.1:1', EXPORT_RPC_URL: '127.0.0.1:1' });
  const keyValue = memoryKeyValue();
  const sharedLog = memoryEventLog();
  const eventBus = inProcessEventBus({ deadLetters: { append: async () => undefined } });
  const published: Envelope[] = [];
  await eventBus.subscribe({
    group: 'test',
    topics: ['session-ended'],
    handler: async (event) => void published.push(event),
  });
  const agent = await scriptedAgent(t, callers, addresses);
  const tenants = new Map<number, Partial<GetTenantResponse>>();
  const tickets = new Map<string, ProviderPerson>();
  await serveIdentity(t, tenants, { callers, addresses }, tickets);

  async function replica(options: ReplicaOptions = {}): Promise<Replica> {
    const own = options.database ?? (await replicaOf(t, database, sessionSchema, offset));
    const eventLog = options.eventLog ?? sharedLog;
    const { unit } = await startService(t, session, {
      env: { SESSION_STOP_GRACE_MS: '100', AVATAR_TOKEN_KEYS: tokenKeys, ...env, ...options.env },
      database: own,
      dependencies: { keyValue, eventLog, eventBus, addresses, callers, soleOwner: options.soleOwner ?? false },
      log: createLogger('session', { LOG_LEVEL: 'silent' }),
      servers: false,
    });
    const app = bound(useCases, { ...unit.deps, database: wholeRowsDatabase(unit.deps.database) });
    return { app, unit, eventLog };
  }

  return { ...(await replica()), database, agent, published, tenants, tickets, eventBus, keyValue, addresses, replica };
}

export function inTenant(tenantId: number): TenantCaller {
  return { kind: 'user', tenantId, userId: 1, requestId: 'test' };
}

/** The events that a subscriber has received, and a way to wait for more. */
export interface Subscriber {
  events: SessionEvent[];
  /** Waits until `wanted` is true for `count` events. */
  until(what: string, wanted: (event: SessionEvent) => boolean, count?: number): Promise<SessionEvent>;
  stop(): Promise<void>;
  /** Rejects with the error that ended the subscription. */
  done: Promise<void>;
}

export function subscribe(
  t: ExecutionContext,
  app: App,
  sessionId: number,
  options: { after?: string; caller?: TenantCaller } = {},
): Subscriber {
  const controller = new AbortController();
  const events: SessionEvent[] = [];
  const { caller = inTenant(1), after } = options;
  const done = (async () => {
    for await (const event of app.watchSession(requestOf(caller, controller), { sessionId, after })) events.push(event);
  })();
  done.catch(() => undefined);
  t.teardown(() => controller.abort());
  return {
    events,
    done,
    until: (what, wanted, count = 1) => eventually(what, () => events.filter(wanted)[count - 1]),
    async stop() {
      controller.abort();
      await done;
    },
  };
}

export const isReply = (event: SessionEvent) => event.kind?.$case === 'aiResponse';
export const isChunk = (event: SessionEvent) => event.kind?.$case === 'aiResponseChunk';
export const isCall = (event: SessionEvent) => event.kind?.$case === 'toolCallChanged';
export const isFailure = (event: SessionEvent) => event.kind?.$case === 'turnFailed';
export const isStatus = (event: SessionEvent) => event.kind?.$case === 'sessionStatusChanged';
export const isTurnEnd = (event: SessionEvent) => isReply(event) || isFailure(event);

/** Returns the text of a turn's last attempt. */
export function joinedChunks(events: SessionEvent[], turnIndex: number): string {
  const chunks = events.flatMap(({ kind }) => (kind?.$case === 'aiResponseChunk' ? [kind.value] : []));
  const ofTurn = chunks.filter((chunk) => chunk.turnIndex === turnIndex);
  const attempt = Math.max(...ofTurn.map((chunk) => chunk.attempt));
  return ofTurn
    .filter((chunk) => chunk.attempt === attempt)
    .map((chunk) => chunk.text)
    .join('');
}

export function replyOf({ kind }: SessionEvent) {
  if (kind?.$case !== 'aiResponse') throw new Error(`${kind?.$case} is no reply`);
  const { message, interrupted, turnIndex, clientTurnId } = kind.value;
  return { text: message?.text, interrupted, turnIndex, clientTurnId, rowIndex: message?.turnIndex };
}

export function failureOf({ kind }: SessionEvent) {
  if (kind?.$case !== 'turnFailed') throw new Error(`${kind?.$case} is no failure`);
  return kind.value;
}
