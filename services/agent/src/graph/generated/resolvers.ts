// Written by scripts/generate from schema.graphql.

import type * as Types from '../../generated/schema.ts';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { AgentDto, AuditLogDto, WorkflowRunDto } from '../mappers.ts';
import type { Context } from '../context.ts';
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };


export type ResolverTypeWrapper<T> = Promise<T> | T;

export type ReferenceResolver<TResult, TReference, TContext> = (
      reference: TReference,
      context: TContext,
      info: GraphQLResolveInfo
    ) => Promise<TResult> | TResult;

      type ScalarCheck<T, S> = S extends true ? T : NullableCheck<T, S>;
      type NullableCheck<T, S> = Types.Maybe<T> extends T ? Types.Maybe<ListCheck<NonNullable<T>, S>> : ListCheck<T, S>;
      type ListCheck<T, S> = T extends (infer U)[] ? NullableCheck<U, S>[] : GraphQLRecursivePick<T, S>;
      export type GraphQLRecursivePick<T, S> = { [K in keyof T & keyof S]: ScalarCheck<T[K], S[K]> };
    
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

/** Mapping of federation types */
export type FederationTypes = {
  AgentDto: AgentDto;
};

/** Mapping of federation reference types */
export type FederationReferenceTypes = {
  AgentDto:
    ( { __typename: 'AgentDto' }
    & GraphQLRecursivePick<FederationTypes['AgentDto'], {"id":true}> );
};



