import { requestScheduler } from '@parley/kernel/queues/request-scheduler';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { GatewayConfig } from '../config.ts';
import { credentialCalls } from '../credentials/credential-calls.ts';
import { replayScheduler } from '../socket/replay-scheduler.ts';
import { subscriptionStarts } from '../socket/subscription-starts.ts';

/** A new socket needs at most one lookup each for its session, its tenant and its API key. */
const lookupsPerSocket = 3;

export type WaitingQueues = ReturnType<typeof waitingQueues>;

/** Creates the queues that client work waits in, each queue with a gauge. */
export function waitingQueues(config: GatewayConfig, metrics: Metrics) {
  const calls = credentialCalls({
    limits: config.subgraphCalls,
    newSocketsWaiting: config.maxSocketsPerClient * lookupsPerSocket,
  });
  metrics.gauge(
    'parley_credential_checks_waiting',
    'Credential lookups that are queued, because their client or all clients have reached the limit',
    () => calls.waiting,
  );
  const starts = subscriptionStarts({ ...config.subscriptionStarts, timeoutMs: config.subgraphTimeoutMs });
  metrics.gauge(
    'parley_subscriptions_waiting',
    'Subscriptions that wait to start, because their client, their tenant or all clients have reached the limit',
    () => starts.waiting,
  );
  const replays = replayScheduler();
  metrics.gauge(
    'parley_replayed_events_waiting',
    'Replays whose next event is queued behind those of other sockets',
    () => replays.waiting,
  );
  const scheduler = requestScheduler();
  metrics.gauge('parley_requests_waiting', 'HTTP requests and socket frames that are queued', () => scheduler.waiting);
  return { calls, starts, replays, scheduler };
}
