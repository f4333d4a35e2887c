// Written by scripts/generate from schema.graphql.

import type * as Types from '../../generated/schema.ts';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { SessionDto, SessionConnection, SessionEdge, EvaluationDto } from '../mappers.ts';
import type { Context } from '../context.ts';
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };


export type ResolverTypeWrapper<T> = Promise<T> | T;

export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Types.Maybe<TTypes> | Promise<Types.Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;




/** Mapping of interface types */
export type ResolversInterfaceTypes<_RefType extends Record<string, unknown>> = {
  SessionEvent:
    | ( Types.AiResponseChunkEvent )
    | ( Types.ToolCallEvent )
    | ( Types.AiResponseEvent )
    | ( Types.TurnFailedEvent )
    | ( Types.SessionStatusEvent )
  ;
};

/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  DateTime: ResolverTypeWrapper<Types.Scalars['DateTime']['output']>;
  JSON: ResolverTypeWrapper<Types.Scalars['JSON']['output']>;
  JSONObject: ResolverTypeWrapper<Types.Scalars['JSONObject']['output']>;
  SessionStatus: Types.SessionStatus;
  MessageRole: Types.MessageRole;
  FinishReason: Types.FinishReason;
  AgentDto: ResolverTypeWrapper<Types.AgentDto>;
  Int: ResolverTypeWrapper<Types.Scalars['Int']['output']>;
  SessionDto: ResolverTypeWrapper<SessionDto>;
  Float: ResolverTypeWrapper<Types.Scalars['Float']['output']>;
  String: ResolverTypeWrapper<Types.Scalars['String']['output']>;
  MessageDto: ResolverTypeWrapper<Types.MessageDto>;
  Boolean: ResolverTypeWrapper<Types.Scalars['Boolean']['output']>;
  CitationDto: ResolverTypeWrapper<Types.CitationDto>;
  ToolCallStatus: Types.ToolCallStatus;
  ToolCallDto: ResolverTypeWrapper<Types.ToolCallDto>;
  StartSessionInput: Types.StartSessionInput;
  SendMessageInput: Types.SendMessageInput;
  SdkStartInput: Types.SdkStartInput;
  AgentUseCase: Types.AgentUseCase;
  VoiceTier: Types.VoiceTier;
  SdkStartResult: ResolverTypeWrapper<Types.SdkStartResult>;
  RefreshAvatarTokenInput: Types.RefreshAvatarTokenInput;
  RefreshAvatarTokenResult: ResolverTypeWrapper<Types.RefreshAvatarTokenResult>;
  SdkSendMessageInput: Types.SdkSendMessageInput;
  ProductTicketInput: Types.ProductTicketInput;
  SdkVerifyIdpIdentityInput: Types.SdkVerifyIdpIdentityInput;
  SdkVerifyIdpIdentityResult: ResolverTypeWrapper<Types.SdkVerifyIdpIdentityResult>;
  SessionConnection: ResolverTypeWrapper<SessionConnection>;
  SessionEdge: ResolverTypeWrapper<SessionEdge>;
  SessionPageInfo: ResolverTypeWrapper<Types.SessionPageInfo>;
  CustomerUsageSummaryDto: ResolverTypeWrapper<Types.CustomerUsageSummaryDto>;
  TranscribeSpeechInput: Types.TranscribeSpeechInput;
  TranscribeSpeechResultDto: ResolverTypeWrapper<Types.TranscribeSpeechResultDto>;
  SdkEndSessionInput: Types.SdkEndSessionInput;
  SdkEndSessionResult: ResolverTypeWrapper<Types.SdkEndSessionResult>;
  SdkEvaluationResult: ResolverTypeWrapper<Types.SdkEvaluationResult>;
  SessionEvent: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['SessionEvent']>;
  AiResponseChunkEvent: ResolverTypeWrapper<Types.AiResponseChunkEvent>;
  ToolCallEvent: ResolverTypeWrapper<Types.ToolCallEvent>;
  AiResponseEvent: ResolverTypeWrapper<Types.AiResponseEvent>;
  TurnFailedEvent: ResolverTypeWrapper<Types.TurnFailedEvent>;
  SessionStatusEvent: ResolverTypeWrapper<Types.SessionStatusEvent>;
  EvaluationDto: ResolverTypeWrapper<EvaluationDto>;
  ExportKind: Types.ExportKind;
  ExportStatus: Types.ExportStatus;
  ExportRecordDto: ResolverTypeWrapper<Types.ExportRecordDto>;
  ExternalSyncStatus: Types.ExternalSyncStatus;
  ExternalSyncDeliveryDto: ResolverTypeWrapper<Types.ExternalSyncDeliveryDto>;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  ID: ResolverTypeWrapper<Types.Scalars['ID']['output']>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Subscription: ResolverTypeWrapper<Record<PropertyKey, never>>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  DateTime: Types.Scalars['DateTime']['output'];
  JSON: Types.Scalars['JSON']['output'];
  JSONObject: Types.Scalars['JSONObject']['output'];
  AgentDto: Types.AgentDto;
  Int: Types.Scalars['Int']['output'];
  SessionDto: SessionDto;
  Float: Types.Scalars['Float']['output'];
  String: Types.Scalars['String']['output'];
  MessageDto: Types.MessageDto;
  Boolean: Types.Scalars['Boolean']['output'];
  CitationDto: Types.CitationDto;
  ToolCallDto: Types.ToolCallDto;
  StartSessionInput: Types.StartSessionInput;
  SendMessageInput: Types.SendMessageInput;
  SdkStartInput: Types.SdkStartInput;
  SdkStartResult: Types.SdkStartResult;
  RefreshAvatarTokenInput: Types.RefreshAvatarTokenInput;
  RefreshAvatarTokenResult: Types.RefreshAvatarTokenResult;
  SdkSendMessageInput: Types.SdkSendMessageInput;
  ProductTicketInput: Types.ProductTicketInput;
  SdkVerifyIdpIdentityInput: Types.SdkVerifyIdpIdentityInput;
  SdkVerifyIdpIdentityResult: Types.SdkVerifyIdpIdentityResult;
  SessionConnection: SessionConnection;
  SessionEdge: SessionEdge;
  SessionPageInfo: Types.SessionPageInfo;
  CustomerUsageSummaryDto: Types.CustomerUsageSummaryDto;
  TranscribeSpeechInput: Types.TranscribeSpeechInput;
  TranscribeSpeechResultDto: Types.TranscribeSpeechResultDto;
  SdkEndSessionInput: Types.SdkEndSessionInput;
  SdkEndSessionResult: Types.SdkEndSessionResult;
  SdkEvaluationResult: Types.SdkEvaluationResult;
  SessionEvent: ResolversInterfaceTypes<ResolversParentTypes>['SessionEvent'];
  AiResponseChunkEvent: Types.AiResponseChunkEvent;
  ToolCallEvent: Types.ToolCallEvent;
  AiResponseEvent: Types.AiResponseEvent;
  TurnFailedEvent: Types.TurnFailedEvent;
  SessionStatusEvent: Types.SessionStatusEvent;
  EvaluationDto: EvaluationDto;
  ExportRecordDto: Types.ExportRecordDto;
  ExternalSyncDeliveryDto: Types.ExternalSyncDeliveryDto;
  Query: Record<PropertyKey, never>;
  ID: Types.Scalars['ID']['output'];
  Mutation: Record<PropertyKey, never>;
  Subscription: Record<PropertyKey, never>;
};

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export interface JsonScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSON'], any> {
  name: 'JSON';
}

