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

/** State of a conversation; ENDED and EXPIRED are final. */
export type SessionStatus =
  /** Being started; `startSession` returns when it is ACTIVE. */
  | 'PENDING'
  /** Takes messages. */
  | 'ACTIVE'
  /** Was ended by `endSession`, or with its tenant. */
  | 'ENDED'
  /** Ended by itself: without an event for too long (by default 24 hours), or too old (30 days). */
  | 'EXPIRED';

/** Author of a message. */
export type MessageRole =
  /** The person. */
  | 'USER'
  /** The agent, its greeting included. */
  | 'MODEL';

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
};

/** One conversation. */
export type SessionDto = {
  __typename?: 'SessionDto';
  /** The session's id. */
  id: Scalars['Int']['output'];
  /** Id of the agent that it was started with. */
  agentId: Scalars['Float']['output'];
  /** Also once it has been deleted. */
  agent?: Maybe<AgentDto>;
  /** The current status; changes are sent on `sessionEvents`. */
  status: SessionStatus;
  /** The caller's own identifier, as given. */
  clientExternalId: Scalars['String']['output'];
  /** The metadata given at the start. */
  metadata?: Maybe<Scalars['JSON']['output']>;
  /**
   * Messages, oldest first; all by default. `first` (at least 1) limits their number; `after` (at least 0) is the id of the last message
   * already read.
   */
  messages: Array<MessageDto>;
  /** Accepted calls of interruptSession. */
  interruptCount: Scalars['Int']['output'];
  /** Size of the last context sent to a model, in tokens. */
  totalTokensInContext: Scalars['Int']['output'];
  /** When it became ACTIVE. */
  startedAt?: Maybe<Scalars['DateTime']['output']>;
  /** When it became ENDED or EXPIRED; null until then. */
  endedAt?: Maybe<Scalars['DateTime']['output']>;
  /** When something last happened in it; null before the first event. */
  lastEventAt?: Maybe<Scalars['DateTime']['output']>;
  /** When the session was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
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
  /** The message's id; later ones of a session are higher. */
  id: Scalars['Int']['output'];
  /** Id of the message's session. */
  sessionId: Scalars['Float']['output'];
  /** Author of the message. */
  role: MessageRole;
  /** The text. An interrupted reply has the text up to its interruption. */
  text: Scalars['String']['output'];
  /** Place in the session, from 0 without gap. */
  turnIndex: Scalars['Float']['output'];
  /** Input tokens: the provider's count, otherwise characters / 4; 0 for USER. */
  tokensIn: Scalars['Float']['output'];
  /** Output tokens: the provider's count, otherwise characters / 4; 0 for USER. */
  tokensOut: Scalars['Float']['output'];
  /** Whether a figure among them is an estimate. Null for USER, a static greeting, and messages before this field. */
  tokensEstimated?: Maybe<Scalars['Boolean']['output']>;
  /** Cost of the reply in USD. */
  costUsd: Scalars['Float']['output'];
  /** The model that served it. Null for USER, a static greeting, a reply that was cut short before a model was asked, and messages before this field. */
  modelId?: Maybe<Scalars['String']['output']>;
  /** Why the reply ended. Null for USER, static greetings, interrupted replies, and if unknown. */
  finishReason?: Maybe<FinishReason>;
  /** {kind: card, table or list, …}, from a workflow's response node. */
  structuredContent?: Maybe<Scalars['JSON']['output']>;
  /** The passages that the model was given, best first; empty if none were found, null if no search was made. */
  citations?: Maybe<Array<CitationDto>>;
  /** The tool calls of the reply, in the order in which they began; null if it made none. */
  toolCalls?: Maybe<Array<ToolCallDto>>;
  /** When the message was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A passage of a document, as it was when a reply was given it. */
export type CitationDto = {
  __typename?: 'CitationDto';
  /** The document; it may be deleted since. */
  documentId: Scalars['Int']['output'];
  /** Its file name. */
  documentName: Scalars['String']['output'];
  /** The passage's place in the document, from 0. */
  chunkIndex: Scalars['Int']['output'];
  /** Cosine similarity to the question, -1 to 1; higher is more relevant. */
  score: Scalars['Float']['output'];
  /** The passage's beginning, at most 300 characters. */
  preview: Scalars['String']['output'];
};

/** How far a call of a tool is; all but STARTED are final. */
export type ToolCallStatus =
  /** It runs. */
  | 'STARTED'
  /** The call has a successful result. */
  | 'SUCCEEDED'
  /** The call has no result, or one that reports a failure. */
  | 'FAILED'
  /** It was cut off, with its reply or by the loss of a process. */
  | 'CANCELLED';

/** A call of a tool or a custom action, without its arguments and its result. */
export type ToolCallDto = {
  __typename?: 'ToolCallDto';
  /** Unique in its reply. */
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

/** A new conversation. An agent that is not there is NOT_FOUND; one that is INACTIVE, BAD_REQUEST. */
export type StartSessionInput = {
  /** An active agent of the caller's tenant. */
  agentId: Scalars['Int']['input'];
  /** The caller's own identifier for whom it talks to, at most 1,000 characters; echoed. */
  clientExternalId: Scalars['String']['input'];
  /** Any JSON of at most 64 KB and 64 levels; returned unchanged. Numbers are those of JavaScript: integers above 2^53 are rounded. */
  metadata?: InputMaybe<Scalars['JSON']['input']>;
};

/** A message of the person. */
export type SendMessageInput = {
  /** An ACTIVE session of the caller's tenant. */
  sessionId: Scalars['Int']['input'];
  /** At most 10,000 characters, not blank. */
  text: Scalars['String']['input'];
  /** At most 1,000 characters; echoed on the events of this turn. */
  clientTurnId?: InputMaybe<Scalars['String']['input']>;
  /** Runs the workflow's draft instead of what is published. */
  testDraft?: InputMaybe<Scalars['Boolean']['input']>;
};

/**
 * Whom an embedded session talks to: `agentId`, or a persona of which at least `personaPrompt`. A persona is kept as an agent that is not
 * listed; an identical one is the same agent.
 */
export type SdkStartInput = {
  /** An active agent of the key's tenant; then without agentName, personaPrompt and position. */
  agentId?: InputMaybe<Scalars['Int']['input']>;
  /** At most 200 characters; by default Assistant. */
  agentName?: InputMaybe<Scalars['String']['input']>;
  /** The system prompt that defines it, at most 20,000 characters. */
  personaPrompt?: InputMaybe<Scalars['String']['input']>;
  /** Free-text role label, at most 200 characters; by default Assistant. */
  position?: InputMaybe<Scalars['String']['input']>;
  /** By default INTERVIEW; ignored beside agentId. */
  useCase?: InputMaybe<AgentUseCase>;
  /** By default STANDARD; ignored beside agentId. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** The caller's own identifier of the person (`clientExternalId`), at most 1,000 characters. Default, also if blank: a new identifier. */
  clientId?: InputMaybe<Scalars['String']['input']>;
};

/** Purpose of an agent. Evaluations of an agent without its own recommendation labels use those of its use case. */
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

/** Everything that a browser needs for a session. Each setting is the agent's, else the tenant's, else the platform's. */
export type SdkStartResult = {
  __typename?: 'SdkStartResult';
  /** The new session, which is ACTIVE. */
  sessionId: Scalars['Int']['output'];
  /** Its agent. */
  agentId: Scalars['Int']['output'];
  /** Session token, for this session alone; valid for an hour (`refreshAvatarToken`). */
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
  /** 0.25 to 4; 1 is normal. */
  speakingRate: Scalars['Float']['output'];
  /** How loud the person must be to count as speaking, 0 to 1. */
  vadThreshold: Scalars['Float']['output'];
};

/** A session token that is about to expire, or has just expired. */
export type RefreshAvatarTokenInput = {
  /** At most 4,096 characters. */
  avatarToken: Scalars['String']['input'];
};

/** A new token for the same session. */
export type RefreshAvatarTokenResult = {
  __typename?: 'RefreshAvatarTokenResult';
  /** The session, as the old token names it. */
  sessionId: Scalars['Int']['output'];
  /** The new token. */
  avatarToken: Scalars['String']['output'];
  /** How long it is valid, in ms. */
  expiresInMs: Scalars['Int']['output'];
};

/** A message of the person in an embedded session. */
export type SdkSendMessageInput = {
  /** The session of the token. */
  sessionId: Scalars['Int']['input'];
  /** At most 10,000 characters, not blank. */
  text: Scalars['String']['input'];
  /** At most 1,000 characters; echoed on the events of this turn. */
  clientTurnId?: InputMaybe<Scalars['String']['input']>;
};

/** A ticket of another product of the identity provider. */
export type ProductTicketInput = {
  /** The product's name, e.g. PARTNER_A, at most 100 characters. */
  product: Scalars['String']['input'];
  /** Single-use, at most 4,096 characters. */
  ticket: Scalars['String']['input'];
};

/** The ticket that the identity provider gave the person at the sign-in. */
export type SdkVerifyIdpIdentityInput = {
  /** The session of the token. */
  sessionId: Scalars['Int']['input'];
  /** Single-use, at most 4,096 characters. */
  ticket: Scalars['String']['input'];
  /** At most 10, of different products; each links the person's identity in it. */
  productTickets?: InputMaybe<Array<ProductTicketInput>>;
};

/** Whom the session talks to, from its next turn on. */
export type SdkVerifyIdpIdentityResult = {
  __typename?: 'SdkVerifyIdpIdentityResult';
  /** The session. */
  sessionId: Scalars['Int']['output'];
  /** The person's id at the identity provider. */
  subject: Scalars['String']['output'];
  /** The person's verified email; null if the provider has verified none. */
  email?: Maybe<Scalars['String']['output']>;
  /** Their name. */
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
  /** Whether there are more, and from where. */
  pageInfo: SessionPageInfo;
  /** All sessions of the customer, whatever the page. */
  totalCount: Scalars['Int']['output'];
};

/** A session of a page. */
export type SessionEdge = {
  __typename?: 'SessionEdge';
  /** The value of `after` that continues below this session. */
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
  /** Sessions. */
  sessionCount: Scalars['Int']['output'];
  /** Input tokens of their messages; at most 2147483647. */
  tokensIn: Scalars['Int']['output'];
  /** Output tokens, counted the same way. */
  tokensOut: Scalars['Int']['output'];
  /** Cost in USD. */
  costUsd: Scalars['Float']['output'];
};

/** A clip of speech, up to about a minute. */
export type TranscribeSpeechInput = {
  /** The audio in base64: at most 5,600,000 characters, about 4 MB. */
  audioBase64: Scalars['String']['input'];
  /** MP3, LINEAR16, WEBM_OPUS or OGG_OPUS. */
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
  /** How sure the recognizer is, 0 to 1. */
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
  /** From its start to its end, in seconds. */
  durationSeconds: Scalars['Int']['output'];
  /** The evaluation; null if it was not made within two seconds. */
  evaluation?: Maybe<SdkEvaluationResult>;
};

/** Evaluation of a session, for the person. */
export type SdkEvaluationResult = {
  __typename?: 'SdkEvaluationResult';
  /** 0 to 100. */
  score: Scalars['Int']['output'];
  /** One of the agent's labels, else of its use case's; empty if the agent uses no labels. */
  recommendation: Scalars['String']['output'];
  /** A paragraph. */
  summary: Scalars['String']['output'];
  /** Strengths of the person. */
  strengths: Array<Scalars['String']['output']>;
};

/** Something that happened in a session. */
export type SessionEvent = {
  /** Event id, increasing within a session. Use the last one as `after` to resume. */
  eventId: Scalars['String']['output'];
  /** The session that it happened in. */
  sessionId: Scalars['Int']['output'];
  /** When it happened. */
  occurredAt: Scalars['DateTime']['output'];
};

/** A piece of a reply, to append to the pieces of the same attempt. */
export type AiResponseChunkEvent = SessionEvent & {
  __typename?: 'AiResponseChunkEvent';
  /** Grows within a session; what `after` takes. */
  eventId: Scalars['String']['output'];
  /** The session that it happened in. */
  sessionId: Scalars['Int']['output'];
  /** When it happened. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message being answered. */
  turnIndex: Scalars['Int']['output'];
  /** Counts from 1; a higher one voids the pieces before it. */
  attempt: Scalars['Int']['output'];
  /** The piece; in order, never empty. */
  text: Scalars['String']['output'];
};

/** A call of a tool or a custom action began or ended, after the pieces that came before. Its arguments and its result are not shown. */
export type ToolCallEvent = SessionEvent & {
  __typename?: 'ToolCallEvent';
  /** Grows within a session; what `after` takes. */
  eventId: Scalars['String']['output'];
  /** The session that it happened in. */
  sessionId: Scalars['Int']['output'];
  /** When it happened. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message being answered. */
  turnIndex: Scalars['Int']['output'];
  /** Number of the attempt, from 1, shared with the chunks. A higher one voids earlier calls. */
  attempt: Scalars['Int']['output'];
  /** Unique in its attempt: a later event with it replaces the earlier one. */
  callId: Scalars['String']['output'];
  /** The tool's or action's name, as the model knows it. */
  name: Scalars['String']['output'];
  /** Status of the call. Together with the status of SessionStatusEvent, one of the two needs an alias. */
  status: ToolCallStatus;
  /** Duration of the call in ms; null while it runs, or if it was cancelled or interrupted. */
  durationMs?: Maybe<Scalars['Int']['output']>;
  /** Error kind of a failed call, e.g. REMOTE_TOO_SLOW; null if it did not fail. */
  errorKind?: Maybe<Scalars['String']['output']>;
};

/** A whole reply, as stored. */
export type AiResponseEvent = SessionEvent & {
  __typename?: 'AiResponseEvent';
  /** Grows within a session; what `after` takes. */
  eventId: Scalars['String']['output'];
  /** The session that it happened in. */
  sessionId: Scalars['Int']['output'];
  /** When it happened. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message being answered; a greeting: 0. */
  turnIndex: Scalars['Int']['output'];
  /** The pieces of the last attempt, joined. */
  text: Scalars['String']['output'];
  /** The stored reply, as in `messages`. */
  message: MessageDto;
  /** True when it was cut short by a person, or with the session. */
  interrupted: Scalars['Boolean']['output'];
  /** Why the reply ended; null if it was interrupted or the reason is unknown. */
  finishReason?: Maybe<FinishReason>;
};

/** A turn that ended without a complete reply. Text that was streamed before the failure is stored as a message, like an interrupted reply. */
export type TurnFailedEvent = SessionEvent & {
  __typename?: 'TurnFailedEvent';
  /** Grows within a session; what `after` takes. */
  eventId: Scalars['String']['output'];
  /** The session that it happened in. */
  sessionId: Scalars['Int']['output'];
  /** When it happened. */
  occurredAt: Scalars['DateTime']['output'];
  /** The `clientTurnId` of the message. */
  clientTurnId?: Maybe<Scalars['String']['output']>;
  /** Index of the message that got no whole reply. */
  turnIndex: Scalars['Int']['output'];
  /**
   * MODEL_UNAVAILABLE, MODEL_FAILED, MODEL_DECLINED (it or its filter refused before a word), MODEL_LIMIT_REACHED (its limit of tokens was spent
   * before a word), MODEL_REQUEST_REFUSED (the provider refused the request), TURN_TIMEOUT, TURN_LOST, SESSION_ENDED, SPEND_CAP_REACHED,
   * WORKFLOW_NOT_PUBLISHED, WORKFLOW_FAILED, WORKFLOW_LIMIT or INTERNAL.
   */
  code: Scalars['String']['output'];
  /** Safe to show. */
  message: Scalars['String']['output'];
};

/** The session's status changed. */
export type SessionStatusEvent = SessionEvent & {
  __typename?: 'SessionStatusEvent';
  /** Grows within a session; what `after` takes. */
  eventId: Scalars['String']['output'];
  /** The session that it happened in. */
  sessionId: Scalars['Int']['output'];
  /** When it happened. */
  occurredAt: Scalars['DateTime']['output'];
  /** The new status. */
  status: SessionStatus;
};

/** Evaluation of a session, made after its end. */
export type EvaluationDto = {
  __typename?: 'EvaluationDto';
  /** The evaluation's id. */
  id: Scalars['Int']['output'];
  /** The session that was judged; it has one evaluation. */
  sessionId: Scalars['Int']['output'];
  /** 0 to 100. */
  score: Scalars['Int']['output'];
  /** A paragraph, at most 8,000 characters. */
  summary: Scalars['String']['output'];
  /** Strengths: at most 20 sentences of at most 1,000 characters. */
  strengths: Array<Scalars['String']['output']>;
  /** Weaknesses: at most 20 sentences of at most 1,000 characters. */
  weaknesses: Array<Scalars['String']['output']>;
  /** One of the agent's labels, else of its use case's; empty if the agent uses no labels. */
  recommendation: Scalars['String']['output'];
  /** The evaluated messages: [{role, text, turnIndex, createdAt}]. */
  transcript: Scalars['JSON']['output'];
  /** When the judgement was made. */
  generatedAt?: Maybe<Scalars['DateTime']['output']>;
  /** When the evaluation was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** Kind of an export. */
export type ExportKind =
  /** A PDF of the session: how to use it, transcript, evaluation, key points and practice prompts. */
  | 'STUDY_KIT';

/** How far an export is; READY, FAILED and FALLBACK_READY are final. */
export type ExportStatus =
  /** Waits for its turn, or for the evaluation of a session that has just ended. */
  | 'PENDING'
  /** Is being rendered. */
  | 'RENDERING'
  /** Can be downloaded. */
  | 'READY'
  /** Could not be rendered. */
  | 'FAILED'
  /** Could not be rendered; a general document can be downloaded in its place. */
  | 'FALLBACK_READY';

/** A document made of a session, kept for 30 days by default. */
export type ExportRecordDto = {
  __typename?: 'ExportRecordDto';
  /** The export's id. */
  id: Scalars['Int']['output'];
  /** Kind of the export. */
  kind: ExportKind;
  /** Poll `exportRecord` until it is READY, FALLBACK_READY or FAILED. */
  status: ExportStatus;
  /** Made for this answer: valid for 24 hours where READY, for 7 days where FALLBACK_READY, and null otherwise. */
  downloadUrl?: Maybe<Scalars['String']['output']>;
  /** Why it could not be rendered: of FAILED and FALLBACK_READY, and null otherwise. */
  errorMessage?: Maybe<Scalars['String']['output']>;
  /** Size of what can be downloaded. */
  fileSizeBytes?: Maybe<Scalars['Int']['output']>;
  /** Time of the request. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** How far the delivery of an evaluation is. */
export type ExternalSyncStatus =
  /** Not taken yet; it is tried again. */
  | 'PENDING'
  /** Taken by the receiver. */
  | 'DELIVERED'
  /** Given up: after 24 hours, or because the receiver wants no more (410). */
  | 'FAILED';

/** A webhook to the `externalSyncUrl` of an agent, with the evaluation of one session. Nothing of what was sent or answered is in it. */
export type ExternalSyncDeliveryDto = {
  __typename?: 'ExternalSyncDeliveryDto';
  /** The delivery's id. */
  id: Scalars['Int']['output'];
  /** The agent. */
  agentId: Scalars['Int']['output'];
  /** The session whose evaluation it is; it has one delivery. */
  sessionId: Scalars['Int']['output'];
  /** The header `webhook-id`, the same in each attempt, so that the receiver can detect duplicates. */
  webhookId: Scalars['String']['output'];
  /** How far it is. */
  status: ExternalSyncStatus;
  /** Attempts that were begun, one that runs included. */
  attempts: Scalars['Int']['output'];
  /** Why the last attempt failed: `HTTP` and a status, or a kind, e.g. REMOTE_TOO_SLOW. Null if no attempt failed, or after the delivery. */
  lastError?: Maybe<Scalars['String']['output']>;
  /** When it is tried again; null while it is just tried, and when it is over. */
  nextAttemptAt?: Maybe<Scalars['DateTime']['output']>;
  /** When it was made. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the delivery; null until then. */
  deliveredAt?: Maybe<Scalars['DateTime']['output']>;
};

export type Query = {
  __typename?: 'Query';
  /** Null when it is not there or not the caller's. */
  session?: Maybe<SessionDto>;
  /**
   * Sessions of the tenant or of one agent, newest first; all by default. `first` (at least 1) limits their number; `after` (at least 0) is
   * the id of the last one already read.
   */
  sessions: Array<SessionDto>;
  /** How many sessions the tenant has. */
  sessionCount: Scalars['Int']['output'];
  /** A token of the caller's tenant for the voice service, valid for an hour; it opens no session. */
  avatarToken: Scalars['String']['output'];
  /**
   * Sessions of one of the caller's customers (`clientExternalId`), newest first. `first` is 1 to 100; `after` is a cursor of the same customer's
   * list.
   */
  sessionsByExternalCustomerId: SessionConnection;
  /** Total usage of all sessions of one of the caller's customers; zeros if there are none. */
  customerUsageSummary: CustomerUsageSummaryDto;
  /**
   * The deliveries of an agent's evaluations, newest first; those that ended are kept for 30 days. None of an agent that is not there or not
   * the caller's. BAD_REQUEST for bad bounds.
   */
  externalSyncDeliveries: Array<ExternalSyncDeliveryDto>;
  /** Null until the session has ended and was judged. */
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
  /** Starts an embedded session, from the server of an embedding application; the agent greets first. */
  sdkStart: SdkStartResult;
  /**
   * A new session token for one that is about to expire, or has expired within the last 10 minutes. UNAUTHENTICATED, always the same, for every
   * other; BAD_REQUEST when the session is not active any more.
   */
  refreshAvatarToken: RefreshAvatarTokenResult;
  /**
   * Verifies who the person is by a single-use ticket of the identity provider, which is exchanged on the server's side. A ticket that is refused
   * or was used before is BAD_REQUEST, TICKET_REFUSED. Each of `productTickets` links a product, one after another. If one of them is refused,
   * or the provider becomes unavailable, earlier results are kept: send the call again with the same `ticket` and a new ticket in place of the
   * refused one. A session takes at most 50 tickets (TOO_MANY_REQUESTS).
   */
  sdkVerifyIdpIdentity: SdkVerifyIdpIdentityResult;
  /** Like `sendMessage`, in an embedded session. */
  sdkSendMessage: Scalars['Boolean']['output'];
  /** Like `endSession`, in an embedded session. Returns the evaluation if it is made within two seconds. */
  sdkEndSession: SdkEndSessionResult;
  /**
   * Transcribes a clip, like `POST /stt` of the voice service for the holder of an avatar token. BAD_REQUEST names the invalid field of the
   * clip; UNAVAILABLE if no transcription is available at the moment.
   */
  transcribeSpeech: TranscribeSpeechResultDto;
  /** Starts a conversation with an active agent, which sends its greeting if it has one and no workflow. */
  startSession: SessionDto;
  /** Stores a message and returns at once; the reply is sent on `sessionEvents`. At most 100 messages of a session may wait. */
  sendMessage: SessionDto;
  /** Ends a conversation: interrupts a running reply, fails waiting ones, and requests an evaluation. Ending it again changes nothing. */
  endSession: SessionDto;
  /** Interrupts the running reply and keeps its text so far. Returns whether a reply was interrupted. */
  interruptSession: Scalars['Boolean']['output'];
  /**
   * Requests a study kit of the token's session and returns at once. It contains the messages so far and, after the session's end, its
   * evaluation. TOO_MANY_REQUESTS (reason TOO_MANY_EXPORTS) while 3 exports of the session wait, or 50 are kept; operators can change both.
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
   * Events of one session in order, from now on. With `after`, events after that id are replayed first; they are kept for an hour, and `0`
   * replays all of them.
   */
  sessionEvents: SessionEvent;
};


export type SubscriptionSessionEventsArgs = {
  sessionId: Scalars['ID']['input'];
  after?: InputMaybe<Scalars['String']['input']>;
};
