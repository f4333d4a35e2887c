import { jsonSchemas } from '@parley/json-schema/json-schemas';
import { createCallers } from '@parley/kernel/caller';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { outbound } from '@parley/outbound/outbound';
import { resealing } from '@parley/postgres/reseal';
import { ActionServiceDefinition } from '@parley/protos/parley/action/v1/action';
import { AdminServiceDefinition } from '@parley/protos/parley/action/v1/admin';
import { service } from '@parley/service/service';
import { separateRpc } from '@parley/service/service-definition';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { partnerTokens } from './actions/partner-tokens.ts';
import { adminRpc } from './admin-rpc.ts';
import { beginQueue } from './calls/begin-queue.ts';
import { meteredOutbound } from './calls/call-meter.ts';
import { callMetrics } from './calls/call-metrics.ts';
import { callQueue } from './calls/call-queue.ts';
import { callingProcess } from './calls/calling-process.ts';
import { heldAnswers } from './calls/held-answers.ts';
import { callSweep } from './calls/sweep-calls.ts';
import { messagingTokens } from './custom-actions/messaging-tokens.ts';
import { actionDeclaration } from './declaration.ts';
import { endTenant } from './end-tenant.ts';
import { resolvers } from './graph/resolvers.ts';
import { largeWork } from './large-work.ts';
import { mcpClient } from './mcp/mcp-client.ts';
import type { Ports } from './ports.ts';
import { actionRpc } from './rpc.ts';
import { sealedColumns } from './sealed-columns.ts';

export const action = service(actionDeclaration, {
  dependencies({ config, database, keyValue, calls, log, metrics }): Ports {
    const { limits, messaging, idpOne } = config;
    const box = createSecretBox(config.secretsKeys);
    const held = heldAnswers({ maxBytes: limits.heldBytes, maxTenantBytes: limits.heldTenantBytes });
    const guard = meteredOutbound(outbound({ ...config.outbound, log }), held.take);
    const schemas = jsonSchemas();
    const queue = callQueue(limits);
    const workOn = largeWork();
    metrics.gauge('parley_action_calls_waiting', 'Outbound calls that wait for their turn', () => queue.waiting);
    return {
      database,
      box,
      ...calls,
      limits,
      outbound: guard,
      schemas,
      mcp: mcpClient({
        outbound: guard,
        log,
        limits: {
          timeoutMs: limits.callMs,
          idleMs: limits.callMs,
          listKeptMs: limits.listKeptMs,
          maxResultBytes: limits.answerBytes,
        },
        queue,
        held,
        workOn,
      }),
      sending: {
        outbound: guard,
        schemas,
        workOn,
        limits: { timeoutMs: limits.callMs, maxBytes: limits.answerBytes },
        messaging: messagingTokens({
          keyValue,
          box,
          urls: { REGION_CN: messaging.china, REGION_INTL: messaging.international },
          log,
        }),
        idpOne,
        partnerToken: partnerTokens({ database, box }),
      },
      queue,
      held,
      workOn,
      beginQueue: beginQueue(),
      process: callingProcess({ database, leaseMs: limits.leaseMs, log }),
      certifiedOperations: config.certifiedOperations,
      metrics: callMetrics(metrics),
      log,
    };
  },
  parts: (ports, { log, metrics }) => [
    { name: 'connectors', stop: () => ports.mcp.stop() },
    { name: 'results of calls', stop: async () => ports.process.stop() },
    callSweep(ports, log),
    resealing({ database: ports.database, box: ports.box, columns: sealedColumns, log, metrics }),
  ],
  onTenantEnd: { close: endTenant },
  rpc: {
    definition: ActionServiceDefinition,
    implementation: actionRpc,
    separate(ports, { config: { operatorKey }, log }) {
      if (operatorKey) {
        const callers = createCallers(operatorKey, Date.now, 'AdminService takes calls signed with OPERATOR_KEY only');
        return separateRpc(AdminServiceDefinition, adminRpc(ports), callers);
      }
      log.info('no OPERATOR_KEY; AdminService is not served');
      return undefined;
    },
    // A turn cannot repeat a cancelled call, so a shutdown lets running calls finish. They get about half of the 25 s that a shutdown may
    // take.
    drainTimeoutMs: 12_000,
  },
  graph: subgraphOf({ schema: new URL('schema.graphql', import.meta.url), resolvers }),
});