/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  DateTime: ResolverTypeWrapper<Types.Scalars['DateTime']['output']>;
  JSON: ResolverTypeWrapper<Types.Scalars['JSON']['output']>;
  JSONObject: ResolverTypeWrapper<Types.Scalars['JSONObject']['output']>;
  AgentUseCase: Types.AgentUseCase;
  AgentStatus: Types.AgentStatus;
  VoiceTier: Types.VoiceTier;
  AvatarGenderCode: Types.AvatarGenderCode;
  AvatarBackend: Types.AvatarBackend;
  LlmProviderType: Types.LlmProviderType;
  FinishReason: Types.FinishReason;
  AgentDto: ResolverTypeWrapper<AgentDto>;
  Int: ResolverTypeWrapper<Types.Scalars['Int']['output']>;
  String: ResolverTypeWrapper<Types.Scalars['String']['output']>;
  Float: ResolverTypeWrapper<Types.Scalars['Float']['output']>;
  AgentToolDto: ResolverTypeWrapper<Types.AgentToolDto>;
  AgentToolInput: Types.AgentToolInput;
  CreateAgentInput: Types.CreateAgentInput;
  UpdateAgentInput: Types.UpdateAgentInput;
  AgentConfigOptionsDto: ResolverTypeWrapper<Types.AgentConfigOptionsDto>;
  AvatarModelDto: ResolverTypeWrapper<Types.AvatarModelDto>;
  RecommendedTtsVoiceDto: ResolverTypeWrapper<Types.RecommendedTtsVoiceDto>;
  AuditActionEnum: Types.AuditActionEnum;
  AuditLogDto: ResolverTypeWrapper<AuditLogDto>;
  GenerateTextInput: Types.GenerateTextInput;
  GenerateTextResultDto: ResolverTypeWrapper<Types.GenerateTextResultDto>;
  StartTextGenerationResultDto: ResolverTypeWrapper<Types.StartTextGenerationResultDto>;
  TextGenerationEventDto: ResolverTypeWrapper<Types.TextGenerationEventDto>;
  Boolean: ResolverTypeWrapper<Types.Scalars['Boolean']['output']>;
  TestLlmProviderInput: Types.TestLlmProviderInput;
  TestLlmProviderResultDto: ResolverTypeWrapper<Types.TestLlmProviderResultDto>;
  RunWorkflowTaskInput: Types.RunWorkflowTaskInput;
  RunWorkflowTaskResultDto: ResolverTypeWrapper<Types.RunWorkflowTaskResultDto>;
  WorkflowTraceStepDto: ResolverTypeWrapper<Types.WorkflowTraceStepDto>;
  WorkflowRunStatus: Types.WorkflowRunStatus;
  WorkflowRunDto: ResolverTypeWrapper<WorkflowRunDto>;
  WorkflowDto: ResolverTypeWrapper<Types.WorkflowDto>;
  WorkflowVersionDto: ResolverTypeWrapper<Types.WorkflowVersionDto>;
  WorkflowIssueDto: ResolverTypeWrapper<Types.WorkflowIssueDto>;
  CreateWorkflowInput: Types.CreateWorkflowInput;
  UpdateWorkflowInput: Types.UpdateWorkflowInput;
  AiGenerateWorkflowInput: Types.AiGenerateWorkflowInput;
  AiGenerateWorkflowResultDto: ResolverTypeWrapper<Types.AiGenerateWorkflowResultDto>;
  GenerateWorkflowDiffInput: Types.GenerateWorkflowDiffInput;
  GenerateWorkflowDiffResultDto: ResolverTypeWrapper<Types.GenerateWorkflowDiffResultDto>;
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
  AgentDto: AgentDto;
  Int: Types.Scalars['Int']['output'];
  String: Types.Scalars['String']['output'];
  Float: Types.Scalars['Float']['output'];
  AgentToolDto: Types.AgentToolDto;
  AgentToolInput: Types.AgentToolInput;
  CreateAgentInput: Types.CreateAgentInput;
  UpdateAgentInput: Types.UpdateAgentInput;
  AgentConfigOptionsDto: Types.AgentConfigOptionsDto;
  AvatarModelDto: Types.AvatarModelDto;
  RecommendedTtsVoiceDto: Types.RecommendedTtsVoiceDto;
  AuditLogDto: AuditLogDto;
  GenerateTextInput: Types.GenerateTextInput;
  GenerateTextResultDto: Types.GenerateTextResultDto;
  StartTextGenerationResultDto: Types.StartTextGenerationResultDto;
  TextGenerationEventDto: Types.TextGenerationEventDto;
  Boolean: Types.Scalars['Boolean']['output'];
  TestLlmProviderInput: Types.TestLlmProviderInput;
  TestLlmProviderResultDto: Types.TestLlmProviderResultDto;
  RunWorkflowTaskInput: Types.RunWorkflowTaskInput;
  RunWorkflowTaskResultDto: Types.RunWorkflowTaskResultDto;
  WorkflowTraceStepDto: Types.WorkflowTraceStepDto;
  WorkflowRunDto: WorkflowRunDto;
  WorkflowDto: Types.WorkflowDto;
  WorkflowVersionDto: Types.WorkflowVersionDto;
  WorkflowIssueDto: Types.WorkflowIssueDto;
  CreateWorkflowInput: Types.CreateWorkflowInput;
  UpdateWorkflowInput: Types.UpdateWorkflowInput;
  AiGenerateWorkflowInput: Types.AiGenerateWorkflowInput;
  AiGenerateWorkflowResultDto: Types.AiGenerateWorkflowResultDto;
  GenerateWorkflowDiffInput: Types.GenerateWorkflowDiffInput;
  GenerateWorkflowDiffResultDto: Types.GenerateWorkflowDiffResultDto;
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

