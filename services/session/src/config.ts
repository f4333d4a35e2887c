import { defaultMaxAnswerBytes } from '@parley/chassis/answer-budget';
import { type Environment, port, positiveInt, readSettings } from '@parley/chassis/config';
import { turnsAtOnceSetting } from '@parley/chassis/turns-at-once';

/** What the use cases need to know. */
export interface SessionSettings {
  /** How much of a conversation a model is sent, in estimated tokens. Default 6,000. */
  historyTokens: number;
  /**
   * How long one attempt at a reply may take, from the model's request to the last chunk, in ms; for as long it may wait for
   * that request before. Default 120,000.
   */
  turnTimeoutMs: number;
  /** How long a process may be silent before another takes its turns, in ms. Default 30,000. */
  leaseMs: number;
  /** Messages that may wait in one session. Default 100. */
  queuedPerSession: number;
  /** An ACTIVE session without an event for so long, in ms, expires. Default 24 hours. */
  idleMs: number;
  /** A session expires at this age, in ms, whatever happens in it. Default 30 days. */
  maxAgeMs: number;
}

export interface SessionConfig {
  /** Where other units reach it; 0, the default, is any free port. So for the others. */
  rpcPort: number;
  /** Where the gateway reaches its subgraph. */
  graphPort: number;
  /** Where liveness, readiness and metrics are asked for. */
  opsPort: number;
  /** Turns that run at once for one tenant, over all replicas. Default 50. */
  turnsPerTenant: number;
  /** Turns that run at once in this process. Default 200. */
  turnsAtOnce: number;
  /** How long running turns may go on when this process stops, before they are handed over, in ms. Default 5,000. */
  stopGraceMs: number;
  /** Bytes of one answer of the subgraph. Default 32 MB. */
  maxAnswerBytes: number;
  settings: SessionSettings;
}

/** Reads session's settings; the README has what each means. @throws SettingsError naming all that is wrong. */
export function readSessionConfig(env: Environment): SessionConfig {
  const read = readSettings(env, {
    SESSION_RPC_PORT: port.default(0),
    SESSION_GRAPH_PORT: port.default(0),
    SESSION_OPS_PORT: port.default(0),
    SESSION_HISTORY_TOKENS: positiveInt.default(6_000),
    SESSION_TURN_TIMEOUT_MS: positiveInt.default(120_000),
    SESSION_TURNS_PER_TENANT: positiveInt.default(50),
    ...turnsAtOnceSetting,
    SESSION_QUEUED_PER_SESSION: positiveInt.default(100),
    SESSION_IDLE_HOURS: positiveInt.default(24),
    SESSION_MAX_DAYS: positiveInt.default(30),
    SESSION_LEASE_MS: positiveInt.default(30_000),
    SESSION_STOP_GRACE_MS: positiveInt.default(5_000),
    SESSION_MAX_ANSWER_BYTES: positiveInt.default(defaultMaxAnswerBytes),
  });
  return {
    rpcPort: read.SESSION_RPC_PORT,
    graphPort: read.SESSION_GRAPH_PORT,
    opsPort: read.SESSION_OPS_PORT,
    turnsPerTenant: read.SESSION_TURNS_PER_TENANT,
    turnsAtOnce: read.SESSION_TURNS_AT_ONCE,
    stopGraceMs: read.SESSION_STOP_GRACE_MS,
    maxAnswerBytes: read.SESSION_MAX_ANSWER_BYTES,
    settings: {
      historyTokens: read.SESSION_HISTORY_TOKENS,
      turnTimeoutMs: read.SESSION_TURN_TIMEOUT_MS,
      leaseMs: read.SESSION_LEASE_MS,
      queuedPerSession: read.SESSION_QUEUED_PER_SESSION,
      idleMs: read.SESSION_IDLE_HOURS * 60 * 60_000,
      maxAgeMs: read.SESSION_MAX_DAYS * 24 * 60 * 60_000,
    },
  };
}
