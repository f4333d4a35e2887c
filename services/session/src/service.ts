import { payloadMapper } from '@parley/json-path/payload-mapper';
import { createCallers } from '@parley/kernel/caller';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { announcer } from '@parley/live/key-value/announcements';
import { outbound } from '@parley/outbound/outbound';
import { credentialsChanged } from '@parley/protos/announcements';
import { EvaluationCompleted } from '@parley/protos/parley/evaluation/v1/events';
import { AdminServiceDefinition } from '@parley/protos/parley/session/v1/admin';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { service } from '@parley/service/service';
import { separateRpc } from '@parley/service/service-definition';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { unitHttp } from '@parley/unit/unit-http';
import { adminRpc } from './admin-rpc.ts';
import { sessionDeclaration } from './declaration.ts';
import { createCustomerCursors } from './embed/customer-cursors.ts';
import { lookUpQueue } from './embed/look-up-queue.ts';
import { tenantEnd } from './end-tenant.ts';
import { expiryJob } from './expire-session.ts';
import { syncJob } from './external-sync/deliver.ts';
import { onEvaluationCompleted } from './external-sync/on-evaluation-completed.ts';
import { deliverySweep } from './external-sync/sweep-deliveries.ts';
import { contextFor } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import type { Ports } from './ports.ts';
import { sessionRpc } from './rpc.ts';
import { turnJob } from './run-turn.ts';
import { voiceTranscriber } from './speech/voice-transcriber.ts';
import { sessionSubscriptions } from './subscriptions.ts';

export const session = service(sessionDeclaration, {
  dependencies({ config, addresses, database, calls, eventLog, keyValue, log, metrics }): Ports {
    const announce = announcer(keyValue, credentialsChanged, log);
    const firstChunk = metrics.durations(
      'parley_session_first_chunk_seconds',
      'From the start of a turn to the first piece of its reply',
    );
    const webhooks = metrics.counter(
      'parley_session_sync_total',
      'Attempts at webhooks that were `delivered` or `failed`, and webhooks that were `given_up`',
      ['outcome'],
    );
    return {
      database,
      eventLog,
      ...calls,
      tokens: createSessionTokens(config.avatarTokenKeys),
      cursors: createCustomerCursors(config.avatarTokenKeys),
      lookUpQueue: lookUpQueue(),
      transcribe: voiceTranscriber(unitHttp({ unit: 'voice', addresses, ...config.voice }), config.voice.clipsAtOnce),
      embed: {
        graphqlEndpoint: `${config.embed.publicUrl}/graphql`,
        avatarServiceUrl: config.embed.avatarServiceUrl,
      },
      settings: config.settings,
      sync: {
        outbound: outbound({ ...config.outbound, log }),
        mapper: payloadMapper(),
        clock: () => new Date(),
        settings: config.sync,
        count: (outcome) => webhooks.add({ outcome }),
      },
      log,
      announceEnd: (sessionId) => announce({ whose: { $case: 'sessionId', value: sessionId } }),
      observeFirstChunk: (seconds) => firstChunk.observe(seconds),
    };
  },
  parts: (ports, { log }) => [ports.sync.mapper, deliverySweep(ports, log)],
  jobs: [turnJob, expiryJob, syncJob],
  consumes: {
    'evaluation.completed.v1': {
      topic: 'evaluation-completed',
      decode: EvaluationCompleted.decode,
      handle: onEvaluationCompleted,
    },
  },
  onTenantEnd: tenantEnd,
  rpc: {
    definition: SessionServiceDefinition,
    implementation: (ports) => sessionRpc(ports),
    separate(ports, { config: { operatorKey }, log }) {
      if (operatorKey) {
        const callers = createCallers(operatorKey, Date.now, 'AdminService takes calls signed with OPERATOR_KEY only');
        return separateRpc(AdminServiceDefinition, adminRpc(ports), callers);
      }
      log.info('no OPERATOR_KEY; AdminService is not served');
      return undefined;
    },
  },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
    subscriptions: sessionSubscriptions,
    context: contextFor,
  }),
});
