import { column, type RowOf, table } from '@parley/postgres/database/table';
import type {
  AgentStatus,
  AgentUseCase,
  AuditActionEnum,
  AvatarBackend,
  AvatarGenderCode,
  LlmProviderType,
  VoiceTier,
} from '../generated/schema.ts';
import type { AgentFields, AgentTool } from './agent-input.ts';

/** Options of a long column. Lists of agents include such a column only if the query selects it. */
const long = { long: true };
const longJson = { long: true, json: true };

export const agents = table('agents', {
  id: column<number>(),
  tenantId: column<number>(),
  name: column<string>(long),
  personaPrompt: column<string>(long),
  position: column<string>(long),
  subject: column<string | null>(long),
  openingGreeting: column<string | null>(long),
  useCase: column<AgentUseCase>(long),
  status: column<AgentStatus>(long),
  workflowId: column<number | null>(long),
  voiceTier: column<VoiceTier>(long),
  ttsVoice: column<string | null>(long),
  ttsLang: column<string | null>(long),
  speakingRate: column<number | null>(long),
  vadThreshold: column<number>(long),
  avatarGlb: column<string | null>(long),
  avatarGender: column<AvatarGenderCode | null>(long),
  lipsyncLang: column<string | null>(long),
  evaluationPromptTemplate: column<string | null>(long),
  evaluationRecommendationLabels: column<string[] | null>(longJson),
  externalSyncUrl: column<string | null>(long),
  externalSyncSecretRef: column<string | null>(long),
  externalSyncOwnerId: column<number | null>(long),
  /** Maps each field of the posted object to a JSONPath of the payload. */
  externalSyncSchemaConfig: column<Record<string, string> | null>(longJson),
  llmProviderOverride: column<LlmProviderType | null>(long),
  llmModelOverride: column<string | null>(long),
  avatarBackend: column<AvatarBackend>(long),
  avatarBackendConfig: column<AgentFields['avatarBackendConfig']>(longJson),
  knowledgeBaseIds: column<number[] | null>(long),
  tools: column<AgentTool[] | null>(longJson),
  /** Whether the agent was created for an embed rather than by the owner. A hidden agent is neither listed nor counted. */
  hidden: column<boolean>(),
  /** SHA-256 of the persona that a hidden agent was created for. Null once the agent has been changed, and for all other agents. */
  personaSha256: column<Buffer | null>({ long: 'NULL' }),
  /** A deleted agent starts no new sessions; existing sessions can still read and use it. */
  deletedAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type Agent = RowOf<typeof agents>;

export type ListedAgent = Pick<Agent, 'id'> & Partial<Agent>;

export const auditLogs = table('agent_audit_logs', {
  id: column<number>(),
  agentId: column<number>(),
  action: column<AuditActionEnum>(),
  userId: column<number | null>(),
  username: column<string | null>({ long: 'NULL' }),
  changes: column<Changes>({ json: true, long: "'{}'::jsonb" }),
  createdAt: column<Date>(),
});

export type AuditLog = RowOf<typeof auditLogs>;

export type Changes = Record<string, { from: unknown; to: unknown }>;
