import type { Logger } from '@parley/kernel/telemetry/log';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { RpcClient } from '@parley/rpc/client';
import type { TemplateRenderer } from './template-renderer.ts';

export interface Ports {
  database: Database;
  agent: RpcClient<typeof AgentServiceDefinition>;
  session: RpcClient<typeof SessionServiceDefinition>;
  identity: RpcClient<typeof IdentityServiceDefinition>;
  templates: TemplateRenderer;
  judgeTimeoutMs: number;
  log: Logger;
}
