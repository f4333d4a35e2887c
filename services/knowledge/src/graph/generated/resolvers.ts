// Written by scripts/generate from schema.graphql.

import type * as Types from '../../generated/schema.ts';
import type { Ports } from '../../ports.ts';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { EmbedResultDto } from '../mappers.ts';
import type { PortsContext } from '@parley/subgraph/subgraph';
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





/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  DateTime: ResolverTypeWrapper<Types.Scalars['DateTime']['output']>;
  JSON: ResolverTypeWrapper<Types.Scalars['JSON']['output']>;
  JSONObject: ResolverTypeWrapper<Types.Scalars['JSONObject']['output']>;
  KnowledgeBaseDto: ResolverTypeWrapper<Types.KnowledgeBaseDto>;
  Int: ResolverTypeWrapper<Types.Scalars['Int']['output']>;
  String: ResolverTypeWrapper<Types.Scalars['String']['output']>;
  KnowledgeDocumentDto: ResolverTypeWrapper<Types.KnowledgeDocumentDto>;
  KnowledgeChunkPreviewDto: ResolverTypeWrapper<Types.KnowledgeChunkPreviewDto>;
  Float: ResolverTypeWrapper<Types.Scalars['Float']['output']>;
  RetrievalMode: Types.RetrievalMode;
  EmbedResultDto: ResolverTypeWrapper<EmbedResultDto>;
  EmbedUsageDto: ResolverTypeWrapper<Types.EmbedUsageDto>;
  CreateKnowledgeBaseInput: Types.CreateKnowledgeBaseInput;
  IngestDocumentInput: Types.IngestDocumentInput;
  RequestKnowledgeDocumentUploadInput: Types.RequestKnowledgeDocumentUploadInput;
  RequestKnowledgeDocumentUploadResult: ResolverTypeWrapper<Types.RequestKnowledgeDocumentUploadResult>;
  ConfirmKnowledgeDocumentUploadInput: Types.ConfirmKnowledgeDocumentUploadInput;
  ConfirmKnowledgeDocumentUploadResult: ResolverTypeWrapper<Types.ConfirmKnowledgeDocumentUploadResult>;
  IngestDocumentFromUrlInput: Types.IngestDocumentFromUrlInput;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Boolean: ResolverTypeWrapper<Types.Scalars['Boolean']['output']>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  DateTime: Types.Scalars['DateTime']['output'];
  JSON: Types.Scalars['JSON']['output'];
  JSONObject: Types.Scalars['JSONObject']['output'];
  KnowledgeBaseDto: Types.KnowledgeBaseDto;
  Int: Types.Scalars['Int']['output'];
  String: Types.Scalars['String']['output'];
  KnowledgeDocumentDto: Types.KnowledgeDocumentDto;
  KnowledgeChunkPreviewDto: Types.KnowledgeChunkPreviewDto;
  Float: Types.Scalars['Float']['output'];
  EmbedResultDto: EmbedResultDto;
  EmbedUsageDto: Types.EmbedUsageDto;
  CreateKnowledgeBaseInput: Types.CreateKnowledgeBaseInput;
  IngestDocumentInput: Types.IngestDocumentInput;
  RequestKnowledgeDocumentUploadInput: Types.RequestKnowledgeDocumentUploadInput;
  RequestKnowledgeDocumentUploadResult: Types.RequestKnowledgeDocumentUploadResult;
  ConfirmKnowledgeDocumentUploadInput: Types.ConfirmKnowledgeDocumentUploadInput;
  ConfirmKnowledgeDocumentUploadResult: Types.ConfirmKnowledgeDocumentUploadResult;
  IngestDocumentFromUrlInput: Types.IngestDocumentFromUrlInput;
  Query: Record<PropertyKey, never>;
  Mutation: Record<PropertyKey, never>;
  Boolean: Types.Scalars['Boolean']['output'];
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

