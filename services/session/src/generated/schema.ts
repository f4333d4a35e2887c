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

/** State of a conversation; ENDED and EXPIRED are final. */
export type SessionStatus =
  /** The session is being started; `startSession` returns when it is ACTIVE. */
  | 'PENDING'
  /** The session accepts messages. */
  | 'ACTIVE'
  /** The session was ended by `endSession`, or because its tenant was deleted. */
  | 'ENDED'
  /** The session ended by itself, because it had no event for too long (by default 24 hours), or was too old (30 days). */
  | 'EXPIRED';

/** Author of a message. */
export type MessageRole =
  /** The person. */
  | 'USER'
  /** The agent, including its greeting. */
  | 'MODEL';

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
};

/** One conversation. */
export type SessionDto = {
  __typename?: 'SessionDto';
  /** The session's id. */
  id: Scalars['Int']['output'];
  /** Id of the session's agent. */
  agentId: Scalars['Float']['output'];
  /** The session's agent, also if it is deleted. */
  agent?: Maybe<AgentDto>;
  /** The current status; changes are sent on `sessionEvents`. */
  status: SessionStatus;
  /** The caller's own identifier of the person, as given. */
  clientExternalId: Scalars['String']['output'];
  /** The metadata given at the start. */
  metadata?: Maybe<Scalars['JSON']['output']>;
  /**
   * Messages, oldest first; all by default. `first` (at least 1) limits their number; `after` (at least 0) is the id of the last message
   * already read.
   */
  messages: Array<MessageDto>;
  /** Number of accepted calls of interruptSession. */
  interruptCount: Scalars['Int']['output'];
  /** Size of the last context sent to a model, in tokens. */
  totalTokensInContext: Scalars['Int']['output'];
  /** Time at which the session became ACTIVE. */
  startedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Time at which the session became ENDED or EXPIRED; null until then. */
  endedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Time of the session's last event; null before the first event. */
  lastEventAt?: Maybe<Scalars['DateTime']['output']>;
  /** Time at which the session was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};


/** One conversation. */
export type SessionDtoMessagesArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};

