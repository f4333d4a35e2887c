import { createSessionTokens } from '@parley/kernel/session-token';
import { announcer } from '@parley/live/key-value/announcements';
import { credentialsChanged } from '@parley/protos/announcements';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { service } from '@parley/service/service';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { sessionDeclaration } from './declaration.ts';
import { createCustomerCursors } from './embed/customer-cursors.ts';
import { tenantEnd } from './end-tenant.ts';
import { expiryJob } from './expire-session.ts';
import { contextFor } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import type { Ports } from './ports.ts';
import { sessionRpc } from './rpc.ts';
import { turnJob } from './run-turn.ts';
import { sessionSubscriptions } from './subscriptions.ts';

export const session = service(sessionDeclaration, {
  dependencies({ config, database, calls, eventLog, keyValue, log, metrics }): Ports {
    const announce = announcer(keyValue, credentialsChanged, log);
    const firstChunk = metrics.durations(
      'parley_session_first_chunk_seconds',
      'From the start of a turn to the first piece of its reply',
    );
    return {
      database,
      eventLog,
      ...calls,
      tokens: createSessionTokens(config.avatarTokenKeys),
      cursors: createCustomerCursors(config.avatarTokenKeys),
      embed: {
        graphqlEndpoint: `${config.embed.publicUrl}/graphql`,
        avatarServiceUrl: config.embed.avatarServiceUrl,
      },
      settings: config.settings,
      log,
      announceEnd: (sessionId) => announce({ whose: { $case: 'sessionId', value: sessionId } }),
      observeFirstChunk: (seconds) => firstChunk.observe(seconds),
    };
  },
  jobs: [turnJob, expiryJob],
  onTenantEnd: tenantEnd,
  rpc: { definition: SessionServiceDefinition, implementation: (ports) => sessionRpc(ports) },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
    subscriptions: sessionSubscriptions,
    context: contextFor,
  }),
});