export interface JsonObjectScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSONObject'], any> {
  name: 'JSONObject';
}

export type AgentDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AgentDto'] = ResolversParentTypes['AgentDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type SessionDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SessionDto'] = ResolversParentTypes['SessionDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  agentId?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  agent?: Resolver<Types.Maybe<ResolversTypes['AgentDto']>, ParentType, ContextType>;
  status?: Resolver<ResolversTypes['SessionStatus'], ParentType, ContextType>;
  clientExternalId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  metadata?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  messages?: Resolver<Array<ResolversTypes['MessageDto']>, ParentType, ContextType, Partial<Types.SessionDtoMessagesArgs>>;
  interruptCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  totalTokensInContext?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  startedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  endedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  lastEventAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type MessageDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['MessageDto'] = ResolversParentTypes['MessageDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  role?: Resolver<ResolversTypes['MessageRole'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  turnIndex?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  tokensIn?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  tokensOut?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  tokensEstimated?: Resolver<Types.Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  modelId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  finishReason?: Resolver<Types.Maybe<ResolversTypes['FinishReason']>, ParentType, ContextType>;
  structuredContent?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  citations?: Resolver<Types.Maybe<Array<ResolversTypes['CitationDto']>>, ParentType, ContextType>;
  toolCalls?: Resolver<Types.Maybe<Array<ResolversTypes['ToolCallDto']>>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type CitationDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CitationDto'] = ResolversParentTypes['CitationDto']> = {
  documentId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  documentName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  chunkIndex?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  score?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  preview?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ToolCallDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ToolCallDto'] = ResolversParentTypes['ToolCallDto']> = {
  callId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['ToolCallStatus'], ParentType, ContextType>;
  durationMs?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  errorKind?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SdkStartResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SdkStartResult'] = ResolversParentTypes['SdkStartResult']> = {
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  agentId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  avatarToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  avatarServiceUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  graphqlEndpoint?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  avatarGlb?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  avatarGender?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  ttsVoice?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  ttsLang?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  lipsyncLang?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  speakingRate?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  vadThreshold?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type RefreshAvatarTokenResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RefreshAvatarTokenResult'] = ResolversParentTypes['RefreshAvatarTokenResult']> = {
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  avatarToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  expiresInMs?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type SdkVerifyIdpIdentityResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SdkVerifyIdpIdentityResult'] = ResolversParentTypes['SdkVerifyIdpIdentityResult']> = {
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  subject?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  email?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  fullname?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  company?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  linkedProducts?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SessionConnectionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SessionConnection'] = ResolversParentTypes['SessionConnection']> = {
  edges?: Resolver<Array<ResolversTypes['SessionEdge']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['SessionPageInfo'], ParentType, ContextType>;
  totalCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type SessionEdgeResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SessionEdge'] = ResolversParentTypes['SessionEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['SessionDto'], ParentType, ContextType>;
};