/** One message of a session. */
export type MessageDto = {
  __typename?: 'MessageDto';
  /** The message's id; later messages of a session have higher ids. */
  id: Scalars['Int']['output'];
  /** Id of the message's session. */
  sessionId: Scalars['Float']['output'];
  /** Author of the message. */
  role: MessageRole;
  /** The text. An interrupted reply has the text up to its interruption. */
  text: Scalars['String']['output'];
  /** Index in the session, from 0 without gaps. */
  turnIndex: Scalars['Float']['output'];
  /** Input tokens: the provider's count, otherwise characters / 4; 0 for USER. */
  tokensIn: Scalars['Float']['output'];
  /** Output tokens: the provider's count, otherwise characters / 4; 0 for USER. */
  tokensOut: Scalars['Float']['output'];
  /** Whether a token count is an estimate. Null for USER, static greetings, and messages stored before this field existed. */
  tokensEstimated?: Maybe<Scalars['Boolean']['output']>;
  /** Cost of the reply in USD. */
  costUsd: Scalars['Float']['output'];
  /**
   * The model that wrote the message. Null for USER, static greetings, replies that were interrupted before a model was called, and messages
   * stored before this field existed.
   */
  modelId?: Maybe<Scalars['String']['output']>;
  /** Why the reply ended. Null for USER, static greetings, interrupted replies, and if unknown. */
  finishReason?: Maybe<FinishReason>;
  /** {kind: card, table or list, …}, from a workflow's response node. */
  structuredContent?: Maybe<Scalars['JSON']['output']>;
  /** The passages that the model received, best first; empty if none were found, null if no search was made. */
  citations?: Maybe<Array<CitationDto>>;
  /** The tool calls of the reply, in the order in which they began; null if it made none. */
  toolCalls?: Maybe<Array<ToolCallDto>>;
  /** Time at which the message was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A passage of a document, in the version that the model received. */
export type CitationDto = {
  __typename?: 'CitationDto';
  /** The document, which may be deleted. */
  documentId: Scalars['Int']['output'];
  /** The document's file name. */
  documentName: Scalars['String']['output'];
  /** The passage's index in the document, from 0. */
  chunkIndex: Scalars['Int']['output'];
  /** Cosine similarity to the question, -1 to 1; higher is more relevant. */
  score: Scalars['Float']['output'];
  /** The passage's beginning, at most 300 characters. */
  preview: Scalars['String']['output'];
};

/** Status of a tool call; all statuses except STARTED are final. */
export type ToolCallStatus =
  /** The call runs. */
  | 'STARTED'
  /** The call has a successful result. */
  | 'SUCCEEDED'
  /** The call has no result, or one that reports a failure. */
  | 'FAILED'
  /** The call was cancelled with its reply, or lost with its process. */
  | 'CANCELLED';

/** A call of a tool or a custom action, without its arguments and its result. */
export type ToolCallDto = {
  __typename?: 'ToolCallDto';
  /** The call's id, unique in the reply. */
  callId: Scalars['String']['output'];
  /** The tool's or action's name, as the model knows it. */
  name: Scalars['String']['output'];
  /** Final status of the call. */
  status: ToolCallStatus;
  /** Duration of the call in ms; null if it was cancelled or interrupted. */
  durationMs?: Maybe<Scalars['Int']['output']>;
  /** Error kind of a failed call, e.g. REMOTE_TOO_SLOW; null if it did not fail. */
  errorKind?: Maybe<Scalars['String']['output']>;
};

/** A new conversation. NOT_FOUND if the agent does not exist, BAD_REQUEST if it is INACTIVE. */
export type StartSessionInput = {
  /** An active agent of the caller's tenant. */
  agentId: Scalars['Int']['input'];
  /** The caller's own identifier of the person, at most 1,000 characters; returned unchanged. */
  clientExternalId: Scalars['String']['input'];
  /** Any JSON of at most 64 KB and 64 levels; returned unchanged. Numbers are JavaScript numbers, so integers above 2^53 are rounded. */
  metadata?: InputMaybe<Scalars['JSON']['input']>;
};

/** A message of the person. */
export type SendMessageInput = {
  /** An ACTIVE session of the caller's tenant. */
  sessionId: Scalars['Int']['input'];
  /** The text: at most 10,000 characters, not blank. */
  text: Scalars['String']['input'];
  /** The caller's own identifier of the turn, at most 1,000 characters; returned in the turn's events. */
  clientTurnId?: InputMaybe<Scalars['String']['input']>;
  /** Runs the workflow's draft instead of the published version. */
  testDraft?: InputMaybe<Scalars['Boolean']['input']>;
};

/**
 * The agent of an embedded session: `agentId`, or a persona with at least `personaPrompt`. A persona is stored as an agent that is not listed;
 * identical personas share one agent.
 */
export type SdkStartInput = {
  /** An active agent of the API key's tenant. If it is given, agentName, personaPrompt and position must be omitted. */
  agentId?: InputMaybe<Scalars['Int']['input']>;
  /** The agent's name, at most 200 characters. Default: Assistant. */
  agentName?: InputMaybe<Scalars['String']['input']>;
  /** The system prompt that defines the agent, at most 20,000 characters. */
  personaPrompt?: InputMaybe<Scalars['String']['input']>;
  /** Free-text role label, at most 200 characters. Default: Assistant. */
  position?: InputMaybe<Scalars['String']['input']>;
  /** The use case. Default: INTERVIEW. Ignored with agentId. */
  useCase?: InputMaybe<AgentUseCase>;
  /** The quality of the voice. Default: STANDARD. Ignored with agentId. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** The caller's own identifier of the person (`clientExternalId`), at most 1,000 characters. If it is omitted or blank, one is generated. */
  clientId?: InputMaybe<Scalars['String']['input']>;
};

/** Purpose of an agent. If an agent has no recommendation labels of its own, its evaluations use the labels of its use case. */
export type AgentUseCase =
  | 'CUSTOM'
  | 'EDUCATION'
  | 'INTERVIEW'
  | 'ONBOARDING'
  | 'SALES'
  | 'SUPPORT';

/** Quality of the synthesised voice, lowest first. */
export type VoiceTier =
  /** Plain synthesis; the default. */
  | 'STANDARD'
  /** A neural voice. */
  | 'WAVENET'
  /** A neural voice of the generation after WAVENET. */
  | 'NEURAL2';

/** Everything that a browser needs for a session. Every setting comes from the agent, else from the tenant, else from the platform. */
export type SdkStartResult = {
  __typename?: 'SdkStartResult';
  /** The new session, which is ACTIVE. */
  sessionId: Scalars['Int']['output'];
  /** The session's agent. */
  agentId: Scalars['Int']['output'];
  /** A token for this session only, valid for an hour. `refreshAvatarToken` exchanges it for a new one. */
  avatarToken: Scalars['String']['output'];
  /** Base URL of the voice service. */
  avatarServiceUrl: Scalars['String']['output'];
  /** URL of GraphQL over HTTP and WebSocket. */
  graphqlEndpoint: Scalars['String']['output'];
  /** File name of the 3D model. */
  avatarGlb: Scalars['String']['output'];
  /** F or M. */
  avatarGender: Scalars['String']['output'];
  /** Name of the voice. */
  ttsVoice: Scalars['String']['output'];
  /** Language of the voice, e.g. en-US. */
  ttsLang: Scalars['String']['output'];
  /** Language of the lip-sync module, e.g. en. */
  lipsyncLang: Scalars['String']['output'];
  /** Speed of the voice, 0.25 to 4; 1 is normal. */
  speakingRate: Scalars['Float']['output'];
  /** Minimum volume at which the person counts as speaking, 0 to 1. */
  vadThreshold: Scalars['Float']['output'];
};

/** A session token that is about to expire, or has just expired. */
export type RefreshAvatarTokenInput = {
  /** The old token, at most 4,096 characters. */
  avatarToken: Scalars['String']['input'];
};

/** A new token for the same session. */
export type RefreshAvatarTokenResult = {
  __typename?: 'RefreshAvatarTokenResult';
  /** The session of both tokens. */
  sessionId: Scalars['Int']['output'];
  /** The new token. */
  avatarToken: Scalars['String']['output'];
  /** Validity of the new token in ms. */
  expiresInMs: Scalars['Int']['output'];
};

/** A message of the person in an embedded session. */
export type SdkSendMessageInput = {
  /** The session of the token. */
  sessionId: Scalars['Int']['input'];
  /** The text: at most 10,000 characters, not blank. */
  text: Scalars['String']['input'];
  /** The caller's own identifier of the turn, at most 1,000 characters; returned in the turn's events. */
  clientTurnId?: InputMaybe<Scalars['String']['input']>;
};

/** A ticket for one product of the identity provider. */
export type ProductTicketInput = {
  /** The product's name, e.g. PARTNER_A, at most 100 characters. */
  product: Scalars['String']['input'];
  /** The single-use ticket, at most 4,096 characters. */
  ticket: Scalars['String']['input'];
};

/** The tickets that the identity provider issued to the person at the sign-in. */
export type SdkVerifyIdpIdentityInput = {
  /** The session of the token. */
  sessionId: Scalars['Int']['input'];
  /** The single-use ticket, at most 4,096 characters. */
  ticket: Scalars['String']['input'];
  /** At most 10 tickets of different products. A ticket links the person's identity in its product. */
  productTickets?: InputMaybe<Array<ProductTicketInput>>;
};

/** The verified identity of the session's person. The session's next turn is the first that uses it. */
export type SdkVerifyIdpIdentityResult = {
  __typename?: 'SdkVerifyIdpIdentityResult';
  /** The session. */
  sessionId: Scalars['Int']['output'];
  /** The person's id at the identity provider. */
  subject: Scalars['String']['output'];
  /** The person's verified email; null if the provider has verified none. */
  email?: Maybe<Scalars['String']['output']>;
  /** The person's name. */
  fullname?: Maybe<Scalars['String']['output']>;
  /** The person's company. */
  company?: Maybe<Scalars['String']['output']>;
  /** All products linked so far, including those of earlier calls for the same person. */
  linkedProducts: Array<Scalars['String']['output']>;
};

/** A page of a customer's sessions, newest first. */
export type SessionConnection = {
  __typename?: 'SessionConnection';
  /** The sessions of the page. */
  edges: Array<SessionEdge>;
  /** Whether there are more sessions, and the cursor of the next page. */
  pageInfo: SessionPageInfo;
  /** Number of all sessions of the customer. */
  totalCount: Scalars['Int']['output'];
};

/** A session of a page. */
export type SessionEdge = {
  __typename?: 'SessionEdge';
  /** The value of `after` for a page that begins with the next older session. */
  cursor: Scalars['String']['output'];
  /** The session. */
  node: SessionDto;
};

/** The end of a page. */
export type SessionPageInfo = {
  __typename?: 'SessionPageInfo';
  /** Whether there are older sessions. */
  hasNextPage: Scalars['Boolean']['output'];
  /** The value of `after` for the next page; null if the page is empty. */
  endCursor?: Maybe<Scalars['String']['output']>;
};

/** Total usage of all sessions of a customer, including running ones. */
export type CustomerUsageSummaryDto = {
  __typename?: 'CustomerUsageSummaryDto';
  /** The identifier given in the query. */
  externalCustomerId: Scalars['String']['output'];
  /** Number of sessions. */
  sessionCount: Scalars['Int']['output'];
  /** Input tokens of the sessions' messages; at most 2147483647. */
  tokensIn: Scalars['Int']['output'];
  /** Output tokens of the sessions' messages; at most 2147483647. */
  tokensOut: Scalars['Int']['output'];
  /** Cost in USD. */
  costUsd: Scalars['Float']['output'];
};

/** A clip of speech, up to about a minute. */
export type TranscribeSpeechInput = {
  /** The audio in base64: at most 5,600,000 characters, about 4 MB. */
  audioBase64: Scalars['String']['input'];
  /** The encoding: MP3, LINEAR16, WEBM_OPUS or OGG_OPUS. */
  audioEncoding: Scalars['String']['input'];
  /** Language of the speech, e.g. `en-US`. */
  languageCode: Scalars['String']['input'];
  /** Sample rate, 8000 to 48000. Default: 48000 for WEBM_OPUS, else 16000. */
  sampleRateHertz?: InputMaybe<Scalars['Int']['input']>;
};

/** Transcript of a clip. */
export type TranscribeSpeechResultDto = {
  __typename?: 'TranscribeSpeechResultDto';
  /** The spoken words; empty if there are none. */
  transcript: Scalars['String']['output'];
  /** The recognizer's confidence, 0 to 1. */
  confidence: Scalars['Float']['output'];
  /** The language that was recognized. */
  languageCode: Scalars['String']['output'];
};

/** The session to end. */
export type SdkEndSessionInput = {
  /** The session of the token. */
  sessionId: Scalars['Int']['input'];
};

/** A session that has ended. */
export type SdkEndSessionResult = {
  __typename?: 'SdkEndSessionResult';
  /** The session. */
  sessionId: Scalars['Int']['output'];
  /** Duration of the session in seconds. */
  durationSeconds: Scalars['Int']['output'];
  /** The evaluation; null if it was not finished within two seconds. */
  evaluation?: Maybe<SdkEvaluationResult>;
};

/** Evaluation of a session, for the person. */
export type SdkEvaluationResult = {
  __typename?: 'SdkEvaluationResult';
  /** The score, 0 to 100. */
  score: Scalars['Int']['output'];
  /** One of the agent's labels, or of its use case's labels if the agent has no labels of its own; empty if evaluations use no labels. */
  recommendation: Scalars['String']['output'];
  /** A paragraph about the session. */
  summary: Scalars['String']['output'];
  /** Strengths of the person. */
  strengths: Array<Scalars['String']['output']>;
};

/** An event in a session. */
export type SessionEvent = {
  /** Event id, increasing within a session. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session of the event. */
  sessionId: Scalars['Int']['output'];
  /** Time of the event. */
  occurredAt: Scalars['DateTime']['output'];
};

/** A chunk of a reply, to append to the chunks of the same attempt. */
export type AiResponseChunkEvent = SessionEvent & {
  __typename?: 'AiResponseChunkEvent';
  /** Event id, increasing within a session. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session of the event. */
  sessionId: Scalars['Int']['output'];
  /** Time of the event. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message being answered. */
  turnIndex: Scalars['Int']['output'];
  /** Number of the attempt, from 1. Chunks of a higher attempt replace all earlier chunks. */
  attempt: Scalars['Int']['output'];
  /** The text of the chunk, never empty. Chunks arrive in order. */
  text: Scalars['String']['output'];
};

/** A call of a tool or a custom action began or ended, at this place between the chunks. Arguments and result are not shown. */
export type ToolCallEvent = SessionEvent & {
  __typename?: 'ToolCallEvent';
  /** Event id, increasing within a session. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session of the event. */
  sessionId: Scalars['Int']['output'];
  /** Time of the event. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message being answered. */
  turnIndex: Scalars['Int']['output'];
  /** Number of the attempt, from 1, shared with the chunks. Calls of a higher attempt replace all earlier calls. */
  attempt: Scalars['Int']['output'];
  /** The call's id, unique in the attempt. A later event with the same id replaces the earlier event. */
  callId: Scalars['String']['output'];
  /** The tool's or action's name, as the model knows it. */
  name: Scalars['String']['output'];
  /** Status of the call. A request that also selects `status` of SessionStatusEvent must give one of the two fields an alias. */
  status: ToolCallStatus;
  /** Duration of the call in ms; null while it runs, or if it was cancelled or interrupted. */
  durationMs?: Maybe<Scalars['Int']['output']>;
  /** Error kind of a failed call, e.g. REMOTE_TOO_SLOW; null if it did not fail. */
  errorKind?: Maybe<Scalars['String']['output']>;
};

/** A whole reply, as stored. */
export type AiResponseEvent = SessionEvent & {
  __typename?: 'AiResponseEvent';
  /** Event id, increasing within a session. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session of the event. */
  sessionId: Scalars['Int']['output'];
  /** Time of the event. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message being answered; 0 for a greeting. */
  turnIndex: Scalars['Int']['output'];
  /** The joined chunks of the last attempt. */
  text: Scalars['String']['output'];
  /** The stored reply, as in `messages`. */
  message: MessageDto;
  /** True if the reply was interrupted, by a person or by the end of the session. */
  interrupted: Scalars['Boolean']['output'];
  /** Why the reply ended; null if it was interrupted or the reason is unknown. */
  finishReason?: Maybe<FinishReason>;
};

/** A turn that ended without a complete reply. Text that was streamed before the failure is stored as a message, like an interrupted reply. */
export type TurnFailedEvent = SessionEvent & {
  __typename?: 'TurnFailedEvent';
  /** Event id, increasing within a session. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session of the event. */
  sessionId: Scalars['Int']['output'];
  /** Time of the event. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message that got no complete reply. */
  turnIndex: Scalars['Int']['output'];
  /**
   * MODEL_UNAVAILABLE, MODEL_FAILED, MODEL_DECLINED (the model or its filter refused before any text), MODEL_LIMIT_REACHED (the model's token
   * limit was used up before any text), MODEL_REQUEST_REFUSED (the provider refused the request), TURN_TIMEOUT, TURN_LOST, SESSION_ENDED,
   * SPEND_CAP_REACHED, WORKFLOW_NOT_PUBLISHED, WORKFLOW_FAILED, WORKFLOW_LIMIT or INTERNAL.
   */
  code: Scalars['String']['output'];
  /** A message that is safe to show. */
  message: Scalars['String']['output'];
};

/** The session's status changed. */
export type SessionStatusEvent = SessionEvent & {
  __typename?: 'SessionStatusEvent';
  /** Event id, increasing within a session. Use the last received id as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session of the event. */
  sessionId: Scalars['Int']['output'];
  /** Time of the event. */
  occurredAt: Scalars['DateTime']['output'];
  /** The new status. */
  status: SessionStatus;
};

/** Evaluation of a session, made after its end. */
export type EvaluationDto = {
  __typename?: 'EvaluationDto';
  /** The evaluation's id. */
  id: Scalars['Int']['output'];
  /** The evaluated session, which has one evaluation. */
  sessionId: Scalars['Int']['output'];
  /** The score, 0 to 100. */
  score: Scalars['Int']['output'];
  /** A paragraph about the session, at most 8,000 characters. */
  summary: Scalars['String']['output'];
  /** Strengths: at most 20 sentences of at most 1,000 characters. */
  strengths: Array<Scalars['String']['output']>;
  /** Weaknesses: at most 20 sentences of at most 1,000 characters. */
  weaknesses: Array<Scalars['String']['output']>;
  /** One of the agent's labels, or of its use case's labels if the agent has no labels of its own; empty if evaluations use no labels. */
  recommendation: Scalars['String']['output'];
  /** The evaluated messages: [{role, text, turnIndex, createdAt}]. */
  transcript: Scalars['JSON']['output'];
  /** Time of the judgement. */
  generatedAt?: Maybe<Scalars['DateTime']['output']>;
  /** Time at which the evaluation was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** Kind of an export. */
export type ExportKind =
  /** A PDF about the session, with instructions for its use, transcript, evaluation, key points and practice prompts. */
  | 'STUDY_KIT';

/** Status of an export; READY, FAILED and FALLBACK_READY are final. */
export type ExportStatus =
  /** The export waits in the queue, or for the evaluation of a session that has just ended. */
  | 'PENDING'
  /** The export is being rendered. */
  | 'RENDERING'
  /** The export can be downloaded. */
  | 'READY'
  /** The export could not be rendered. */
  | 'FAILED'
  /** The export could not be rendered; a general document can be downloaded instead. */
  | 'FALLBACK_READY';

/** A document made of a session, kept for 30 days by default. */
export type ExportRecordDto = {
  __typename?: 'ExportRecordDto';
  /** The export's id. */
  id: Scalars['Int']['output'];
  /** Kind of the export. */
  kind: ExportKind;
  /** The status. Poll `exportRecord` until it is READY, FALLBACK_READY or FAILED. */
  status: ExportStatus;
  /** A link that is created for this response: valid for 24 hours if READY, for 7 days if FALLBACK_READY, and null otherwise. */
  downloadUrl?: Maybe<Scalars['String']['output']>;
  /** Why a FAILED or FALLBACK_READY export could not be rendered; null otherwise. */
  errorMessage?: Maybe<Scalars['String']['output']>;
  /** Size of the downloadable file in bytes; null if there is none. */
  fileSizeBytes?: Maybe<Scalars['Int']['output']>;
  /** Time of the request. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** Status of an evaluation's delivery. */
export type ExternalSyncStatus =
  /** The receiver has not accepted the delivery yet; it is retried. */
  | 'PENDING'
  /** The receiver has accepted the delivery. */
  | 'DELIVERED'
  /** The delivery has failed finally, after 24 hours or because the receiver refuses further deliveries (410). */
  | 'FAILED';

/**
 * The record of a webhook that posts the evaluation of one session to the agent's `externalSyncUrl`. Contains no content of request and
 * response.
 */
export type ExternalSyncDeliveryDto = {
  __typename?: 'ExternalSyncDeliveryDto';
  /** The delivery's id. */
  id: Scalars['Int']['output'];
  /** The agent. */
  agentId: Scalars['Int']['output'];
  /** The evaluated session, which has one delivery. */
  sessionId: Scalars['Int']['output'];
  /** The header `webhook-id`, the same in each attempt, so that the receiver can detect duplicates. */
  webhookId: Scalars['String']['output'];
  /** The delivery's status. */
  status: ExternalSyncStatus;
  /** Number of started attempts, including a running one. */
  attempts: Scalars['Int']['output'];
  /**
   * Why the last attempt failed: `HTTP` and a status, or an error kind, e.g. REMOTE_TOO_SLOW. Null if no attempt has failed, or the last one
   * succeeded.
   */
  lastError?: Maybe<Scalars['String']['output']>;
  /** Time of the next attempt; null during an attempt, and after the last one. */
  nextAttemptAt?: Maybe<Scalars['DateTime']['output']>;
  /** Time at which the delivery was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time at which the receiver accepted the delivery; null until then. */
  deliveredAt?: Maybe<Scalars['DateTime']['output']>;
};

export type Query = {
  __typename?: 'Query';
  /** A session; null if it does not exist or is not the caller's. */
  session?: Maybe<SessionDto>;
  /**
   * Sessions of the tenant or of one agent, newest first; all by default. `first` (at least 1) limits their number; `after` (at least 0) is
   * the id of the last session already read.
   */
  sessions: Array<SessionDto>;
  /** Number of the tenant's sessions. */
  sessionCount: Scalars['Int']['output'];
  /** A token of the caller's tenant for the voice service, valid for an hour. It gives no access to sessions. */
  avatarToken: Scalars['String']['output'];
  /**
   * Sessions of one of the caller's customers (`clientExternalId`), newest first. `first` is 1 to 100; `after` is a cursor of the same
   * customer's list.
   */
  sessionsByExternalCustomerId: SessionConnection;
  /** Total usage of all sessions of one of the caller's customers; zeros if there are none. */
  customerUsageSummary: CustomerUsageSummaryDto;
  /**
   * The deliveries of an agent's evaluations, newest first; ended deliveries are kept for 30 days. Empty if the agent does not exist or is not
   * the caller's. BAD_REQUEST for an invalid `first` or `after`.
   */
  externalSyncDeliveries: Array<ExternalSyncDeliveryDto>;
  /** The evaluation of a session; null until the session has ended and been evaluated. */
  evaluation?: Maybe<EvaluationDto>;
  /** An export of the tenant; with a session token, of that session only. NOT_FOUND if it does not exist or has been removed. */
  exportRecord: ExportRecordDto;
};


export type QuerySessionArgs = {
  id: Scalars['ID']['input'];
};


export type QuerySessionsArgs = {
  agentId?: InputMaybe<Scalars['Int']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['Int']['input']>;
};


export type QuerySessionsByExternalCustomerIdArgs = {
  externalCustomerId: Scalars['String']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};


export type QueryCustomerUsageSummaryArgs = {
  externalCustomerId: Scalars['String']['input'];
};


export type QueryExternalSyncDeliveriesArgs = {
  agentId: Scalars['Int']['input'];
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};


export type QueryEvaluationArgs = {
  sessionId: Scalars['Int']['input'];
};


export type QueryExportRecordArgs = {
  id: Scalars['Int']['input'];
};

export type Mutation = {
  __typename?: 'Mutation';
  /** Starts an embedded session, from the server of an embedding application. The agent greets first. */
  sdkStart: SdkStartResult;
  /**
   * Returns a new session token for a token that is about to expire, or has expired within the last 10 minutes. Every other token gets the
   * same UNAUTHENTICATED error. BAD_REQUEST if the session is no longer active.
   */
  refreshAvatarToken: RefreshAvatarTokenResult;
  /**
   * Verifies the person's identity: the server exchanges a single-use `ticket` at the identity provider. BAD_REQUEST (TICKET_REFUSED) if a
   * ticket is refused or was used before. The `productTickets` are then exchanged one after another; each links the person's identity in one
   * product. If a product ticket is refused, or the provider becomes unavailable, earlier results are kept: repeat the call with the same
   * `ticket` and a new ticket in place of the refused one. A session accepts at most 50 tickets (TOO_MANY_REQUESTS).
   */
  sdkVerifyIdpIdentity: SdkVerifyIdpIdentityResult;
  /** Like `sendMessage`, in an embedded session. */
  sdkSendMessage: Scalars['Boolean']['output'];
  /** Like `endSession`, in an embedded session. Returns the evaluation if it is finished within two seconds. */
  sdkEndSession: SdkEndSessionResult;
  /**
   * Transcribes a clip, as `POST /stt` of the voice service does for clients with an avatar token. BAD_REQUEST names the invalid field of the
   * clip; UNAVAILABLE if no transcription is available at the moment.
   */
  transcribeSpeech: TranscribeSpeechResultDto;
  /** Starts a conversation with an active agent. The agent sends its greeting if it has a greeting and no workflow. */
  startSession: SessionDto;
  /** Stores a message and returns immediately; the reply is sent on `sessionEvents`. At most 100 messages of a session may wait. */
  sendMessage: SessionDto;
  /** Ends a conversation: interrupts the running reply, fails the waiting turns, and requests an evaluation. Ending it again changes nothing. */
  endSession: SessionDto;
  /** Interrupts the running reply and keeps its text so far. Returns whether a reply was interrupted. */
  interruptSession: Scalars['Boolean']['output'];
  /**
   * Requests a study kit of the token's session and returns immediately. The kit contains the messages so far and, after the session's end,
   * the evaluation. TOO_MANY_REQUESTS (reason TOO_MANY_EXPORTS) while 3 exports of the session or 200 of the tenant wait, or 50 of the session
   * are stored; operators can change these numbers.
   */
  requestStudyKitExport: ExportRecordDto;
};


export type MutationSdkStartArgs = {
  input: SdkStartInput;
};


export type MutationRefreshAvatarTokenArgs = {
  input: RefreshAvatarTokenInput;
};


export type MutationSdkVerifyIdpIdentityArgs = {
  input: SdkVerifyIdpIdentityInput;
};


export type MutationSdkSendMessageArgs = {
  input: SdkSendMessageInput;
};


export type MutationSdkEndSessionArgs = {
  input: SdkEndSessionInput;
};


export type MutationTranscribeSpeechArgs = {
  input: TranscribeSpeechInput;
};


export type MutationStartSessionArgs = {
  input: StartSessionInput;
};


export type MutationSendMessageArgs = {
  input: SendMessageInput;
};


export type MutationEndSessionArgs = {
  sessionId: Scalars['ID']['input'];
};


export type MutationInterruptSessionArgs = {
  sessionId: Scalars['ID']['input'];
};


export type MutationRequestStudyKitExportArgs = {
  sessionId?: InputMaybe<Scalars['Int']['input']>;
};

export type Subscription = {
  __typename?: 'Subscription';
  /**
   * Events of one session in order, from now on. With `after`, events after that id are replayed first; `0` replays all kept events. Chunks
   * and tool calls are kept for an hour, all other events as long as the session.
   */
  sessionEvents: SessionEvent;
};


export type SubscriptionSessionEventsArgs = {
  sessionId: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
};
