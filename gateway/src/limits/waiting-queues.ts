import { requestTurns } from '@parley/kernel/queues/request-turns';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { GatewayConfig } from '../config.ts';
import { credentialCalls } from '../credentials/credential-calls.ts';
import { replayTurns } from '../socket/replay-turns.ts';
import { subscriptionStarts } from '../socket/subscription-starts.ts';

/** A session, its tenant and an API key. */
const lookupsPerSocket = 3;

export type WaitingQueues = ReturnType<typeof waitingQueues>;

/** The queues in which clients' work waits for its turn, each with its gauge. */
export function waitingQueues(config: GatewayConfig, metrics: Metrics) {
  const calls = credentialCalls({
    limits: config.subgraphCalls,
    newSocketsWaiting: config.maxSocketsPerClient * lookupsPerSocket,
  });
  metrics.gauge(
    'parley_credential_checks_waiting',
    'Questions about credentials that wait for their turn, because their client or all have as many under way as may',
    () => calls.waiting,
  );
  const starts = subscriptionStarts({ ...config.subscriptionStarts, timeoutMs: config.subgraphTimeoutMs });
  metrics.gauge(
    'parley_subscriptions_waiting',
    'Subscriptions that wait to begin, because of their client, their tenant or all as many are beginning as may',
    () => starts.waiting,
  );
  const replays = replayTurns();
  metrics.gauge(
    'parley_replayed_events_waiting',
    'Replays of which the next event waits for its turn among those of all sockets',
    () => replays.waiting,
  );
  const turns = requestTurns();
  metrics.gauge(
    'parley_requests_waiting',
    'HTTP requests and frames of sockets that wait for their turn to be worked on',
    () => turns.waiting,
  );
  return { calls, starts, replays, turns };
}
