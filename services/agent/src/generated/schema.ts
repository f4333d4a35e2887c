// Written by scripts/generate from schema.graphql.

export type Maybe<T> = T | null | undefined;
export type InputMaybe<T> = T | null | undefined;
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** A time as ISO 8601, in UTC with milliseconds. */
  DateTime: { input: Date; output: Date; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
  /** A JSON object. */
  JSONObject: { input: Record<string, unknown>; output: object; }
  _FieldSet: { input: string; output: string; }
};

/** Purpose of an agent. If an agent has no recommendation labels of its own, its evaluations use the labels of its use case. */
export type AgentUseCase =
  | 'CUSTOM'
  | 'EDUCATION'
  | 'INTERVIEW'
  | 'ONBOARDING'
  | 'SALES'
  | 'SUPPORT';

/** Status of an agent. Sessions start with ACTIVE agents only. */
export type AgentStatus =
  /** Sessions may start. */
  | 'ACTIVE'
  /** New sessions are refused with BAD_REQUEST; running ones continue. */
  | 'INACTIVE';

/** Quality of the synthesised voice, lowest first. */
export type VoiceTier =
  /** Plain synthesis; the default. */
  | 'STANDARD'
  /** A neural voice. */
  | 'WAVENET'
  /** A neural voice of the generation after WAVENET. */
  | 'NEURAL2';

/** Gender of an avatar. */
export type AvatarGenderCode =
  /** Female. */
  | 'F'
  /** Male. */
  | 'M';

/** Kind of avatar: a hosted video avatar, or 3D in the client. */
export type AvatarBackend =
  /** A vendor's video avatar, which `avatarBackendConfig` selects. */
  | 'HOSTED_API'
  /** A 3D model (`avatarGlb`) that the client draws. */
  | 'CLIENT_3D';

/** The provider that serves a model. */
export type LlmProviderType =
  /** A catalogue of hosted models; the only provider for which a model can be chosen (`llmModelOverride`). */
  | 'CLOUD_HOSTED_MODELS'
  /** The platform's own endpoint with one fixed model. */
  | 'HOSTED_SMALL_MODEL'
  /** A model vendor's own API. */
  | 'DIRECT_MODEL_API';

/** Reason why a model's text ended. */
export type FinishReason =
  /** The model completed its text. */
  | 'STOP'
  /** The model's token limit was reached, so the text is incomplete. */
  | 'LENGTH'
  /** The model or its provider's filter cut the text, or the text is the model's refusal. */
  | 'CONTENT_FILTER';