export type SessionPageInfoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SessionPageInfo'] = ResolversParentTypes['SessionPageInfo']> = {
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  endCursor?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type CustomerUsageSummaryDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['CustomerUsageSummaryDto'] = ResolversParentTypes['CustomerUsageSummaryDto']> = {
  externalCustomerId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tokensIn?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tokensOut?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type TranscribeSpeechResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TranscribeSpeechResultDto'] = ResolversParentTypes['TranscribeSpeechResultDto']> = {
  transcript?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  confidence?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  languageCode?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type SdkEndSessionResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SdkEndSessionResult'] = ResolversParentTypes['SdkEndSessionResult']> = {
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  durationSeconds?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  evaluation?: Resolver<Types.Maybe<ResolversTypes['SdkEvaluationResult']>, ParentType, ContextType>;
};

export type SdkEvaluationResultResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SdkEvaluationResult'] = ResolversParentTypes['SdkEvaluationResult']> = {
  score?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  recommendation?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  summary?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  strengths?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
};

export type SessionEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SessionEvent'] = ResolversParentTypes['SessionEvent']> = {
  __resolveType: TypeResolveFn<'AiResponseChunkEvent' | 'ToolCallEvent' | 'AiResponseEvent' | 'TurnFailedEvent' | 'SessionStatusEvent', ParentType, ContextType>;
};