export type AgentDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AgentDto'] = ResolversParentTypes['AgentDto'], FederationReferenceType extends FederationReferenceTypes['AgentDto'] = FederationReferenceTypes['AgentDto']> = {
  __resolveReference?: ReferenceResolver<Types.Maybe<ResolversTypes['AgentDto']> | FederationReferenceType, FederationReferenceType, ContextType>;
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  personaPrompt?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  position?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  subject?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  openingGreeting?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  useCase?: Resolver<ResolversTypes['AgentUseCase'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['AgentStatus'], ParentType, ContextType>;
  workflowId?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  voiceTier?: Resolver<ResolversTypes['VoiceTier'], ParentType, ContextType>;
  ttsVoice?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  ttsLang?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  speakingRate?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  vadThreshold?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  avatarGlb?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  avatarGender?: Resolver<Types.Maybe<ResolversTypes['AvatarGenderCode']>, ParentType, ContextType>;
  lipsyncLang?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  evaluationPromptTemplate?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  evaluationRecommendationLabels?: Resolver<Types.Maybe<Array<ResolversTypes['String']>>, ParentType, ContextType>;
  externalSyncUrl?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  externalSyncSecretRef?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  externalSyncOwnerId?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  externalSyncSchemaConfig?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  llmProviderOverride?: Resolver<Types.Maybe<ResolversTypes['LlmProviderType']>, ParentType, ContextType>;
  llmModelOverride?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  avatarBackend?: Resolver<ResolversTypes['AvatarBackend'], ParentType, ContextType>;
  avatarBackendConfig?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  knowledgeBaseIds?: Resolver<Types.Maybe<Array<ResolversTypes['Int']>>, ParentType, ContextType>;
  tools?: Resolver<Array<ResolversTypes['AgentToolDto']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type AgentToolDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AgentToolDto'] = ResolversParentTypes['AgentToolDto']> = {
  connectorId?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  tool?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  actionId?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type AgentConfigOptionsDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AgentConfigOptionsDto'] = ResolversParentTypes['AgentConfigOptionsDto']> = {
  avatarModels?: Resolver<Array<ResolversTypes['AvatarModelDto']>, ParentType, ContextType>;
  recommendedTtsVoices?: Resolver<Array<ResolversTypes['RecommendedTtsVoiceDto']>, ParentType, ContextType>;
  ttsVoiceCatalogUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  sttLanguageCatalogUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  lipsyncModuleDocsUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type AvatarModelDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AvatarModelDto'] = ResolversParentTypes['AvatarModelDto']> = {
  id?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  filename?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  label?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  gender?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type RecommendedTtsVoiceDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RecommendedTtsVoiceDto'] = ResolversParentTypes['RecommendedTtsVoiceDto']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  languageCode?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  gender?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  tier?: Resolver<ResolversTypes['VoiceTier'], ParentType, ContextType>;
};

export type AuditLogDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AuditLogDto'] = ResolversParentTypes['AuditLogDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  auditableType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  auditableId?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  action?: Resolver<ResolversTypes['AuditActionEnum'], ParentType, ContextType>;
  userId?: Resolver<Types.Maybe<ResolversTypes['Float']>, ParentType, ContextType>;
  username?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  changes?: Resolver<Types.Maybe<ResolversTypes['JSONObject']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type GenerateTextResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['GenerateTextResultDto'] = ResolversParentTypes['GenerateTextResultDto']> = {
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  providerId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  modelId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  finishReason?: Resolver<Types.Maybe<ResolversTypes['FinishReason']>, ParentType, ContextType>;
};

export type StartTextGenerationResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['StartTextGenerationResultDto'] = ResolversParentTypes['StartTextGenerationResultDto']> = {
  requestId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TextGenerationEventDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TextGenerationEventDto'] = ResolversParentTypes['TextGenerationEventDto']> = {
  requestId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  done?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  providerId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  modelId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  error?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  finishReason?: Resolver<Types.Maybe<ResolversTypes['FinishReason']>, ParentType, ContextType>;
};

