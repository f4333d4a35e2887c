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
  /** A moment, as ISO 8601 in UTC with milliseconds. */
  DateTime: { input: Date; output: Date; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
  /** A JSON object. */
  JSONObject: { input: Record<string, unknown>; output: object; }
  _FieldSet: { input: string; output: string; }
};

/** An agent's use case. Its labels apply to evaluations of an agent that has none of its own. */
export type AgentUseCase =
  | 'CUSTOM'
  | 'EDUCATION'
  | 'INTERVIEW'
  | 'ONBOARDING'
  | 'SALES'
  | 'SUPPORT';

/** Sessions start with ACTIVE agents only. */
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
  /** A vendor's video avatar, named by `avatarBackendConfig`. */
  | 'HOSTED_API'
  /** A 3D model (`avatarGlb`) that the client draws. */
  | 'CLIENT_3D';

/** The provider that serves a model. */
export type LlmProviderType =
  /** A catalogue of hosted models; the only one that takes a model of choice (`llmModelOverride`). */
  | 'CLOUD_HOSTED_MODELS'
  /** The platform's own endpoint with one fixed model. */
  | 'HOSTED_SMALL_MODEL'
  /** A model vendor's own API. */
  | 'DIRECT_MODEL_API';

/** Reason why a model's text ended. */
export type FinishReason =
  /** The model completed its text. */
  | 'STOP'
  /** The model's limit of tokens was reached: the text is cut. */
  | 'LENGTH'
  /** The model or a filter of its provider cut the text, or the text is its refusal. */
  | 'CONTENT_FILTER';

