import { randomBytes } from 'node:crypto';
import { type Caller, inTenant as callerInTenant, createCallers } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { AdminServiceDefinition } from '@parley/protos/parley/action/v1/admin';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { rpcClient } from '@parley/rpc/client';
import { serveStub } from '@parley/testing/serve-stub';
import { type ServiceOptions, startService } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { action } from '../src/service.ts';

export const operatorKey = randomBytes(32);
export const secretsKey = randomBytes(32).toString('base64');

export function inTenant(tenantId: number) {
  const caller: Caller = { kind: 'user', tenantId, userId: tenantId * 10, displayName: 'ada', requestId: 'test' };
  return callerInTenant(caller);
}

export const operator: Caller = { kind: 'operator', displayName: 'ada', tenantId: null, requestId: 'r1' };

/** Starts the whole action service, which may call loopback addresses. The identity stub has the tenants 1 to 99. */
export async function actionUnit(
  t: ExecutionContext,
  { env = {}, database, ...options }: Pick<ServiceOptions, 'env' | 'database' | 'dependencies'> = {},
) {
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({});
  await serveStub(
    t,
    IdentityServiceDefinition,
    {
      async getTenant({ tenantId }: { tenantId: number }) {
        if (tenantId > 99) throw notFound('Tenant', tenantId);
        return { tenantId, plan: 'DEV', suspended: false, deleted: false };
      },
    },
    { callers, addresses },
  );
  const unit = await startService(t, action, {
    env: {
      OUTBOUND_ALLOWLIST: '127.0.0.1',
      OUTBOUND_PORTS: '1-65535',
      OPERATOR_KEY: operatorKey.toString('base64'),
      SECRETS_KEYS: secretsKey,
      ...env,
    },
    ...(database && { database }),
    dependencies: { callers, addresses, ...options.dependencies },
  });
  const admin = rpcClient({
    definition: AdminServiceDefinition,
    unit: 'action',
    address: () => addresses.of('action', 'rpc'),
    callers: createCallers(operatorKey),
  });
  await admin.start();
  t.teardown(() => admin.stop());

  return {
    ...unit,
    admin: admin.calls,
    /** Returns the data of the response to a query, or the response's first error. */
    async ask(tenantId: number, query: string, variables: object = {}): Promise<Record<string, unknown>> {
      const { data, errors } = await unit.graph(inTenant(tenantId), query, variables);
      const [error] = errors ?? [];
      if (error) throw Object.assign(new Error(error.message), error.extensions);
      return data ?? {};
    },
    async createConnector(tenantId: number, serverUrl: string, apiKey = 'key'): Promise<number> {
      const { createMcpConnector } = await this.ask(
        tenantId,
        'mutation ($input: CreateMcpConnectorInput!) { createMcpConnector(input: $input) { id } }',
        { input: { name: 'Tools', serverUrl, apiKey } },
      );
      return idOf(createMcpConnector);
    },
    async createAction(tenantId: number, input: object): Promise<number> {
      const { createCustomAction } = await this.ask(
        tenantId,
        'mutation ($input: CreateCustomActionInput!) { createCustomAction(input: $input) { id } }',
        { input: { name: 'Call', ...input } },
      );
      return idOf(createCustomAction);
    },
    callAction: (
      tenantId: number,
      actionId: number,
      {
        args = {},
        turn = crypto.randomUUID(),
        call = '1.0',
        signal,
        ...rest
      }: {
        args?: object;
        turn?: string;
        call?: string;
        signal?: AbortSignal;
        linkedIdentities?: object[];
        timeLimitMs?: number;
      } = {},
    ) =>
      unit.rpc
        .callAction(
          {
            actionId,
            argumentsJson: JSON.stringify(args),
            key: { turn, call, note: Buffer.from('note') },
            ...(rest as object),
          },
          { caller: inTenant(tenantId), timeoutMs: 60_000, ...(signal && { signal }) },
        )
        .then(({ result }) => result),
    callTool: (
      tenantId: number,
      connectorId: number,
      name: string,
      args: object = {},
      turn: string = crypto.randomUUID(),
    ) =>
      unit.rpc
        .callTool(
          {
            tool: { connectorId, name },
            argumentsJson: JSON.stringify(args),
            key: { turn, call: '1.0', note: Buffer.from('note') },
          },
          { caller: inTenant(tenantId), timeoutMs: 60_000 },
        )
        .then(({ result }) => result),
    calls: async (tenantId: number) =>
      (
        await unit.graph(
          inTenant(tenantId),
          '{ outboundCalls { id at kind target name status durationMs bytes errorKind } }',
        )
      ).data?.['outboundCalls'] as Record<string, unknown>[],
  };
}

export type ActionUnit = Awaited<ReturnType<typeof actionUnit>>;

function idOf(row: unknown): number {
  return (row as { id: number }).id;
}