export type AiResponseChunkEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AiResponseChunkEvent'] = ResolversParentTypes['AiResponseChunkEvent']> = {
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  clientTurnId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  turnIndex?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  attempt?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ToolCallEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ToolCallEvent'] = ResolversParentTypes['ToolCallEvent']> = {
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  clientTurnId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  turnIndex?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  attempt?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  callId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['ToolCallStatus'], ParentType, ContextType>;
  durationMs?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  errorKind?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type AiResponseEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AiResponseEvent'] = ResolversParentTypes['AiResponseEvent']> = {
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  clientTurnId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  turnIndex?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['MessageDto'], ParentType, ContextType>;
  interrupted?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  finishReason?: Resolver<Types.Maybe<ResolversTypes['FinishReason']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TurnFailedEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TurnFailedEvent'] = ResolversParentTypes['TurnFailedEvent']> = {
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  clientTurnId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  turnIndex?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  code?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type SessionStatusEventResolvers<ContextType = Context, ParentType extends ResolversParentTypes['SessionStatusEvent'] = ResolversParentTypes['SessionStatusEvent']> = {
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['SessionStatus'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type EvaluationDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['EvaluationDto'] = ResolversParentTypes['EvaluationDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  score?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  summary?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  strengths?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
  weaknesses?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
  recommendation?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  transcript?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  generatedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type ExportRecordDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExportRecordDto'] = ResolversParentTypes['ExportRecordDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['ExportKind'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['ExportStatus'], ParentType, ContextType>;
  downloadUrl?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  errorMessage?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  fileSizeBytes?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type ExternalSyncDeliveryDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['ExternalSyncDeliveryDto'] = ResolversParentTypes['ExternalSyncDeliveryDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  agentId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  sessionId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  webhookId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['ExternalSyncStatus'], ParentType, ContextType>;
  attempts?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  lastError?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  nextAttemptAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  deliveredAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  session?: Resolver<Types.Maybe<ResolversTypes['SessionDto']>, ParentType, ContextType, RequireFields<Types.QuerySessionArgs, 'id'>>;
  sessions?: Resolver<Array<ResolversTypes['SessionDto']>, ParentType, ContextType, Partial<Types.QuerySessionsArgs>>;
  sessionCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  avatarToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sessionsByExternalCustomerId?: Resolver<ResolversTypes['SessionConnection'], ParentType, ContextType, RequireFields<Types.QuerySessionsByExternalCustomerIdArgs, 'externalCustomerId' | 'first'>>;
  customerUsageSummary?: Resolver<ResolversTypes['CustomerUsageSummaryDto'], ParentType, ContextType, RequireFields<Types.QueryCustomerUsageSummaryArgs, 'externalCustomerId'>>;
  externalSyncDeliveries?: Resolver<Array<ResolversTypes['ExternalSyncDeliveryDto']>, ParentType, ContextType, RequireFields<Types.QueryExternalSyncDeliveriesArgs, 'agentId' | 'first'>>;
  evaluation?: Resolver<Types.Maybe<ResolversTypes['EvaluationDto']>, ParentType, ContextType, RequireFields<Types.QueryEvaluationArgs, 'sessionId'>>;
  exportRecord?: Resolver<ResolversTypes['ExportRecordDto'], ParentType, ContextType, RequireFields<Types.QueryExportRecordArgs, 'id'>>;
};

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  sdkStart?: Resolver<ResolversTypes['SdkStartResult'], ParentType, ContextType, RequireFields<Types.MutationSdkStartArgs, 'input'>>;
  refreshAvatarToken?: Resolver<ResolversTypes['RefreshAvatarTokenResult'], ParentType, ContextType, RequireFields<Types.MutationRefreshAvatarTokenArgs, 'input'>>;
  sdkVerifyIdpIdentity?: Resolver<ResolversTypes['SdkVerifyIdpIdentityResult'], ParentType, ContextType, RequireFields<Types.MutationSdkVerifyIdpIdentityArgs, 'input'>>;
  sdkSendMessage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationSdkSendMessageArgs, 'input'>>;
  sdkEndSession?: Resolver<ResolversTypes['SdkEndSessionResult'], ParentType, ContextType, RequireFields<Types.MutationSdkEndSessionArgs, 'input'>>;
  transcribeSpeech?: Resolver<ResolversTypes['TranscribeSpeechResultDto'], ParentType, ContextType, RequireFields<Types.MutationTranscribeSpeechArgs, 'input'>>;
  startSession?: Resolver<ResolversTypes['SessionDto'], ParentType, ContextType, RequireFields<Types.MutationStartSessionArgs, 'input'>>;
  sendMessage?: Resolver<ResolversTypes['SessionDto'], ParentType, ContextType, RequireFields<Types.MutationSendMessageArgs, 'input'>>;
  endSession?: Resolver<ResolversTypes['SessionDto'], ParentType, ContextType, RequireFields<Types.MutationEndSessionArgs, 'sessionId'>>;
  interruptSession?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationInterruptSessionArgs, 'sessionId'>>;
  requestStudyKitExport?: Resolver<ResolversTypes['ExportRecordDto'], ParentType, ContextType, Partial<Types.MutationRequestStudyKitExportArgs>>;
};

export type SubscriptionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  sessionEvents?: SubscriptionResolver<ResolversTypes['SessionEvent'], "sessionEvents", ParentType, ContextType, RequireFields<Types.SubscriptionSessionEventsArgs, 'sessionId'>>;
};

export type PartialResolvers<ContextType = Context> = {
  DateTime?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  JSONObject?: GraphQLScalarType;
  AgentDto?: AgentDtoResolvers<ContextType>;
  SessionDto?: SessionDtoResolvers<ContextType>;
  MessageDto?: MessageDtoResolvers<ContextType>;
  CitationDto?: CitationDtoResolvers<ContextType>;
  ToolCallDto?: ToolCallDtoResolvers<ContextType>;
  SdkStartResult?: SdkStartResultResolvers<ContextType>;
  RefreshAvatarTokenResult?: RefreshAvatarTokenResultResolvers<ContextType>;
  SdkVerifyIdpIdentityResult?: SdkVerifyIdpIdentityResultResolvers<ContextType>;
  SessionConnection?: SessionConnectionResolvers<ContextType>;
  SessionEdge?: SessionEdgeResolvers<ContextType>;
  SessionPageInfo?: SessionPageInfoResolvers<ContextType>;
  CustomerUsageSummaryDto?: CustomerUsageSummaryDtoResolvers<ContextType>;
  TranscribeSpeechResultDto?: TranscribeSpeechResultDtoResolvers<ContextType>;
  SdkEndSessionResult?: SdkEndSessionResultResolvers<ContextType>;
  SdkEvaluationResult?: SdkEvaluationResultResolvers<ContextType>;
  SessionEvent?: SessionEventResolvers<ContextType>;
  AiResponseChunkEvent?: AiResponseChunkEventResolvers<ContextType>;
  ToolCallEvent?: ToolCallEventResolvers<ContextType>;
  AiResponseEvent?: AiResponseEventResolvers<ContextType>;
  TurnFailedEvent?: TurnFailedEventResolvers<ContextType>;
  SessionStatusEvent?: SessionStatusEventResolvers<ContextType>;
  EvaluationDto?: EvaluationDtoResolvers<ContextType>;
  ExportRecordDto?: ExportRecordDtoResolvers<ContextType>;
  ExternalSyncDeliveryDto?: ExternalSyncDeliveryDtoResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
};


/** All that a subgraph resolves: every root field, and what a mapped type does not hold as the schema has it. */
export type Resolvers = PartialResolvers & {
  Query: Required<QueryResolvers>;
  Mutation: Required<MutationResolvers>;
  SessionDto: Needed<SessionDtoResolvers, Types.SessionDto, SessionDto>;
  SessionConnection: Needed<SessionConnectionResolvers, Types.SessionConnection, SessionConnection>;
  SessionEdge: Needed<SessionEdgeResolvers, Types.SessionEdge, SessionEdge>;
  EvaluationDto: Needed<EvaluationDtoResolvers, Types.EvaluationDto, EvaluationDto>;
};

type Needed<Resolvers, Dto, Held> = Required<Pick<Resolvers, NotHeld<Dto, Held> & keyof Resolvers>>;
type NotHeld<Dto, Held> = {
  [Field in keyof Dto]-?: Field extends keyof Held
    ? Exclude<Held[Field], undefined> extends Dto[Field] ? never : Field
    : Field;
}[keyof Dto];
