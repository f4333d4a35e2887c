// Written by scripts/generate from schema.graphql.

import type * as Types from '../../generated/schema.ts';
import type { Ports } from '../../ports.ts';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
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
  McpConnectorDto: ResolverTypeWrapper<Types.McpConnectorDto>;
  Int: ResolverTypeWrapper<Types.Scalars['Int']['output']>;
  String: ResolverTypeWrapper<Types.Scalars['String']['output']>;
  McpToolSchemaDto: ResolverTypeWrapper<Types.McpToolSchemaDto>;
  CustomActionDto: ResolverTypeWrapper<Types.CustomActionDto>;
  CertifiedOperationDto: ResolverTypeWrapper<Types.CertifiedOperationDto>;
  OutboundCallKind: Types.OutboundCallKind;
  OutboundCallDto: ResolverTypeWrapper<Types.OutboundCallDto>;
  CreateMcpConnectorInput: Types.CreateMcpConnectorInput;
  UpdateMcpConnectorInput: Types.UpdateMcpConnectorInput;
  CreateCustomActionInput: Types.CreateCustomActionInput;
  UpdateCustomActionInput: Types.UpdateCustomActionInput;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Boolean: ResolverTypeWrapper<Types.Scalars['Boolean']['output']>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  DateTime: Types.Scalars['DateTime']['output'];
  JSON: Types.Scalars['JSON']['output'];
  JSONObject: Types.Scalars['JSONObject']['output'];
  McpConnectorDto: Types.McpConnectorDto;
  Int: Types.Scalars['Int']['output'];
  String: Types.Scalars['String']['output'];
  McpToolSchemaDto: Types.McpToolSchemaDto;
  CustomActionDto: Types.CustomActionDto;
  CertifiedOperationDto: Types.CertifiedOperationDto;
  OutboundCallDto: Types.OutboundCallDto;
  CreateMcpConnectorInput: Types.CreateMcpConnectorInput;
  UpdateMcpConnectorInput: Types.UpdateMcpConnectorInput;
  CreateCustomActionInput: Types.CreateCustomActionInput;
  UpdateCustomActionInput: Types.UpdateCustomActionInput;
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

export type McpConnectorDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['McpConnectorDto'] = ResolversParentTypes['McpConnectorDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  serverUrl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type McpToolSchemaDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['McpToolSchemaDto'] = ResolversParentTypes['McpToolSchemaDto']> = {
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  inputSchema?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  changedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type CustomActionDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['CustomActionDto'] = ResolversParentTypes['CustomActionDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  method?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  argsSchema?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  extraHeaders?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  credentialSecretHeaderName?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  credentialSource?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type CertifiedOperationDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['CertifiedOperationDto'] = ResolversParentTypes['CertifiedOperationDto']> = {
  key?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  description?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  method?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  argsSchema?: Resolver<Types.Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  compatibleCredentialSources?: Resolver<Array<ResolversTypes['String']>, ParentType, ContextType>;
};

export type OutboundCallDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['OutboundCallDto'] = ResolversParentTypes['OutboundCallDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  at?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['OutboundCallKind'], ParentType, ContextType>;
  target?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<Types.Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  durationMs?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  bytes?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  errorKind?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type QueryResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  mcpConnector?: Resolver<Types.Maybe<ResolversTypes['McpConnectorDto']>, ParentType, ContextType, RequireFields<Types.QueryMcpConnectorArgs, 'id'>>;
  mcpConnectors?: Resolver<Array<ResolversTypes['McpConnectorDto']>, ParentType, ContextType>;
  listMcpTools?: Resolver<Array<ResolversTypes['McpToolSchemaDto']>, ParentType, ContextType, RequireFields<Types.QueryListMcpToolsArgs, 'connectorId'>>;
  customActions?: Resolver<Array<ResolversTypes['CustomActionDto']>, ParentType, ContextType>;
  certifiedOperations?: Resolver<Array<ResolversTypes['CertifiedOperationDto']>, ParentType, ContextType>;
  outboundCalls?: Resolver<Array<ResolversTypes['OutboundCallDto']>, ParentType, ContextType, RequireFields<Types.QueryOutboundCallsArgs, 'first'>>;
};

export type MutationResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  createMcpConnector?: Resolver<ResolversTypes['McpConnectorDto'], ParentType, ContextType, RequireFields<Types.MutationCreateMcpConnectorArgs, 'input'>>;
  updateMcpConnector?: Resolver<ResolversTypes['McpConnectorDto'], ParentType, ContextType, RequireFields<Types.MutationUpdateMcpConnectorArgs, 'input'>>;
  deleteMcpConnector?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationDeleteMcpConnectorArgs, 'id'>>;
  createCustomAction?: Resolver<ResolversTypes['CustomActionDto'], ParentType, ContextType, RequireFields<Types.MutationCreateCustomActionArgs, 'input'>>;
  updateCustomAction?: Resolver<ResolversTypes['CustomActionDto'], ParentType, ContextType, RequireFields<Types.MutationUpdateCustomActionArgs, 'input'>>;
  deleteCustomAction?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationDeleteCustomActionArgs, 'id'>>;
};

export type PartialResolvers<ContextType = PortsContext<Ports>> = {
  DateTime?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  JSONObject?: GraphQLScalarType;
  McpConnectorDto?: McpConnectorDtoResolvers<ContextType>;
  McpToolSchemaDto?: McpToolSchemaDtoResolvers<ContextType>;
  CustomActionDto?: CustomActionDtoResolvers<ContextType>;
  CertifiedOperationDto?: CertifiedOperationDtoResolvers<ContextType>;
  OutboundCallDto?: OutboundCallDtoResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
};


/** All that a subgraph resolves: every root field, and what a mapped type does not hold as the schema has it. */
export type Resolvers = PartialResolvers & {
  Query: Required<QueryResolvers>;
  Mutation: Required<MutationResolvers>;
};

type Needed<Resolvers, Dto, Held> = Required<Pick<Resolvers, NotHeld<Dto, Held> & keyof Resolvers>>;
type NotHeld<Dto, Held> = {
  [Field in keyof Dto]-?: Field extends keyof Held
    ? Exclude<Held[Field], undefined> extends Dto[Field] ? never : Field
    : Field;
}[keyof Dto];