/** A persona that people talk to. */
export type AgentDto = {
  __typename?: 'AgentDto';
  /** The agent's id; positive, like every id here. */
  id: Scalars['Int']['output'];
  /** At most 200 characters; need not be unique. */
  name: Scalars['String']['output'];
  /** The system prompt that defines it. */
  personaPrompt: Scalars['String']['output'];
  /** Free-text role label. */
  position: Scalars['String']['output'];
  /** Free-text subject label. */
  subject?: Maybe<Scalars['String']['output']>;
  /** The agent's first message; not sent while a workflow is attached. */
  openingGreeting?: Maybe<Scalars['String']['output']>;
  /** INTERVIEW unless chosen otherwise. */
  useCase: AgentUseCase;
  /** ACTIVE from the start. */
  status: AgentStatus;
  /** The attached workflow; it must be published to run. */
  workflowId?: Maybe<Scalars['Int']['output']>;
  /** STANDARD unless chosen otherwise. */
  voiceTier: VoiceTier;
  /** Name of the voice that speaks; free text. */
  ttsVoice?: Maybe<Scalars['String']['output']>;
  /** Language of speech, e.g. `en-US`. Null: the tenant's default. */
  ttsLang?: Maybe<Scalars['String']['output']>;
  /** 1 is normal speed. */
  speakingRate?: Maybe<Scalars['Float']['output']>;
  /** Sensitivity of voice-activity detection, 0 to 1. */
  vadThreshold: Scalars['Float']['output'];
  /** File name of a 3D model. */
  avatarGlb?: Maybe<Scalars['String']['output']>;
  /** Null: the tenant's default. */
  avatarGender?: Maybe<AvatarGenderCode>;
  /** Language by which the lips move, e.g. `en`. */
  lipsyncLang?: Maybe<Scalars['String']['output']>;
  /** A Liquid template that replaces the default instructions of the evaluation. */
  evaluationPromptTemplate?: Maybe<Scalars['String']['output']>;
  /** Labels that the recommendation is one of. */
  evaluationRecommendationLabels?: Maybe<Array<Scalars['String']['output']>>;
  /** The URL that evaluations are posted to (`externalSyncDeliveries`); null if there is none. */
  externalSyncUrl?: Maybe<Scalars['String']['output']>;
  /** Name of the secret that signs those posts, never the secret itself. Null: nothing is posted until there is one. */
  externalSyncSecretRef?: Maybe<Scalars['String']['output']>;
  /** Owner in the system that is synced to. */
  externalSyncOwnerId?: Maybe<Scalars['Int']['output']>;
  /** Target field to a JSONPath of the payload; what is posted then is the object of these fields. Null: the payload. */
  externalSyncSchemaConfig?: Maybe<Scalars['JSON']['output']>;
  /** Null: the tenant's provider, else the platform's default. */
  llmProviderOverride?: Maybe<LlmProviderType>;
  /** Used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: Maybe<Scalars['String']['output']>;
  /** CLIENT_3D unless chosen otherwise. */
  avatarBackend: AvatarBackend;
  /** {vendorAvatarId, vendorAvatarModel}; always there with HOSTED_API. */
  avatarBackendConfig?: Maybe<Scalars['JSON']['output']>;
  /** Knowledge bases that replies may use; null if there are none. Deleted bases are skipped. */
  knowledgeBaseIds?: Maybe<Array<Scalars['Int']['output']>>;
  /** The tools and actions that its model may call in a turn. One that was deleted since is passed over. */
  tools: Array<AgentToolDto>;
  /** When the agent was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A tool that a model may call: a connector's tool or a custom action. */
export type AgentToolDto = {
  __typename?: 'AgentToolDto';
  /** The connector; null for an action. */
  connectorId?: Maybe<Scalars['Int']['output']>;
  /** The tool's name, as the connector's server has it; null for an action. */
  tool?: Maybe<Scalars['String']['output']>;
  /** The custom action; null for a tool. */
  actionId?: Maybe<Scalars['Int']['output']>;
};

/** Either `connectorId` and `tool`, or `actionId`. */
export type AgentToolInput = {
  /** The connector. */
  connectorId?: InputMaybe<Scalars['Int']['input']>;
  /** The tool's name, as the connector's server has it; at most 200 characters. */
  tool?: InputMaybe<Scalars['String']['input']>;
  /** The custom action. */
  actionId?: InputMaybe<Scalars['Int']['input']>;
};

/** Lengths count Unicode code points. Texts must not be blank, nor hold NUL or half a surrogate pair. */
export type CreateAgentInput = {
  /** At most 200 characters; not blank. */
  name: Scalars['String']['input'];
  /** The system prompt that defines it; at most 20,000 characters, not blank. */
  personaPrompt: Scalars['String']['input'];
  /** Free-text role label; at most 200 characters, not blank. */
  position: Scalars['String']['input'];
  /** Free-text subject label; at most 200 characters. */
  subject?: InputMaybe<Scalars['String']['input']>;
  /** The agent's first message; at most 4,000 characters. Not sent while a workflow is attached. */
  openingGreeting?: InputMaybe<Scalars['String']['input']>;
  /** Default INTERVIEW. */
  useCase?: InputMaybe<AgentUseCase>;
  /** Default STANDARD. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** Voice name, at most 200 characters; suggestions come from `agentConfigOptions`. */
  ttsVoice?: InputMaybe<Scalars['String']['input']>;
  /** Language of speech, at most 100 characters. */
  ttsLang?: InputMaybe<Scalars['String']['input']>;
  /** 1 is normal speed; 0.25 to 4. */
  speakingRate?: InputMaybe<Scalars['Float']['input']>;
  /** Sensitivity of voice-activity detection, 0 to 1; default 0.5. */
  vadThreshold?: InputMaybe<Scalars['Float']['input']>;
  /** File name of a 3D model, at most 200 characters; suggestions come from `agentConfigOptions`. */
  avatarGlb?: InputMaybe<Scalars['String']['input']>;
  /** Default: the tenant's. */
  avatarGender?: InputMaybe<AvatarGenderCode>;
  /** Language of lip-sync, at most 100 characters. */
  lipsyncLang?: InputMaybe<Scalars['String']['input']>;
  /** A Liquid template over `agent`, `transcript` and `labels` that replaces the default instructions of the evaluation; at most 20,000 characters. */
  evaluationPromptTemplate?: InputMaybe<Scalars['String']['input']>;
  /** Labels that the recommendation is one of, best first: at most 50 different ones of at most 100 characters; an empty list: no label. */
  evaluationRecommendationLabels?: InputMaybe<Array<Scalars['String']['input']>>;
  /**
   * The URL that evaluations are posted to as webhooks (Standard Webhooks), with retries for 24 hours until one is accepted: http or
   * https, without user name and password, at most 2,048 characters, with a port and a host that the platform may call. Redirects are
   * not followed.
   */
  externalSyncUrl?: InputMaybe<Scalars['String']['input']>;
  /** Name of the secret that signs those posts; it must have been provisioned for the tenant. Without it nothing is posted. */
  externalSyncSecretRef?: InputMaybe<Scalars['String']['input']>;
  /** Owner in the system that is synced to; above 0. */
  externalSyncOwnerId?: InputMaybe<Scalars['Int']['input']>;
  /**
   * An object that maps target field to a JSONPath (RFC 9535) of the payload: at most 100 fields, keys and values of at most 500 characters.
   * A path of names and indexes alone gives its value or null, any other path the list of its values.
   */
  externalSyncSchemaConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** Default: the tenant's provider, else the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** Used only with CLOUD_HOSTED_MODELS; at most 200 characters. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
  /** Default CLIENT_3D. */
  avatarBackend?: InputMaybe<AvatarBackend>;
  /** {vendorAvatarId, vendorAvatarModel}, each at most 200 characters; required with HOSTED_API. */
  avatarBackendConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** At most 5 different knowledge bases of the tenant that replies may use; NOT_FOUND if one does not exist. */
  knowledgeBaseIds?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** At most 20 different tools and actions of the tenant that the model may call; NOT_FOUND if one does not exist. */
  tools?: InputMaybe<Array<AgentToolInput>>;
};

/**
 * Omitted fields are unchanged. Null clears optional fields; it is refused for name, personaPrompt, position, status, useCase, voiceTier,
 * vadThreshold and avatarBackend. Limits are those of CreateAgentInput.
 */
export type UpdateAgentInput = {
  /** At most 200 characters; not blank. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** The system prompt that defines it; at most 20,000 characters, not blank. */
  personaPrompt?: InputMaybe<Scalars['String']['input']>;
  /** Free-text role label; at most 200 characters, not blank. */
  position?: InputMaybe<Scalars['String']['input']>;
  /** INACTIVE lets no new session start. */
  status?: InputMaybe<AgentStatus>;
  /** A workflow of the tenant, published or not; null detaches. */
  workflowId?: InputMaybe<Scalars['Int']['input']>;
  /** Free-text subject label; at most 200 characters. */
  subject?: InputMaybe<Scalars['String']['input']>;
  /** The agent's first message; at most 4,000 characters. Not sent while a workflow is attached. */
  openingGreeting?: InputMaybe<Scalars['String']['input']>;
  /** Null is refused. */
  useCase?: InputMaybe<AgentUseCase>;
  /** Null is refused. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** Voice name, at most 200 characters; suggestions come from `agentConfigOptions`. */
  ttsVoice?: InputMaybe<Scalars['String']['input']>;
  /** Language of speech, at most 100 characters. */
  ttsLang?: InputMaybe<Scalars['String']['input']>;
  /** 1 is normal speed; 0.25 to 4. */
  speakingRate?: InputMaybe<Scalars['Float']['input']>;
  /** Sensitivity of voice-activity detection, 0 to 1. */
  vadThreshold?: InputMaybe<Scalars['Float']['input']>;
  /** File name of a 3D model, at most 200 characters; suggestions come from `agentConfigOptions`. */
  avatarGlb?: InputMaybe<Scalars['String']['input']>;
  /** Null: the tenant's. */
  avatarGender?: InputMaybe<AvatarGenderCode>;
  /** Language of lip-sync, at most 100 characters. */
  lipsyncLang?: InputMaybe<Scalars['String']['input']>;
  /** A Liquid template over `agent`, `transcript` and `labels` that replaces the default instructions of the evaluation; at most 20,000 characters. */
  evaluationPromptTemplate?: InputMaybe<Scalars['String']['input']>;
  /** Labels that the recommendation is one of, best first: at most 50 different ones of at most 100 characters; an empty list: no label. */
  evaluationRecommendationLabels?: InputMaybe<Array<Scalars['String']['input']>>;
  /**
   * The URL that evaluations are posted to as webhooks (Standard Webhooks), with retries for 24 hours until one is accepted: http or
   * https, without user name and password, at most 2,048 characters, with a port and a host that the platform may call. Redirects are
   * not followed.
   */
  externalSyncUrl?: InputMaybe<Scalars['String']['input']>;
  /** Name of the secret that signs those posts; it must have been provisioned for the tenant. Without it nothing is posted. */
  externalSyncSecretRef?: InputMaybe<Scalars['String']['input']>;
  /** Owner in the system that is synced to; above 0. */
  externalSyncOwnerId?: InputMaybe<Scalars['Int']['input']>;
  /**
   * An object that maps target field to a JSONPath (RFC 9535) of the payload: at most 100 fields, keys and values of at most 500 characters.
   * A path of names and indexes alone gives its value or null, any other path the list of its values.
   */
  externalSyncSchemaConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** Null: the tenant's provider, else the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** Used only with CLOUD_HOSTED_MODELS; at most 200 characters. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
  /** Null is refused. */
  avatarBackend?: InputMaybe<AvatarBackend>;
  /** {vendorAvatarId, vendorAvatarModel}, each at most 200 characters; required with HOSTED_API. */
  avatarBackendConfig?: InputMaybe<Scalars['JSON']['input']>;
  /** At most 5 different knowledge bases of the tenant; NOT_FOUND if an added one does not exist. Null or empty: none. */
  knowledgeBaseIds?: InputMaybe<Array<Scalars['Int']['input']>>;
  /** At most 20 different tools and actions of the tenant; NOT_FOUND if an added one does not exist. Null or empty: none. */
  tools?: InputMaybe<Array<AgentToolInput>>;
};

/** Suggested values for an agent's free-text fields. */
export type AgentConfigOptionsDto = {
  __typename?: 'AgentConfigOptionsDto';
  /** 3D models that the voice service has. While the service is unavailable, the last known list. */
  avatarModels: Array<AvatarModelDto>;
  /** Voices known to work; others may too. */
  recommendedTtsVoices: Array<RecommendedTtsVoiceDto>;
  /** The full catalogue of voices. */
  ttsVoiceCatalogUrl: Scalars['String']['output'];
  /** The languages that speech recognition knows. */
  sttLanguageCatalogUrl: Scalars['String']['output'];
  /** Documentation of the lip-sync module. */
  lipsyncModuleDocsUrl: Scalars['String']['output'];
};

/** A 3D model of an avatar. */
export type AvatarModelDto = {
  __typename?: 'AvatarModelDto';
  /** Its name in the catalogue. */
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

/** The action; only UPDATE is recorded. */
export type AuditActionEnum =
  | 'CREATE'
  | 'UPDATE'
  | 'DELETE';

/** One recorded change. */
export type AuditLogDto = {
  __typename?: 'AuditLogDto';
  /** The record's id; later ones are higher. */
  id: Scalars['Int']['output'];
  /** Always Agent. */
  auditableType: Scalars['String']['output'];
  /** The agent's id. */
  auditableId: Scalars['Float']['output'];
  /** Always UPDATE. */
  action: AuditActionEnum;
  /** The user who made the change. */
  userId?: Maybe<Scalars['Float']['output']>;
  /** The user's username at that time, else the full name. */
  username?: Maybe<Scalars['String']['output']>;
  /** Field to {from, to}, changed fields only. */
  changes?: Maybe<Scalars['JSONObject']['output']>;
  /** When it was done. */
  createdAt: Scalars['DateTime']['output'];
};

/** A prompt for one completion, without an agent or a session. */
export type GenerateTextInput = {
  /** 1 to 4,000 characters, not blank. */
  prompt: Scalars['String']['input'];
  /** The first provider to try; the platform's default if omitted or not configured. Overrides of agents and tenants do not apply. */
  provider?: InputMaybe<LlmProviderType>;
  /** Replaces the model of `provider`; it must have a price. Ignored by HOSTED_SMALL_MODEL, without `provider`, and by fallbacks. */
  modelId?: InputMaybe<Scalars['String']['input']>;
  /** At most one `data:image/(png|jpeg|webp|gif);base64,…`. Read by models of CLOUD_HOSTED_MODELS that see images, ignored by others. */
  images?: InputMaybe<Array<Scalars['String']['input']>>;
};

/** A completion. */
export type GenerateTextResultDto = {
  __typename?: 'GenerateTextResultDto';
  /** The completion. */
  text: Scalars['String']['output'];
  /** The provider that served; after a fallback, another one than requested. */
  providerId: Scalars['String']['output'];
  /** The model that served it. */
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
  /** Increases within a generation. Pass the last one as `after` to continue from it. */
  eventId: Scalars['String']['output'];
  /** Text to append; empty at the end. */
  text: Scalars['String']['output'];
  /** True for the last event. */
  done: Scalars['Boolean']['output'];
  /** The provider that served; null before the end, and if none did. */
  providerId?: Maybe<Scalars['String']['output']>;
  /** The model that served; null before the end, and if none did. */
  modelId?: Maybe<Scalars['String']['output']>;
  /** Why it failed, safe to show; null otherwise. */
  error?: Maybe<Scalars['String']['output']>;
  /** Why the text ended; null before the end, and if unknown. */
  finishReason?: Maybe<FinishReason>;
};

/** The provider to try. */
export type TestLlmProviderInput = {
  /** The provider. */
  provider: LlmProviderType;
  /** A model other than its default; it must have a price. Ignored by HOSTED_SMALL_MODEL. */
  modelId?: InputMaybe<Scalars['String']['input']>;
};

/** Result of a minimal call of a provider. */
export type TestLlmProviderResultDto = {
  __typename?: 'TestLlmProviderResultDto';
  /** Whether it answered. */
  ok: Scalars['Boolean']['output'];
  /** The provider; null if it is not configured. */
  providerId?: Maybe<Scalars['String']['output']>;
  /** The model that was asked; null where the provider is not configured. */
  modelId?: Maybe<Scalars['String']['output']>;
  /** Milliseconds to the whole answer; null without one. */
  latencyMs?: Maybe<Scalars['Int']['output']>;
  /** The problem, e.g. credentials refused, unreachable, model unknown, timed out, rate-limited; null if the model answered. */
  error?: Maybe<Scalars['String']['output']>;
};

/** One pass of a workflow without a session. */
export type RunWorkflowTaskInput = {
  /** The workflow. */
  workflowId: Scalars['Int']['input'];
  /** `{message?, variables?, metadata?}`: a text of at most 10,000 characters, an object, and what templates see as `session.metadata`. */
  input?: InputMaybe<Scalars['JSON']['input']>;
  /** Runs the draft, which must be valid. Default: the published version. */
  testDraft?: InputMaybe<Scalars['Boolean']['input']>;
};

/** The result of a single run: its response, and the trace that led to it. */
export type RunWorkflowTaskResultDto = {
  __typename?: 'RunWorkflowTaskResultDto';
  /** The text of the response. */
  text: Scalars['String']['output'];
  /** The card, table or list of the response; null if it has none, or none in the vocabulary. */
  structuredContent?: Maybe<Scalars['JSON']['output']>;
  /** All variables at the end. */
  variables: Scalars['JSON']['output'];
  /** The nodes that were run, in order. */
  trace: Array<WorkflowTraceStepDto>;
  /** The cost of its models. */
  costUsd: Scalars['Float']['output'];
};

/** A node that was run. */
export type WorkflowTraceStepDto = {
  __typename?: 'WorkflowTraceStepDto';
  /** Its id in the definition. */
  nodeId: Scalars['String']['output'];
  /** Its kind, e.g. `llm`. */
  kind: Scalars['String']['output'];
  /** When it began. */
  startedAt: Scalars['DateTime']['output'];
  /** Duration in ms; 0 while it runs, and if the turn was cut off in it. */
  durationMs: Scalars['Int']['output'];
  /** The node's output; if a text or the JSON of other data exceeds 4,000 characters, its beginning. */
  output?: Maybe<Scalars['JSON']['output']>;
  /** Why it failed, or a warning about what it lacked (`TOOLS_LEFT_OUT`), as `<code>: <sentence>`; null if neither. */
  error?: Maybe<Scalars['String']['output']>;
  /** Input tokens of its models. */
  tokensIn: Scalars['Int']['output'];
  /** Output tokens of its models. */
  tokensOut: Scalars['Int']['output'];
  /** The cost of its models. */
  costUsd: Scalars['Float']['output'];
};

/** The status of a workflow run. */
export type WorkflowRunStatus =
  /** It is running, or its process has died and another one will continue. */
  | 'RUNNING'
  /** It waits for the next message, which continues it. */
  | 'WAITING'
  /** It has ended; the next message starts the workflow anew. */
  | 'ENDED'
  /** Its turn failed, or was cut off after a failure. */
  | 'FAILED'
  /** It was cut off, e.g. by an interrupt. */
  | 'INTERRUPTED';

/** A turn of a session that has run a workflow. */
export type WorkflowRunDto = {
  __typename?: 'WorkflowRunDto';
  /** The run's id; a later one's is higher. */
  id: Scalars['Int']['output'];
  /** The workflow, which may be deleted. */
  workflowId: Scalars['Int']['output'];
  /** The version that was run; null: the draft. */
  version?: Maybe<Scalars['Int']['output']>;
  /** Its status. */
  status: WorkflowRunStatus;
  /** The code of the turn's failure; null if it did not fail. */
  failureCode?: Maybe<Scalars['String']['output']>;
  /** Input tokens of its models. */
  tokensIn: Scalars['Int']['output'];
  /** Output tokens of its models. */
  tokensOut: Scalars['Int']['output'];
  /** The cost of its models. */
  costUsd: Scalars['Float']['output'];
  /** The nodes that were run, in order. */
  trace: Array<WorkflowTraceStepDto>;
  /** When it began. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of its last progress. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A conversation that follows a plan: a draft that is edited, and versions that were published. */
export type WorkflowDto = {
  __typename?: 'WorkflowDto';
  /** The workflow's id. */
  id: Scalars['Int']['output'];
  /** At most 200 characters; need not be unique. */
  name: Scalars['String']['output'];
  /** Its purpose. */
  description?: Maybe<Scalars['String']['output']>;
  /** The definition that is edited; an object that need not be valid. A new workflow's is `{}` unless one is given. */
  draft: Scalars['JSON']['output'];
  /** The definition that sessions run which start now; null until it is published for the first time. */
  published?: Maybe<Scalars['JSON']['output']>;
  /** Its version. */
  publishedVersion?: Maybe<Scalars['Int']['output']>;
  /** When that was published. */
  publishedAt?: Maybe<Scalars['DateTime']['output']>;
  /** When the workflow was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A published definition; it never changes. */
export type WorkflowVersionDto = {
  __typename?: 'WorkflowVersionDto';
  /** 1 for the first, without gaps. */
  version: Scalars['Int']['output'];
  /** The definition. */
  definition: Scalars['JSON']['output'];
  /** When it was published. */
  publishedAt: Scalars['DateTime']['output'];
  /** The user who published it. */
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
  /** At most 200 characters; not blank. */
  name: Scalars['String']['input'];
  /** At most 4,000 characters; not blank. */
  description?: InputMaybe<Scalars['String']['input']>;
  /**
   * A JSON object of at most 256 KB, 32 levels and 20,000 values, without NUL and halves of surrogate pairs; it need not be a valid definition.
   * Default: `{}`.
   */
  draft?: InputMaybe<Scalars['JSON']['input']>;
};

/** Omitted fields are unchanged. Null clears the description; it is refused for name and draft. Limits are those of CreateWorkflowInput. */
export type UpdateWorkflowInput = {
  /** At most 200 characters; not blank. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** At most 4,000 characters; not blank. */
  description?: InputMaybe<Scalars['String']['input']>;
  /** Replaces the draft. */
  draft?: InputMaybe<Scalars['JSON']['input']>;
};

/** A request for a model to write a workflow. */
export type AiGenerateWorkflowInput = {
  /** The purpose of the workflow; at most 4,000 characters, not blank. */
  prompt: Scalars['String']['input'];
};

/** A definition that a model wrote; it is valid, and not saved. */
export type AiGenerateWorkflowResultDto = {
  __typename?: 'AiGenerateWorkflowResultDto';
  /** The definition. */
  definition: Scalars['JSON']['output'];
  /** The model's summary of the workflow; may be empty. */
  summary: Scalars['String']['output'];
  /** The cost, corrections included. */
  costUsd: Scalars['Float']['output'];
};

/** A request for a model to change a workflow. */
export type GenerateWorkflowDiffInput = {
  /** The workflow whose draft is changed. */
  workflowId: Scalars['Int']['input'];
  /** The instruction; at most 4,000 characters, not blank. */
  instruction: Scalars['String']['input'];
};

/** A draft as a model changed it; it is valid, and not saved. */
export type GenerateWorkflowDiffResultDto = {
  __typename?: 'GenerateWorkflowDiffResultDto';
  /** The changed definition as a whole. */
  definition: Scalars['JSON']['output'];
  /** The change of the draft: a list of RFC 6902 operations. */
  patch: Scalars['JSON']['output'];
  /** The model's summary of the changes; may be empty. */
  summary: Scalars['String']['output'];
  /** The cost, corrections included. */
  costUsd: Scalars['Float']['output'];
};

export type Query = {
  __typename?: 'Query';
  /**
   * Runs of a session's turns, newest first, kept for `AGENT_WORKFLOW_RUN_DAYS`; empty for an absent session. All by default; `first` (at
   * least 1) limits their number, `after` is the id of the last one already read.
   */
  workflowRuns: Array<WorkflowRunDto>;
  /** An agent; null if it is absent, deleted or another tenant's. */
  agent?: Maybe<AgentDto>;
  /**
   * Agents of the tenant by id; all by default. `first` (at least 1) limits their number; `after` (at least 0) is the id of the last one
   * already read.
   */
  agents: Array<AgentDto>;
  /** Number of the tenant's agents, without deleted ones. */
  agentCount: Scalars['Int']['output'];
  /** Suggestions for avatarGlb, ttsVoice, ttsLang and lipsyncLang. */
  agentConfigOptions: AgentConfigOptionsDto;
  /** Changes by updateAgent, newest first. Those of a deleted agent stay readable. */
  agentAuditLogs: Array<AuditLogDto>;
  /** Generates one completion, metered. BAD_REQUEST, SPEND_CAP_REACHED at the tenant's monthly cap, before a provider is called. */
  generateText: GenerateTextResultDto;
  /** A workflow; null if it does not exist. */
  workflow?: Maybe<WorkflowDto>;
  /** The tenant's workflows by id. */
  workflows: Array<WorkflowDto>;
  /** The versions of a workflow, newest first. NOT_FOUND for an absent one. */
  workflowVersions: Array<WorkflowVersionDto>;
  /** The RFC 6902 operations that make one version of another. NOT_FOUND for an absent workflow or version. */
  compareWorkflowVersions: Scalars['JSON']['output'];
  /**
   * Every problem of a definition, at most 100, knowledge bases, connectors, tools and actions included that it names and that are not there;
   * empty: it can be published. Tools of a connector that cannot be reached are not looked for.
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
   * Runs a workflow from its start up to a response, metered; calls of tools and actions are made, once under an `Idempotency-Key`. BAD_REQUEST:
   * WORKFLOW_NOT_PUBLISHED, WORKFLOW_FAILED and WORKFLOW_LIMIT where a node fails, which is named, and SPEND_CAP_REACHED. UNAVAILABLE:
   * TURN_TIMEOUT after `AGENT_WORKFLOW_TURN_MS`. Where nodes have run, `extensions.details` has their `trace` and `costUsd` as the answer has.
   * Ends when the caller leaves, and before the next call once their credential is revoked or the tenant suspended.
   */
  runWorkflowTask: RunWorkflowTaskResultDto;
  /** Makes an agent; starts nothing. */
  createAgent: AgentDto;
  /** Changes an agent; a session that runs takes it over with its next turn. */
  updateAgent: AgentDto;
  /** Deletes an agent. Its sessions stay readable, and running ones continue. */
  deleteAgent: Scalars['Boolean']['output'];
  /** Makes a workflow. BAD_REQUEST for a bad field, and (`LIMIT_REACHED`) where the tenant has 200. */
  createWorkflow: WorkflowDto;
  /** Changes name, description or draft. The published version is unchanged. */
  updateWorkflow: WorkflowDto;
  /**
   * Publishes the draft as the next version, which later sessions run; running sessions keep theirs. Nothing changes if the draft equals the
   * published version. BAD_REQUEST with every problem of the draft, like `validateWorkflow`, with paths that begin with `draft`.
   */
  publishWorkflow: WorkflowDto;
  /** Copies a version into the draft. The published version is unchanged. NOT_FOUND for an absent workflow or version. */
  restoreWorkflowVersion: WorkflowDto;
  /** Deletes a workflow; returns true. CONFLICT (`WORKFLOW_ATTACHED`) with the agents that it is attached to. */
  deleteWorkflow: Scalars['Boolean']['output'];
  /**
   * Generates a definition with the tenant's model, metered. Nothing is saved. BAD_REQUEST, WORKFLOW_NOT_GENERATED if the model wrote no
   * valid definition after two corrections, or without a language model; SPEND_CAP_REACHED at the tenant's monthly cap.
   */
  aiGenerateWorkflow: AiGenerateWorkflowResultDto;
  /** Changes a workflow's draft with the tenant's model, metered. Nothing is saved. Refused like `aiGenerateWorkflow`. */
  generateWorkflowDiff: GenerateWorkflowDiffResultDto;
  /** Starts a completion and returns at once; refused at the spending cap like `generateText`. The completion continues without subscribers. */
  startTextGeneration: StartTextGenerationResultDto;
  /** Requests a few words from a provider, metered, without fallbacks and circuit breaker. */
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
   * Events of one generation. With `after: "0"` all of them are replayed, however late the client subscribes; with an event's `eventId`,
   * those after it. Without `after`, only new events are sent, so a client that subscribes after the last event (`done`) gets none and stays
   * subscribed. FORBIDDEN for a `requestId` that the tenant did not start, or that is older than ten minutes. Completes after the event that
   * is `done`.
   */
  textGenerationEvents: TextGenerationEventDto;
};


export type SubscriptionTextGenerationEventsArgs = {
  requestId: Scalars['String']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
};
