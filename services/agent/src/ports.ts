import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { OutboundPolicy } from '@parley/outbound/outbound-policy';
import type { Database } from '@parley/postgres/database/types';
import type { ActionServiceDefinition } from '@parley/protos/parley/action/v1/action';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { RpcClient } from '@parley/rpc/client';
import type { AgentReader } from './agents/agent-reader.ts';
import type { AvatarModels } from './agents/avatar-models.ts';
import type { AgentConfigOptionsDto } from './generated/schema.ts';
import type { Metering } from './metering/metered-chain.ts';
import type { ModelChooser } from './model-choice/model-choice.ts';
import type { ModelChains } from './models/model-chains.ts';
import type { AdmittedGeneration } from './text-generations/direct-call.ts';
import type { TenantBudget } from './text-generations/tenant-budget.ts';
import type { ToolSettings } from './tools/tool-settings.ts';
import type { PassageSettings } from './turns/passages.ts';
import type { RunAccess } from './workflow-runs/run-access.ts';
import type { WorkflowRunSettings } from './workflow-runs/workflow-run-settings.ts';
import type { WorkflowSettings } from './workflows/workflow-settings.ts';

/** Vendors' documentation pages to which an agent's configuration links. */
export type DocumentationUrls = Pick<
  AgentConfigOptionsDto,
  'ttsVoiceCatalogUrl' | 'sttLanguageCatalogUrl' | 'lipsyncModuleDocsUrl'
>;

export interface Ports {
  database: Database;
  box: SecretBox;
  eventLog: EventLog;
  models: ModelChains;
  readAgent: AgentReader;
  chooseModel: ModelChooser;
  metering: Metering;
  /** Generations that this process has admitted, by request id. */
  admittedGenerations: Map<string, AdmittedGeneration>;
  /** Limits the bytes of images held by running calls. */
  images: TenantBudget;
  generationLeaseMs: number;
  identity: Pick<RpcClient<IdentityServiceDefinition>, 'getAvatarConfig' | 'hasTenantSecret'>;
  /** Limits running text generations. */
  generations: TenantBudget;
  knowledge: Pick<RpcClient<KnowledgeServiceDefinition>, 'checkKnowledgeBases' | 'listKnowledgeBases' | 'retrieve'>;
  passages: PassageSettings;
  action: Pick<
    RpcClient<ActionServiceDefinition>,
    'checkTools' | 'describeTools' | 'listTools' | 'callTool' | 'callAction' | 'listTurnCalls'
  >;
  tools: ToolSettings;
  workflowRuns: WorkflowRunSettings;
  runAccess: RunAccess;
  workflows: WorkflowSettings;
  /** Maximum number of live hidden agents of one tenant. */
  maxHiddenAgents: number;
  /** The avatar models that the voice service offers. */
  avatarModels: AvatarModels;
  documentation: DocumentationUrls;
  /** Decides which of the tenants' URLs may be called. */
  outbound: Pick<OutboundPolicy, 'problemOf'>;
  log: Logger;
}