export type KnowledgeBaseDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['KnowledgeBaseDto'] = ResolversParentTypes['KnowledgeBaseDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type KnowledgeDocumentDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['KnowledgeDocumentDto'] = ResolversParentTypes['KnowledgeDocumentDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  fileName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  mimeType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  fileSizeBytes?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  parseStatus?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  parseError?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  parseWarnings?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
  rawText?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type KnowledgeChunkPreviewDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['KnowledgeChunkPreviewDto'] = ResolversParentTypes['KnowledgeChunkPreviewDto']> = {
  chunkId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  documentId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  content?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  score?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  chunkIndex?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  documentName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type EmbedResultDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['EmbedResultDto'] = ResolversParentTypes['EmbedResultDto']> = {
  vectors?: Resolver<Array<Array<ResolversTypes['Float']>>, ParentType, ContextType>;
  usage?: Resolver<ResolversTypes['EmbedUsageDto'], ParentType, ContextType>;
};

export type EmbedUsageDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['EmbedUsageDto'] = ResolversParentTypes['EmbedUsageDto']> = {
  inputTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  outputTokens?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  costUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type RequestKnowledgeDocumentUploadResultResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['RequestKnowledgeDocumentUploadResult'] = ResolversParentTypes['RequestKnowledgeDocumentUploadResult']> = {
  uploadUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  objectStorageKey?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ConfirmKnowledgeDocumentUploadResultResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['ConfirmKnowledgeDocumentUploadResult'] = ResolversParentTypes['ConfirmKnowledgeDocumentUploadResult']> = {
  documentId?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  parseStatus?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type QueryResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  knowledgeBases?: Resolver<Array<ResolversTypes['KnowledgeBaseDto']>, ParentType, ContextType>;
  knowledgeDocuments?: Resolver<Array<ResolversTypes['KnowledgeDocumentDto']>, ParentType, ContextType, RequireFields<Types.QueryKnowledgeDocumentsArgs, 'knowledgeBaseId'>>;
  knowledgeDocument?: Resolver<ResolversTypes['KnowledgeDocumentDto'], ParentType, ContextType, RequireFields<Types.QueryKnowledgeDocumentArgs, 'id'>>;
  retrieveChunks?: Resolver<Array<ResolversTypes['KnowledgeChunkPreviewDto']>, ParentType, ContextType, RequireFields<Types.QueryRetrieveChunksArgs, 'knowledgeBaseId' | 'query' | 'topK' | 'mode'>>;
  embed?: Resolver<ResolversTypes['EmbedResultDto'], ParentType, ContextType, RequireFields<Types.QueryEmbedArgs, 'texts'>>;
};

export type MutationResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  createKnowledgeBase?: Resolver<ResolversTypes['KnowledgeBaseDto'], ParentType, ContextType, RequireFields<Types.MutationCreateKnowledgeBaseArgs, 'input'>>;
  deleteKnowledgeBase?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationDeleteKnowledgeBaseArgs, 'id'>>;
  ingestDocument?: Resolver<ResolversTypes['Int'], ParentType, ContextType, RequireFields<Types.MutationIngestDocumentArgs, 'input'>>;
  requestKnowledgeDocumentUpload?: Resolver<ResolversTypes['RequestKnowledgeDocumentUploadResult'], ParentType, ContextType, RequireFields<Types.MutationRequestKnowledgeDocumentUploadArgs, 'input'>>;
  confirmKnowledgeDocumentUpload?: Resolver<ResolversTypes['ConfirmKnowledgeDocumentUploadResult'], ParentType, ContextType, RequireFields<Types.MutationConfirmKnowledgeDocumentUploadArgs, 'input'>>;
  deleteKnowledgeDocument?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationDeleteKnowledgeDocumentArgs, 'id'>>;
  resyncKnowledgeDocument?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationResyncKnowledgeDocumentArgs, 'id'>>;
  updateKnowledgeDocumentText?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationUpdateKnowledgeDocumentTextArgs, 'id' | 'text'>>;
  ingestDocumentFromUrl?: Resolver<ResolversTypes['Int'], ParentType, ContextType, RequireFields<Types.MutationIngestDocumentFromUrlArgs, 'input'>>;
};

export type PartialResolvers<ContextType = PortsContext<Ports>> = {
  DateTime?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  JSONObject?: GraphQLScalarType;
  KnowledgeBaseDto?: KnowledgeBaseDtoResolvers<ContextType>;
  KnowledgeDocumentDto?: KnowledgeDocumentDtoResolvers<ContextType>;
  KnowledgeChunkPreviewDto?: KnowledgeChunkPreviewDtoResolvers<ContextType>;
  EmbedResultDto?: EmbedResultDtoResolvers<ContextType>;
  EmbedUsageDto?: EmbedUsageDtoResolvers<ContextType>;
  RequestKnowledgeDocumentUploadResult?: RequestKnowledgeDocumentUploadResultResolvers<ContextType>;
  ConfirmKnowledgeDocumentUploadResult?: ConfirmKnowledgeDocumentUploadResultResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
};


/** All that a subgraph resolves: every root field, and what a mapped type does not hold as the schema has it. */
export type Resolvers = PartialResolvers & {
  Query: Required<QueryResolvers>;
  Mutation: Required<MutationResolvers>;
  EmbedResultDto: Needed<EmbedResultDtoResolvers, Types.EmbedResultDto, EmbedResultDto>;
};

type Needed<Resolvers, Dto, Held> = Required<Pick<Resolvers, NotHeld<Dto, Held> & keyof Resolvers>>;
type NotHeld<Dto, Held> = {
  [Field in keyof Dto]-?: Field extends keyof Held
    ? Exclude<Held[Field], undefined> extends Dto[Field] ? never : Field
    : Field;
}[keyof Dto];