export type TestLlmProviderResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['TestLlmProviderResultDto'] = ResolversParentTypes['TestLlmProviderResultDto']> = {
  ok?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  providerId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  modelId?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  latencyMs?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  error?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type RunWorkflowTaskResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['RunWorkflowTaskResultDto'] = ResolversParentTypes['RunWorkflowTaskResultDto']> = {
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  structuredContent?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  variables?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  trace?: Resolver<Array<ResolversTypes['WorkflowTraceStepDto']>, ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type WorkflowTraceStepDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowTraceStepDto'] = ResolversParentTypes['WorkflowTraceStepDto']> = {
  nodeId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  startedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  durationMs?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  output?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  error?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tokensIn?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tokensOut?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type WorkflowRunDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowRunDto'] = ResolversParentTypes['WorkflowRunDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  workflowId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  version?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  status?: Resolver<ResolversTypes['WorkflowRunStatus'], ParentType, ContextType>;
  failureCode?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  tokensIn?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  tokensOut?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  trace?: Resolver<Array<ResolversTypes['WorkflowTraceStepDto']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type WorkflowDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowDto'] = ResolversParentTypes['WorkflowDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  draft?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  published?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  publishedVersion?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  publishedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type WorkflowVersionDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowVersionDto'] = ResolversParentTypes['WorkflowVersionDto']> = {
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  definition?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  publishedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  publishedBy?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
};

export type WorkflowIssueDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['WorkflowIssueDto'] = ResolversParentTypes['WorkflowIssueDto']> = {
  path?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type AiGenerateWorkflowResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['AiGenerateWorkflowResultDto'] = ResolversParentTypes['AiGenerateWorkflowResultDto']> = {
  definition?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  summary?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type GenerateWorkflowDiffResultDtoResolvers<ContextType = Context, ParentType extends ResolversParentTypes['GenerateWorkflowDiffResultDto'] = ResolversParentTypes['GenerateWorkflowDiffResultDto']> = {
  definition?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  patch?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
  summary?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type QueryResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  workflowRuns?: Resolver<Array<ResolversTypes['WorkflowRunDto']>, ParentType, ContextType, RequireFields<Types.QueryWorkflowRunsArgs, 'sessionId'>>;
  agent?: Resolver<Types.Maybe<ResolversTypes['AgentDto']>, ParentType, ContextType, RequireFields<Types.QueryAgentArgs, 'id'>>;
  agents?: Resolver<Array<ResolversTypes['AgentDto']>, ParentType, ContextType, Partial<Types.QueryAgentsArgs>>;
  agentCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  agentConfigOptions?: Resolver<ResolversTypes['AgentConfigOptionsDto'], ParentType, ContextType>;
  agentAuditLogs?: Resolver<Array<ResolversTypes['AuditLogDto']>, ParentType, ContextType, RequireFields<Types.QueryAgentAuditLogsArgs, 'id'>>;
  generateText?: Resolver<ResolversTypes['GenerateTextResultDto'], ParentType, ContextType, RequireFields<Types.QueryGenerateTextArgs, 'input'>>;
  workflow?: Resolver<Types.Maybe<ResolversTypes['WorkflowDto']>, ParentType, ContextType, RequireFields<Types.QueryWorkflowArgs, 'id'>>;
  workflows?: Resolver<Array<ResolversTypes['WorkflowDto']>, ParentType, ContextType>;
  workflowVersions?: Resolver<Array<ResolversTypes['WorkflowVersionDto']>, ParentType, ContextType, RequireFields<Types.QueryWorkflowVersionsArgs, 'workflowId'>>;
  compareWorkflowVersions?: Resolver<ResolversTypes['JSON'], ParentType, ContextType, RequireFields<Types.QueryCompareWorkflowVersionsArgs, 'workflowId' | 'from'>>;
  validateWorkflow?: Resolver<Array<ResolversTypes['WorkflowIssueDto']>, ParentType, ContextType, RequireFields<Types.QueryValidateWorkflowArgs, 'definition'>>;
  workflowDefinitionSchema?: Resolver<ResolversTypes['JSON'], ParentType, ContextType>;
};

export type MutationResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  runWorkflowTask?: Resolver<ResolversTypes['RunWorkflowTaskResultDto'], ParentType, ContextType, RequireFields<Types.MutationRunWorkflowTaskArgs, 'input'>>;
  createAgent?: Resolver<ResolversTypes['AgentDto'], ParentType, ContextType, RequireFields<Types.MutationCreateAgentArgs, 'input'>>;
  updateAgent?: Resolver<ResolversTypes['AgentDto'], ParentType, ContextType, RequireFields<Types.MutationUpdateAgentArgs, 'id' | 'input'>>;
  deleteAgent?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationDeleteAgentArgs, 'id'>>;
  createWorkflow?: Resolver<ResolversTypes['WorkflowDto'], ParentType, ContextType, RequireFields<Types.MutationCreateWorkflowArgs, 'input'>>;
  updateWorkflow?: Resolver<ResolversTypes['WorkflowDto'], ParentType, ContextType, RequireFields<Types.MutationUpdateWorkflowArgs, 'id' | 'input'>>;
  publishWorkflow?: Resolver<ResolversTypes['WorkflowDto'], ParentType, ContextType, RequireFields<Types.MutationPublishWorkflowArgs, 'id'>>;
  restoreWorkflowVersion?: Resolver<ResolversTypes['WorkflowDto'], ParentType, ContextType, RequireFields<Types.MutationRestoreWorkflowVersionArgs, 'id' | 'version'>>;
  deleteWorkflow?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationDeleteWorkflowArgs, 'id'>>;
  aiGenerateWorkflow?: Resolver<ResolversTypes['AiGenerateWorkflowResultDto'], ParentType, ContextType, RequireFields<Types.MutationAiGenerateWorkflowArgs, 'input'>>;
  generateWorkflowDiff?: Resolver<ResolversTypes['GenerateWorkflowDiffResultDto'], ParentType, ContextType, RequireFields<Types.MutationGenerateWorkflowDiffArgs, 'input'>>;
  startTextGeneration?: Resolver<ResolversTypes['StartTextGenerationResultDto'], ParentType, ContextType, RequireFields<Types.MutationStartTextGenerationArgs, 'input'>>;
  testLlmProvider?: Resolver<ResolversTypes['TestLlmProviderResultDto'], ParentType, ContextType, RequireFields<Types.MutationTestLlmProviderArgs, 'input'>>;
};

export type SubscriptionResolvers<ContextType = Context, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  textGenerationEvents?: SubscriptionResolver<ResolversTypes['TextGenerationEventDto'], "textGenerationEvents", ParentType, ContextType, RequireFields<Types.SubscriptionTextGenerationEventsArgs, 'requestId'>>;
};

export type PartialResolvers<ContextType = Context> = {
  DateTime?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  JSONObject?: GraphQLScalarType;
  AgentDto?: AgentDtoResolvers<ContextType>;
  AgentToolDto?: AgentToolDtoResolvers<ContextType>;
  AgentConfigOptionsDto?: AgentConfigOptionsDtoResolvers<ContextType>;
  AvatarModelDto?: AvatarModelDtoResolvers<ContextType>;
  RecommendedTtsVoiceDto?: RecommendedTtsVoiceDtoResolvers<ContextType>;
  AuditLogDto?: AuditLogDtoResolvers<ContextType>;
  GenerateTextResultDto?: GenerateTextResultDtoResolvers<ContextType>;
  StartTextGenerationResultDto?: StartTextGenerationResultDtoResolvers<ContextType>;
  TextGenerationEventDto?: TextGenerationEventDtoResolvers<ContextType>;
  TestLlmProviderResultDto?: TestLlmProviderResultDtoResolvers<ContextType>;
  RunWorkflowTaskResultDto?: RunWorkflowTaskResultDtoResolvers<ContextType>;
  WorkflowTraceStepDto?: WorkflowTraceStepDtoResolvers<ContextType>;
  WorkflowRunDto?: WorkflowRunDtoResolvers<ContextType>;
  WorkflowDto?: WorkflowDtoResolvers<ContextType>;
  WorkflowVersionDto?: WorkflowVersionDtoResolvers<ContextType>;
  WorkflowIssueDto?: WorkflowIssueDtoResolvers<ContextType>;
  AiGenerateWorkflowResultDto?: AiGenerateWorkflowResultDtoResolvers<ContextType>;
  GenerateWorkflowDiffResultDto?: GenerateWorkflowDiffResultDtoResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
};


/** All that a subgraph resolves: every root field, and what a mapped type does not hold as the schema has it. */
export type Resolvers = PartialResolvers & {
  Query: Required<QueryResolvers>;
  Mutation: Required<MutationResolvers>;
  AgentDto: Needed<AgentDtoResolvers, Types.AgentDto, AgentDto>;
  AuditLogDto: Needed<AuditLogDtoResolvers, Types.AuditLogDto, AuditLogDto>;
  WorkflowRunDto: Needed<WorkflowRunDtoResolvers, Types.WorkflowRunDto, WorkflowRunDto>;
};

type Needed<Resolvers, Dto, Held> = Required<Pick<Resolvers, NotHeld<Dto, Held> & keyof Resolvers>>;
type NotHeld<Dto, Held> = {
  [Field in keyof Dto]-?: Field extends keyof Held
    ? Exclude<Held[Field], undefined> extends Dto[Field] ? never : Field
    : Field;
}[keyof Dto];
