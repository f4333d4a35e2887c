export type AgentUseCase = 'CUSTOM' | 'EDUCATION' | 'INTERVIEW' | 'ONBOARDING' | 'SALES' | 'SUPPORT';
export type AgentStatus = 'ACTIVE' | 'INACTIVE';
export type VoiceTier = 'STANDARD' | 'WAVENET' | 'NEURAL2';
export type AvatarGender = 'F' | 'M';
export type AvatarBackend = 'HOSTED_API' | 'CLIENT_3D';
export type LlmProvider = 'CLOUD_HOSTED_MODELS' | 'HOSTED_SMALL_MODEL' | 'DIRECT_MODEL_API';

/** What a hosted video avatar is made from; needed with the backend HOSTED_API. */
export interface AvatarBackendConfig {
  vendorAvatarId: string;
  vendorAvatarModel: string;
}

/** What the owner of an agent sets. The SDL says what each field means. */
export interface AgentFields {
  name: string;
  personaPrompt: string;
  position: string;
  subject: string | null;
  openingGreeting: string | null;
  useCase: AgentUseCase;
  status: AgentStatus;
  workflowId: number | null;
  voiceTier: VoiceTier;
  ttsVoice: string | null;
  ttsLang: string | null;
  speakingRate: number | null;
  vadThreshold: number;
  avatarGlb: string | null;
  avatarGender: AvatarGender | null;
  lipsyncLang: string | null;
  evaluationPromptTemplate: string | null;
  evaluationRecommendationLabels: string[] | null;
  externalSyncUrl: string | null;
  externalSyncSecretRef: string | null;
  externalSyncOwnerId: number | null;
  /** Target field to a JSONPath of the payload. */
  externalSyncSchemaConfig: Record<string, string> | null;
  llmProviderOverride: LlmProvider | null;
  llmModelOverride: string | null;
  avatarBackend: AvatarBackend;
  avatarBackendConfig: AvatarBackendConfig | null;
}

/** A persona that people talk to. */
export interface Agent extends AgentFields {
  id: number;
  /** Set once it has been deleted: it starts nothing more, and what it took part in stays readable. */
  deletedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** An agent with at least the fields that were asked for. */
export type ListedAgent = Pick<Agent, 'id'> & Partial<Agent>;

/** Fields as an input gives them: left out is undefined, an explicit null is null. */
export type AgentInput = { [Field in keyof AgentFields]?: AgentFields[Field] | null | undefined };

/** One recorded change. */
export interface AuditLog {
  id: number;
  agentId: number;
  action: 'CREATE' | 'UPDATE' | 'DELETE';
  /** Who did it, as at that time. */
  userId: number | null;
  username: string | null;
  changes: Changes;
  createdAt: Date;
}

/** Field to what it was and what it became; changed fields only. */
export type Changes = Record<string, { from: unknown; to: unknown }>;