/** A persona that people talk to. */
export type AgentDto = {
  __typename?: 'AgentDto';
  /** The agent's id. All ids are positive. */
  id: Scalars['Int']['output'];
  /** The agent's name: at most 200 characters, not necessarily unique. */
  name: Scalars['String']['output'];
  /** The system prompt that defines the agent. */
  personaPrompt: Scalars['String']['output'];
  /** Free-text role label. */
  position: Scalars['String']['output'];
  /** Free-text subject label. */
  subject?: Maybe<Scalars['String']['output']>;
  /** The agent's first message; not sent while a workflow is attached. */
  openingGreeting?: Maybe<Scalars['String']['output']>;
  /** The use case. Default: INTERVIEW. */
  useCase: AgentUseCase;
  /** The status. A new agent is ACTIVE. */
  status: AgentStatus;
  /** The attached workflow, which runs only if it is published. */
  workflowId?: Maybe<Scalars['Int']['output']>;
  /** The quality of the voice. Default: STANDARD. */
  voiceTier: VoiceTier;
  /** Name of the voice that speaks; free text. */
  ttsVoice?: Maybe<Scalars['String']['output']>;
  /** Language of speech, e.g. `en-US`. Null: the tenant's default. */
  ttsLang?: Maybe<Scalars['String']['output']>;
  /** Speed of speech; 1 is normal. */
  speakingRate?: Maybe<Scalars['Float']['output']>;
  /** Sensitivity of voice-activity detection, 0 to 1. */
  vadThreshold: Scalars['Float']['output'];
  /** File name of a 3D model. */
  avatarGlb?: Maybe<Scalars['String']['output']>;
  /** The avatar's gender. Null: the tenant's default. */
  avatarGender?: Maybe<AvatarGenderCode>;
  /** Language of lip-sync, e.g. `en`. */
  lipsyncLang?: Maybe<Scalars['String']['output']>;
  /** A Liquid template that replaces the default instructions of the evaluation. */
  evaluationPromptTemplate?: Maybe<Scalars['String']['output']>;
  /** The labels from which an evaluation's recommendation is chosen. */
  evaluationRecommendationLabels?: Maybe<Array<Scalars['String']['output']>>;
  /** The URL to which evaluations are posted (`externalSyncDeliveries`); null if there is none. */
  externalSyncUrl?: Maybe<Scalars['String']['output']>;
  /** Name of the secret that signs the posts, never the secret itself. Null: nothing is posted. */
  externalSyncSecretRef?: Maybe<Scalars['String']['output']>;
  /** The agent's owner in the receiver's system. */
  externalSyncOwnerId?: Maybe<Scalars['Int']['output']>;
  /** Maps target fields to JSONPaths of the payload; an object with these fields is posted. Null: the payload itself is posted. */
  externalSyncSchemaConfig?: Maybe<Scalars['JSON']['output']>;
  /** The provider of the agent's model. Null: the tenant's provider, else the platform's default. */
  llmProviderOverride?: Maybe<LlmProviderType>;
  /** The model; used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: Maybe<Scalars['String']['output']>;
  /** The kind of avatar. Default: CLIENT_3D. */
  avatarBackend: AvatarBackend;
  /** The vendor's avatar, {vendorAvatarId, vendorAvatarModel}; always present if `avatarBackend` is HOSTED_API. */
  avatarBackendConfig?: Maybe<Scalars['JSON']['output']>;
  /** Knowledge bases that replies may use; null if there are none. Deleted bases are skipped. */
  knowledgeBaseIds?: Maybe<Array<Scalars['Int']['output']>>;
  /** The tools and actions that the agent's model may call in a turn. Deleted ones are skipped. */
  tools: Array<AgentToolDto>;
  /** Time at which the agent was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A tool that a model may call: a connector's tool or a custom action. */
export type AgentToolDto = {
  __typename?: 'AgentToolDto';
  /** The connector; null for an action. */
  connectorId?: Maybe<Scalars['Int']['output']>;
  /** The tool's name on the connector's server; null for an action. */
  tool?: Maybe<Scalars['String']['output']>;
  /** The custom action; null for a tool. */
  actionId?: Maybe<Scalars['Int']['output']>;
};

/** A tool (`connectorId` and `tool`) or an action (`actionId`). */
export type AgentToolInput = {
  /** The connector. */
  connectorId?: InputMaybe<Scalars['Int']['input']>;
  /** The tool's name on the connector's server; at most 200 characters. */
  tool?: InputMaybe<Scalars['String']['input']>;
  /** The custom action. */
  actionId?: InputMaybe<Scalars['Int']['input']>;
};

/** A new agent. Lengths count Unicode code points. Texts must not be blank, and must not contain NUL or unpaired surrogates. */
export type CreateAgentInput = {
  /** The name: at most 200 characters, not blank. */
  name: Scalars['String']['input'];
  /** The system prompt that defines the agent; at most 20,000 characters, not blank. */
  personaPrompt: Scalars['String']['input'];
  /** Free-text role label; at most 200 characters, not blank. */
  position: Scalars['String']['input'];
  /** Free-text subject label; at most 200 characters. */
  subject?: InputMaybe<Scalars['String']['input']>;
  /** The agent's first message; at most 4,000 characters. Not sent while a workflow is attached. */
  openingGreeting?: InputMaybe<Scalars['String']['input']>;
  /** The use case. Default: INTERVIEW. */
  useCase?: InputMaybe<AgentUseCase>;
  /** The quality of the voice. Default: STANDARD. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** Voice name, at most 200 characters; suggestions come from `agentConfigOptions`. */
  ttsVoice?: InputMaybe<Scalars['String']['input']>;
  /** Language of speech, at most 100 characters. */
  ttsLang?: InputMaybe<Scalars['String']['input']>;
  /** Speed of speech, 0.25 to 4; 1 is normal. */
  speakingRate?: InputMaybe<Scalars['Float']['input']>;
  /** Sensitivity of voice-activity detection, 0 to 1; default 0.5. */
  vadThreshold?: InputMaybe<Scalars['Float']['input']>;
  /** File name of a 3D model, at most 200 characters; suggestions come from `agentConfigOptions`. */
  avatarGlb?: InputMaybe<Scalars['String']['input']>;
  /** The avatar's gender. Default: the tenant's. */
  avatarGender?: InputMaybe<AvatarGenderCode>;
  /** Language of lip-sync, at most 100 characters. */
  lipsyncLang?: InputMaybe<Scalars['String']['input']>;
  /**
   * A Liquid template over `agent`, `transcript` and `labels` that replaces the default instructions of the evaluation; at most 20,000
   * characters.
   */
  evaluationPromptTemplate?: InputMaybe<Scalars['String']['input']>;
  /**
   * The labels from which the recommendation is chosen, best first: at most 50 different labels of at most 100 characters. If the list is
   * empty, evaluations use no labels.
   */
  evaluationRecommendationLabels?: InputMaybe<Array<Scalars['String']['input']>>;
  /**
   * The URL to which evaluations are posted as webhooks (Standard Webhooks): http or https, without user name and password, at most 2,048
   * characters. The platform must be allowed to call its host and port. Posts are retried for 24 hours until the receiver accepts. Redirects
   * are not followed.
   */
  externalSyncUrl?: InputMaybe<Scalars['String']['input']>;
  /** Name of the secret that signs the posts. BAD_REQUEST if no operator has stored this secret for the tenant. Without a name nothing is posted. */
  externalSyncSecretRef?: InputMaybe<Scalars['String']['input']>;
  /** The agent's owner in the receiver's system; above 0. */
  externalSyncOwnerId?: InputMaybe<Scalars['Int']['input']>;
  /**
   * An object that maps each field of the posted object to a JSONPath (RFC 9535) of the payload: at most 100 fields, with keys and values of
   * at most 500 characters. A path that consists only of names and indexes yields the value that it selects, or null; any other path yields
   * the list of all values that it selects.
   */
  externalSyncSchemaConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** The provider of the agent's model. Default: the tenant's provider, else the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** The model, at most 200 characters; used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
  /** The kind of avatar. Default: CLIENT_3D. */
  avatarBackend?: InputMaybe<AvatarBackend>;
  /** The vendor's avatar, {vendorAvatarId, vendorAvatarModel}, each at most 200 characters; required if `avatarBackend` is HOSTED_API. */
  avatarBackendConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** At most 5 different knowledge bases of the tenant that replies may use; NOT_FOUND if one does not exist. */
  knowledgeBaseIds?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** At most 20 different tools and actions of the tenant that the model may call; NOT_FOUND if one does not exist. */
  tools?: InputMaybe<Array<AgentToolInput>>;
};

/**
 * Changes of an agent. Omitted fields are unchanged. Null clears optional fields, but is refused for name, personaPrompt, position, status,
 * useCase, voiceTier, vadThreshold and avatarBackend. Limits are those of CreateAgentInput.
 */
export type UpdateAgentInput = {
  /** The name: at most 200 characters, not blank. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** The system prompt that defines the agent; at most 20,000 characters, not blank. */
  personaPrompt?: InputMaybe<Scalars['String']['input']>;
  /** Free-text role label; at most 200 characters, not blank. */
  position?: InputMaybe<Scalars['String']['input']>;
  /** The status. With INACTIVE, no new session starts. */
  status?: InputMaybe<AgentStatus>;
  /** A workflow of the tenant, published or not; null detaches. */
  workflowId?: InputMaybe<Scalars['Int']['input']>;
  /** Free-text subject label; at most 200 characters. */
  subject?: InputMaybe<Scalars['String']['input']>;
  /** The agent's first message; at most 4,000 characters. Not sent while a workflow is attached. */
  openingGreeting?: InputMaybe<Scalars['String']['input']>;
  /** The use case. Null is refused. */
  useCase?: InputMaybe<AgentUseCase>;
  /** The quality of the voice. Null is refused. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** Voice name, at most 200 characters; suggestions come from `agentConfigOptions`. */
  ttsVoice?: InputMaybe<Scalars['String']['input']>;
  /** Language of speech, at most 100 characters. */
  ttsLang?: InputMaybe<Scalars['String']['input']>;
  /** Speed of speech, 0.25 to 4; 1 is normal. */
  speakingRate?: InputMaybe<Scalars['Float']['input']>;
  /** Sensitivity of voice-activity detection, 0 to 1. */
  vadThreshold?: InputMaybe<Scalars['Float']['input']>;
  /** File name of a 3D model, at most 200 characters; suggestions come from `agentConfigOptions`. */
  avatarGlb?: InputMaybe<Scalars['String']['input']>;
  /** The avatar's gender. Null: the tenant's. */
  avatarGender?: InputMaybe<AvatarGenderCode>;
  /** Language of lip-sync, at most 100 characters. */
  lipsyncLang?: InputMaybe<Scalars['String']['input']>;
  /**
   * A Liquid template over `agent`, `transcript` and `labels` that replaces the default instructions of the evaluation; at most 20,000
   * characters.
   */
  evaluationPromptTemplate?: InputMaybe<Scalars['String']['input']>;
  /**
   * The labels from which the recommendation is chosen, best first: at most 50 different labels of at most 100 characters. If the list is
   * empty, evaluations use no labels.
   */
  evaluationRecommendationLabels?: InputMaybe<Array<Scalars['String']['input']>>;
  /**
   * The URL to which evaluations are posted as webhooks (Standard Webhooks): http or https, without user name and password, at most 2,048
   * characters. The platform must be allowed to call its host and port. Posts are retried for 24 hours until the receiver accepts. Redirects
   * are not followed.
   */
  externalSyncUrl?: InputMaybe<Scalars['String']['input']>;
  /** Name of the secret that signs the posts. BAD_REQUEST if no operator has stored this secret for the tenant. Without a name nothing is posted. */
  externalSyncSecretRef?: InputMaybe<Scalars['String']['input']>;
  /** The agent's owner in the receiver's system; above 0. */
  externalSyncOwnerId?: InputMaybe<Scalars['Int']['input']>;
  /**
   * An object that maps each field of the posted object to a JSONPath (RFC 9535) of the payload: at most 100 fields, with keys and values of
   * at most 500 characters. A path that consists only of names and indexes yields the value that it selects, or null; any other path yields
   * the list of all values that it selects.
   */
  externalSyncSchemaConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** The provider of the agent's model. Null: the tenant's provider, else the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** The model, at most 200 characters; used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
  /** The kind of avatar. Null is refused. */
  avatarBackend?: InputMaybe<AvatarBackend>;
  /** The vendor's avatar, {vendorAvatarId, vendorAvatarModel}, each at most 200 characters; required if `avatarBackend` is HOSTED_API. */
  avatarBackendConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** At most 5 different knowledge bases of the tenant; NOT_FOUND if an added one does not exist. Null or empty: none. */
  knowledgeBaseIds?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** At most 20 different tools and actions of the tenant; NOT_FOUND if an added one does not exist. Null or empty: none. */
  tools?: InputMaybe<Array<AgentToolInput>>;
};

/** Suggested values for an agent's free-text fields. */
export type AgentConfigOptionsDto = {
  __typename?: 'AgentConfigOptionsDto';
  /** The voice service's 3D models. While the service is unavailable: the last known list. */
  avatarModels: Array<AvatarModelDto>;
  /** Voices that are known to work. Other voices may also work. */
  recommendedTtsVoices: Array<RecommendedTtsVoiceDto>;
  /** URL of the full catalogue of voices. */
  ttsVoiceCatalogUrl: Scalars['String']['output'];
  /** URL of the list of languages that speech recognition supports. */
  sttLanguageCatalogUrl: Scalars['String']['output'];
  /** URL of the documentation of the lip-sync module. */
  lipsyncModuleDocsUrl: Scalars['String']['output'];
};

/** A 3D model of an avatar. */
export type AvatarModelDto = {
  __typename?: 'AvatarModelDto';
  /** The model's name in the catalogue. */
  id: Scalars['String']['output'];
  /** The value for `avatarGlb`. */
  filename: Scalars['String']['output'];
  /** The display name. */
  label: Scalars['String']['output'];
  /** FEMALE, MALE, or a value of the operator's own catalogue. */
  gender: Scalars['String']['output'];
};

/** A voice that the platform suggests. */
export type RecommendedTtsVoiceDto = {
  __typename?: 'RecommendedTtsVoiceDto';
  /** The value for `ttsVoice`. */
  name: Scalars['String']['output'];
  /** The language, e.g. `en-US`. */
  languageCode: Scalars['String']['output'];
  /** FEMALE or MALE. */
  gender: Scalars['String']['output'];
  /** The matching value for `voiceTier`. */
  tier: VoiceTier;
};

/** The kind of a change; only UPDATE is recorded. */
export type AuditActionEnum =
  | 'CREATE'
  | 'UPDATE'
  | 'DELETE';

/** One recorded change. */
export type AuditLogDto = {
  __typename?: 'AuditLogDto';
  /** The record's id; later records have higher ids. */
  id: Scalars['Int']['output'];
  /** Type of the changed object; always `Agent`. */
  auditableType: Scalars['String']['output'];
  /** The agent's id. */
  auditableId: Scalars['Float']['output'];
  /** Kind of the change; always UPDATE. */
  action: AuditActionEnum;
  /** The user who made the change. */
  userId?: Maybe<Scalars['Float']['output']>;
  /** The user's username at that time, or the full name if the user had no username. */
  username?: Maybe<Scalars['String']['output']>;
  /** Maps every changed field to {from, to}. */
  changes?: Maybe<Scalars['JSONObject']['output']>;
  /** Time of the change. */
  createdAt: Scalars['DateTime']['output'];
};

/** A prompt for one completion, without an agent or a session. */
export type GenerateTextInput = {
  /** The prompt: 1 to 4,000 characters, not blank. */
  prompt: Scalars['String']['input'];
  /** The first provider to try; the platform's default if omitted or not configured. Overrides of agents and tenants do not apply. */
  provider?: InputMaybe<LlmProviderType>;
  /**
   * A model of `provider` to use instead of its default model. The model must have a price. The field is ignored if `provider` is not given or
   * is HOSTED_SMALL_MODEL; fallback models ignore it, too.
   */
  modelId?: InputMaybe<Scalars['String']['input']>;
  /**
   * At most one image, `data:image/(png|jpeg|webp|gif);base64,…`. Models of CLOUD_HOSTED_MODELS that support images read it; all other models
   * ignore it.
   */
  images?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** A completion. */
export type GenerateTextResultDto = {
  __typename?: 'GenerateTextResultDto';
  /** The completion. */
  text: Scalars['String']['output'];
  /** The provider that served the request. After a fallback, this is not the requested provider. */
  providerId: Scalars['String']['output'];
  /** The model that served the request. */
  modelId: Scalars['String']['output'];
  /** The cost. */
  costUsd: Scalars['Float']['output'];
  /** Why the text ended; null if unknown. */
  finishReason?: Maybe<FinishReason>;
};

/** A running generation. */
export type StartTextGenerationResultDto = {
  __typename?: 'StartTextGenerationResultDto';
  /** The id for `textGenerationEvents`, valid for ten minutes. */
  requestId: Scalars['String']['output'];
};

/** A part of a generation, or its end. */
export type TextGenerationEventDto = {
  __typename?: 'TextGenerationEventDto';
  /** The `requestId` of `startTextGeneration`. */
  requestId: Scalars['String']['output'];
  /** Event id, increasing within a generation. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** Text to append; empty at the end. */
  text: Scalars['String']['output'];
  /** True for the last event. */
  done: Scalars['Boolean']['output'];
  /** The provider that served the generation; null before the last event, or if no provider served it. */
  providerId?: Maybe<Scalars['String']['output']>;
  /** The model that served the generation; null before the last event, or if no model served it. */
  modelId?: Maybe<Scalars['String']['output']>;
  /** Why the generation failed, in a text that is safe to show; null if it did not fail. */
  error?: Maybe<Scalars['String']['output']>;
  /** Why the text ended; null before the end, and if unknown. */
  finishReason?: Maybe<FinishReason>;
};

/** The provider and model to test. */
export type TestLlmProviderInput = {
  /** The provider. */
  provider: LlmProviderType;
  /** A model other than the provider's default. The model must have a price. Ignored by HOSTED_SMALL_MODEL. */
  modelId?: InputMaybe<Scalars['String']['input']>;
};

/** Result of a minimal call of a provider. */
export type TestLlmProviderResultDto = {
  __typename?: 'TestLlmProviderResultDto';
  /** Whether the model responded. */
  ok: Scalars['Boolean']['output'];
  /** The provider; null if it is not configured. */
  providerId?: Maybe<Scalars['String']['output']>;
  /** The requested model; null if the provider is not configured. */
  modelId?: Maybe<Scalars['String']['output']>;
  /** Milliseconds until the complete response; null without a response. */
  latencyMs?: Maybe<Scalars['Int']['output']>;
  /** The problem, e.g. credentials refused, unreachable, model unknown, timed out, rate-limited; null if the model answered. */
  error?: Maybe<Scalars['String']['output']>;
};

/** A single run of a workflow without a session. */
export type RunWorkflowTaskInput = {
  /** The workflow. */
  workflowId: Scalars['Int']['input'];
  /**
   * The input, `{message?, variables?, metadata?}`: `message` is a text of at most 10,000 characters, `variables` an object, and `metadata`
   * the value of `session.metadata` in templates.
   */
  input?: InputMaybe<Scalars['JSON']['input']>;
  /** Whether to run the draft, which must be valid, instead of the published version. */
  testDraft?: InputMaybe<Scalars['Boolean']['input']>;
};

/** The result of a single run: the response, and the trace of the nodes. */
export type RunWorkflowTaskResultDto = {
  __typename?: 'RunWorkflowTaskResultDto';
  /** The text of the response. */
  text: Scalars['String']['output'];
  /** The card, table or list of the response; null if there is none, or if it is invalid. */
  structuredContent?: Maybe<Scalars['JSON']['output']>;
  /** All variables at the end of the run. */
  variables: Scalars['JSON']['output'];
  /** The nodes that were run, in order. */
  trace: Array<WorkflowTraceStepDto>;
  /** The cost of the model calls. */
  costUsd: Scalars['Float']['output'];
};

/** One run of a node. */
export type WorkflowTraceStepDto = {
  __typename?: 'WorkflowTraceStepDto';
  /** The node's id in the definition. */
  nodeId: Scalars['String']['output'];
  /** The node's kind, e.g. `llm`. */
  kind: Scalars['String']['output'];
  /** Time at which the node began. */
  startedAt: Scalars['DateTime']['output'];
  /** Duration in ms; 0 while the node runs, or if the turn was interrupted before the node ended. */
  durationMs: Scalars['Int']['output'];
  /** The node's output. If a text, or other data as JSON, exceeds 4,000 characters, the output is a text with the first 4,000. */
  output?: Maybe<Scalars['JSON']['output']>;
  /** Why the node failed, or a warning about missing tools (`TOOLS_LEFT_OUT`), as `<code>: <sentence>`; null if there is neither. */
  error?: Maybe<Scalars['String']['output']>;
  /** Input tokens of the node's model calls. */
  tokensIn: Scalars['Int']['output'];
  /** Output tokens of the node's model calls. */
  tokensOut: Scalars['Int']['output'];
  /** The cost of the node's model calls. */
  costUsd: Scalars['Float']['output'];
};

/** The status of a workflow run. */
export type WorkflowRunStatus =
  /** The run is in progress, or its process has died and another process will continue it. */
  | 'RUNNING'
  /** The run waits for the next message, which continues it. */
  | 'WAITING'
  /** The run has ended; the next message starts the workflow from the beginning. */
  | 'ENDED'
  /** The run's turn failed, or was interrupted after a failure. */
  | 'FAILED'
  /** The run was cancelled, e.g. by an interrupt. */
  | 'INTERRUPTED';

/** A run of a workflow by one turn of a session. */
export type WorkflowRunDto = {
  __typename?: 'WorkflowRunDto';
  /** The run's id; later runs have higher ids. */
  id: Scalars['Int']['output'];
  /** The workflow, which may be deleted. */
  workflowId: Scalars['Int']['output'];
  /** The version that was run; null: the draft. */
  version?: Maybe<Scalars['Int']['output']>;
  /** The run's status. */
  status: WorkflowRunStatus;
  /** The code of the turn's failure; null if the turn did not fail. */
  failureCode?: Maybe<Scalars['String']['output']>;
  /** Input tokens of the run's model calls. */
  tokensIn: Scalars['Int']['output'];
  /** Output tokens of the run's model calls. */
  tokensOut: Scalars['Int']['output'];
  /** The cost of the run's model calls. */
  costUsd: Scalars['Float']['output'];
  /** The nodes that were run, in order. */
  trace: Array<WorkflowTraceStepDto>;
  /** Time at which the run began. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the run's last progress. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A plan that conversations follow: an editable draft, and published versions. */
export type WorkflowDto = {
  __typename?: 'WorkflowDto';
  /** The workflow's id. */
  id: Scalars['Int']['output'];
  /** The workflow's name: at most 200 characters, not necessarily unique. */
  name: Scalars['String']['output'];
  /** The workflow's purpose. */
  description?: Maybe<Scalars['String']['output']>;
  /** The editable definition, an object that need not be valid. Default for a new workflow: `{}`. */
  draft: Scalars['JSON']['output'];
  /** The definition that new sessions run; null until the workflow is published for the first time. */
  published?: Maybe<Scalars['JSON']['output']>;
  /** The version of the published definition. */
  publishedVersion?: Maybe<Scalars['Int']['output']>;
  /** Time at which the published definition was published. */
  publishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Time at which the workflow was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A published definition; it never changes. */
export type WorkflowVersionDto = {
  __typename?: 'WorkflowVersionDto';
  /** The number of the version, from 1 without gaps. */
  version: Scalars['Int']['output'];
  /** The definition. */
  definition: Scalars['JSON']['output'];
  /** Time at which the version was published. */
  publishedAt: Scalars['DateTime']['output'];
  /** The user who published the version. */
  publishedBy?: Maybe<Scalars['Int']['output']>;
};

/** A problem of a definition. */
export type WorkflowIssueDto = {
  __typename?: 'WorkflowIssueDto';
  /** The path of the problem, e.g. `nodes.greet.next`; empty: the definition as a whole. */
  path: Scalars['String']['output'];
  /** The problem; completes the sentence "<path> …". */
  message: Scalars['String']['output'];
};

/** A new workflow. */
export type CreateWorkflowInput = {
  /** The name: at most 200 characters, not blank. */
  name: Scalars['String']['input'];
  /** The purpose: at most 4,000 characters, not blank. */
  description?: InputMaybe<Scalars['String']['input']>;
  /**
   * The draft: a JSON object of at most 256 KB, 32 levels and 20,000 values, without NUL and unpaired surrogates. The draft need not be a
   * valid definition. Default: `{}`.
   */
  draft?: InputMaybe<Scalars['JSON']['input']>;
};

/**
 * Changes of a workflow. Omitted fields are unchanged. Null clears the description, but is refused for name and draft. Limits are those of
 * CreateWorkflowInput.
 */
export type UpdateWorkflowInput = {
  /** The name: at most 200 characters, not blank. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** The purpose: at most 4,000 characters, not blank. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** Replaces the draft. */
  draft?: InputMaybe<Scalars['JSON']['input']>;
};

/** A request for a model to write a workflow. */
export type AiGenerateWorkflowInput = {
  /** The purpose of the workflow; at most 4,000 characters, not blank. */
  prompt: Scalars['String']['input'];
};

/** A valid definition that a model wrote. It is not saved. */
export type AiGenerateWorkflowResultDto = {
  __typename?: 'AiGenerateWorkflowResultDto';
  /** The definition. */
  definition: Scalars['JSON']['output'];
  /** The model's summary of the workflow; may be empty. */
  summary: Scalars['String']['output'];
  /** The cost of the model calls, including calls that correct an invalid definition. */
  costUsd: Scalars['Float']['output'];
};

/** A request for a model to change a workflow. */
export type GenerateWorkflowDiffInput = {
  /** The workflow whose draft is changed. */
  workflowId: Scalars['Int']['input'];
  /** The instruction; at most 4,000 characters, not blank. */
  instruction: Scalars['String']['input'];
};

/** A valid definition that a model derived from the draft. It is not saved. */
export type GenerateWorkflowDiffResultDto = {
  __typename?: 'GenerateWorkflowDiffResultDto';
  /** The changed definition as a whole. */
  definition: Scalars['JSON']['output'];
  /** The change of the draft: a list of RFC 6902 operations. */
  patch: Scalars['JSON']['output'];
  /** The model's summary of the changes; may be empty. */
  summary: Scalars['String']['output'];
  /** The cost of the model calls, including calls that correct an invalid definition. */
  costUsd: Scalars['Float']['output'];
};

export type Query = {
  __typename?: 'Query';
  /**
   * The workflow runs of a session, one per turn, newest first; empty for an absent session. Runs are kept for `AGENT_WORKFLOW_RUN_DAYS`. By
   * default all runs are returned; `first` (at least 1) limits their number, and `after` is the id of the last run already read.
   */
  workflowRuns: Array<WorkflowRunDto>;
  /** An agent; null if it is absent, deleted or another tenant's. */
  agent?: Maybe<AgentDto>;
  /**
   * Agents of the tenant, ordered by id; all by default. `first` (at least 1) limits their number; `after` (at least 0) is the id of the last
   * agent already read.
   */
  agents: Array<AgentDto>;
  /** Number of the tenant's agents, without deleted ones. */
  agentCount: Scalars['Int']['output'];
  /** Suggestions for avatarGlb, ttsVoice, ttsLang and lipsyncLang. */
  agentConfigOptions: AgentConfigOptionsDto;
  /** Changes by updateAgent, newest first. Changes of a deleted agent stay readable. */
  agentAuditLogs: Array<AuditLogDto>;
  /** Generates one completion, metered. At the tenant's monthly cap, BAD_REQUEST (`SPEND_CAP_REACHED`) without a call of a provider. */
  generateText: GenerateTextResultDto;
  /** A workflow; null if it does not exist. */
  workflow?: Maybe<WorkflowDto>;
  /** The tenant's workflows, ordered by id. */
  workflows: Array<WorkflowDto>;
  /** The versions of a workflow, newest first. NOT_FOUND if the workflow does not exist. */
  workflowVersions: Array<WorkflowVersionDto>;
  /** The RFC 6902 operations that turn one version into another. NOT_FOUND for an absent workflow or version. */
  compareWorkflowVersions: Scalars['JSON']['output'];
  /**
   * The problems of a definition, at most 100. Missing knowledge bases, connectors, tools and actions are problems, too; tools of an
   * unreachable connector are not checked. An empty list means that the definition can be published.
   */
  validateWorkflow: Array<WorkflowIssueDto>;
  /** The JSON Schema of definitions, for editors. */
  workflowDefinitionSchema: Scalars['JSON']['output'];
};


export type QueryWorkflowRunsArgs = {
  sessionId: Scalars['Int']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryAgentArgs = {
  id: Scalars['ID']['input'];
};


export type QueryAgentsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryAgentAuditLogsArgs = {
  id: Scalars['ID']['input'];
};


export type QueryGenerateTextArgs = {
  input: GenerateTextInput;
};


export type QueryWorkflowArgs = {
  id: Scalars['Int']['input'];
};


export type QueryWorkflowVersionsArgs = {
  workflowId: Scalars['Int']['input'];
};


export type QueryCompareWorkflowVersionsArgs = {
  workflowId: Scalars['Int']['input'];
  from: Scalars['Int']['input'];
  to?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryValidateWorkflowArgs = {
  definition: Scalars['JSON']['input'];
};

export type Mutation = {
  __typename?: 'Mutation';
  /**
   * Runs a workflow from its start up to a response. The run is metered. Calls of tools and actions are real; with an `Idempotency-Key` they
   * are made only once. The run ends when the caller disconnects. If the caller's credential is revoked or the tenant is suspended, the run
   * ends before its next call. If nodes have run, `extensions.details` of an error contains `trace` and `costUsd`, as in a result. Errors:
   * - BAD_REQUEST: WORKFLOW_NOT_PUBLISHED
   * - BAD_REQUEST: WORKFLOW_FAILED or WORKFLOW_LIMIT, with the name of the failed node
   * - BAD_REQUEST: SPEND_CAP_REACHED
   * - UNAVAILABLE: TURN_TIMEOUT after `AGENT_WORKFLOW_TURN_MS`
   */
  runWorkflowTask: RunWorkflowTaskResultDto;
  /** Creates an agent. Does not start a session. */
  createAgent: AgentDto;
  /** Changes an agent. Running sessions use the changes from their next turn. */
  updateAgent: AgentDto;
  /** Deletes an agent. Its sessions stay readable, and running ones continue. */
  deleteAgent: Scalars['Boolean']['output'];
  /** Creates a workflow. BAD_REQUEST for an invalid field, and (`LIMIT_REACHED`) if the tenant has 200 workflows. */
  createWorkflow: WorkflowDto;
  /** Changes name, description or draft. The published version is unchanged. */
  updateWorkflow: WorkflowDto;
  /**
   * Publishes the draft as the next version, which later sessions run; running sessions keep their version. Nothing changes if the draft
   * equals the published version. BAD_REQUEST for an invalid draft: the error lists the problems that `validateWorkflow` finds, with paths
   * that begin with `draft`.
   */
  publishWorkflow: WorkflowDto;
  /** Copies a version into the draft. The published version is unchanged. NOT_FOUND for an absent workflow or version. */
  restoreWorkflowVersion: WorkflowDto;
  /** Deletes a workflow; returns true. CONFLICT (`WORKFLOW_ATTACHED`) if agents use the workflow; the error lists these agents. */
  deleteWorkflow: Scalars['Boolean']['output'];
  /**
   * Generates a definition with the tenant's model, metered. Nothing is saved. BAD_REQUEST: WORKFLOW_NOT_GENERATED if the model wrote no valid
   * definition after two corrections, or if no language model is configured; SPEND_CAP_REACHED at the tenant's monthly cap.
   */
  aiGenerateWorkflow: AiGenerateWorkflowResultDto;
  /** Generates a changed draft of a workflow with the tenant's model, metered. Nothing is saved. Has the same errors as `aiGenerateWorkflow`. */
  generateWorkflowDiff: GenerateWorkflowDiffResultDto;
  /**
   * Starts a completion and returns immediately; refused at the monthly cap like `generateText`. The completion continues even if it has no
   * subscribers.
   */
  startTextGeneration: StartTextGenerationResultDto;
  /** Requests a few words from a provider, metered. Does not use fallbacks or the circuit breaker. */
  testLlmProvider: TestLlmProviderResultDto;
};


export type MutationRunWorkflowTaskArgs = {
  input: RunWorkflowTaskInput;
};


export type MutationCreateAgentArgs = {
  input: CreateAgentInput;
};


export type MutationUpdateAgentArgs = {
  id: Scalars['ID']['input'];
  input: UpdateAgentInput;
};


export type MutationDeleteAgentArgs = {
  id: Scalars['ID']['input'];
};


export type MutationCreateWorkflowArgs = {
  input: CreateWorkflowInput;
};


export type MutationUpdateWorkflowArgs = {
  id: Scalars['Int']['input'];
  input: UpdateWorkflowInput;
};


export type MutationPublishWorkflowArgs = {
  id: Scalars['Int']['input'];
};


export type MutationRestoreWorkflowVersionArgs = {
  id: Scalars['Int']['input'];
  version: Scalars['Int']['input'];
};


export type MutationDeleteWorkflowArgs = {
  id: Scalars['Int']['input'];
};


export type MutationAiGenerateWorkflowArgs = {
  input: AiGenerateWorkflowInput;
};


export type MutationGenerateWorkflowDiffArgs = {
  input: GenerateWorkflowDiffInput;
};


export type MutationStartTextGenerationArgs = {
  input: GenerateTextInput;
};


export type MutationTestLlmProviderArgs = {
  input: TestLlmProviderInput;
};

export type Subscription = {
  __typename?: 'Subscription';
  /**
   * Events of one generation. With `after: "0"` all events are replayed, however late the client subscribes; with an `eventId`, the events
   * after it. Without `after`, only new events are sent, so a client that subscribes after the last event (`done`) receives nothing and stays
   * subscribed. FORBIDDEN for a `requestId` that is unknown, another tenant's, or older than ten minutes. The subscription completes after the
   * event whose `done` is true.
   */
  textGenerationEvents: TextGenerationEventDto;
};


export type SubscriptionTextGenerationEventsArgs = {
  requestId: Scalars['String']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
};
