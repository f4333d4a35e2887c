// Written by scripts/generate from schema.graphql.

import type * as Types from '../../generated/schema.ts';
import type { Ports } from '../../ports.ts';
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { ApiUsageSummaryDto } from '../mappers.ts';
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
  AccessToken: ResolverTypeWrapper<Types.AccessToken>;
  String: ResolverTypeWrapper<Types.Scalars['String']['output']>;
  Float: ResolverTypeWrapper<Types.Scalars['Float']['output']>;
  UserStatusType: Types.UserStatusType;
  User: ResolverTypeWrapper<Types.User>;
  Int: ResolverTypeWrapper<Types.Scalars['Int']['output']>;
  Boolean: ResolverTypeWrapper<Types.Scalars['Boolean']['output']>;
  AuthProvider: Types.AuthProvider;
  TenantPlanEnum: Types.TenantPlanEnum;
  PrimaryBillingAccountEnum: Types.PrimaryBillingAccountEnum;
  LlmProviderType: Types.LlmProviderType;
  SignInInput: Types.SignInInput;
  RefreshAccessTokenInput: Types.RefreshAccessTokenInput;
  RegisterInput: Types.RegisterInput;
  ValidateSecuredTokenInput: Types.ValidateSecuredTokenInput;
  TokenPurpose: Types.TokenPurpose;
  GenerateOTPInput: Types.GenerateOtpInput;
  ResetPasswordEmailInput: Types.ResetPasswordEmailInput;
  PasswordWithOTPInput: Types.PasswordWithOtpInput;
  PasswordInput: Types.PasswordInput;
  TwoFactorInfo: ResolverTypeWrapper<Types.TwoFactorInfo>;
  BindTwoFactorInput: Types.BindTwoFactorInput;
  UnbindTwoFactorInput: Types.UnbindTwoFactorInput;
  TenantDto: ResolverTypeWrapper<Types.TenantDto>;
  CreateTenantInput: Types.CreateTenantInput;
  UpdateTenantInput: Types.UpdateTenantInput;
  GenerateApiKeyResult: ResolverTypeWrapper<Types.GenerateApiKeyResult>;
  ApiUsageSummaryDto: ResolverTypeWrapper<ApiUsageSummaryDto>;
  ApiUsageBreakdownItemDto: ResolverTypeWrapper<Types.ApiUsageBreakdownItemDto>;
  AvatarGender: Types.AvatarGender;
  VoiceTier: Types.VoiceTier;
  AvatarConfigDto: ResolverTypeWrapper<Types.AvatarConfigDto>;
  UpsertAvatarConfigInput: Types.UpsertAvatarConfigInput;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  DateTime: Types.Scalars['DateTime']['output'];
  JSON: Types.Scalars['JSON']['output'];
  JSONObject: Types.Scalars['JSONObject']['output'];
  AccessToken: Types.AccessToken;
  String: Types.Scalars['String']['output'];
  Float: Types.Scalars['Float']['output'];
  User: Types.User;
  Int: Types.Scalars['Int']['output'];
  Boolean: Types.Scalars['Boolean']['output'];
  SignInInput: Types.SignInInput;
  RefreshAccessTokenInput: Types.RefreshAccessTokenInput;
  RegisterInput: Types.RegisterInput;
  ValidateSecuredTokenInput: Types.ValidateSecuredTokenInput;
  GenerateOTPInput: Types.GenerateOtpInput;
  ResetPasswordEmailInput: Types.ResetPasswordEmailInput;
  PasswordWithOTPInput: Types.PasswordWithOtpInput;
  PasswordInput: Types.PasswordInput;
  TwoFactorInfo: Types.TwoFactorInfo;
  BindTwoFactorInput: Types.BindTwoFactorInput;
  UnbindTwoFactorInput: Types.UnbindTwoFactorInput;
  TenantDto: Types.TenantDto;
  CreateTenantInput: Types.CreateTenantInput;
  UpdateTenantInput: Types.UpdateTenantInput;
  GenerateApiKeyResult: Types.GenerateApiKeyResult;
  ApiUsageSummaryDto: ApiUsageSummaryDto;
  ApiUsageBreakdownItemDto: Types.ApiUsageBreakdownItemDto;
  AvatarConfigDto: Types.AvatarConfigDto;
  UpsertAvatarConfigInput: Types.UpsertAvatarConfigInput;
  Query: Record<PropertyKey, never>;
  Mutation: Record<PropertyKey, never>;
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

export type AccessTokenResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['AccessToken'] = ResolversParentTypes['AccessToken']> = {
  accessToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  expiresIn?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  refreshToken?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  refreshExpiresIn?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
};

export type UserResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['User'] = ResolversParentTypes['User']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  email?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  fullname?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  username?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  phoneCode?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  phoneNumber?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  idNo?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  idType?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  referralCode?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['UserStatusType'], ParentType, ContextType>;
  twoFactorEnabled?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type TwoFactorInfoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['TwoFactorInfo'] = ResolversParentTypes['TwoFactorInfo']> = {
  secret?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  output?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type TenantDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['TenantDto'] = ResolversParentTypes['TenantDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  plan?: Resolver<ResolversTypes['TenantPlanEnum'], ParentType, ContextType>;
  isSuspended?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  llmProviderOverride?: Resolver<Types.Maybe<ResolversTypes['LlmProviderType']>, ParentType, ContextType>;
  llmModelOverride?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  primaryBillingAccount?: Resolver<ResolversTypes['PrimaryBillingAccountEnum'], ParentType, ContextType>;
  region?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  deletedAt?: Resolver<Types.Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type GenerateApiKeyResultResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['GenerateApiKeyResult'] = ResolversParentTypes['GenerateApiKeyResult']> = {
  key?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  warning?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type ApiUsageSummaryDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['ApiUsageSummaryDto'] = ResolversParentTypes['ApiUsageSummaryDto']> = {
  costThisMonthUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  monthlySpendCapUsd?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  breakdown?: Resolver<Array<ResolversTypes['ApiUsageBreakdownItemDto']>, ParentType, ContextType>;
};

export type ApiUsageBreakdownItemDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['ApiUsageBreakdownItemDto'] = ResolversParentTypes['ApiUsageBreakdownItemDto']> = {
  model?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  operation?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type AvatarConfigDtoResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['AvatarConfigDto'] = ResolversParentTypes['AvatarConfigDto']> = {
  id?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  gender?: Resolver<ResolversTypes['AvatarGender'], ParentType, ContextType>;
  glbModel?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  voiceTier?: Resolver<ResolversTypes['VoiceTier'], ParentType, ContextType>;
  languageCode?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  speakingRate?: Resolver<ResolversTypes['Float'], ParentType, ContextType>;
  liveTalkingUrl?: Resolver<Types.Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
};

export type QueryResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  isRegisterable?: Resolver<ResolversTypes['JSONObject'], ParentType, ContextType, RequireFields<Types.QueryIsRegisterableArgs, 'email'>>;
  getAuthProfile?: Resolver<Types.Maybe<ResolversTypes['User']>, ParentType, ContextType>;
  myTenant?: Resolver<Types.Maybe<ResolversTypes['TenantDto']>, ParentType, ContextType>;
  myTenants?: Resolver<Array<ResolversTypes['TenantDto']>, ParentType, ContextType>;
  apiUsageSummary?: Resolver<ResolversTypes['ApiUsageSummaryDto'], ParentType, ContextType>;
  avatarConfig?: Resolver<ResolversTypes['AvatarConfigDto'], ParentType, ContextType>;
};

export type MutationResolvers<ContextType = PortsContext<Ports>, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  login?: Resolver<ResolversTypes['AccessToken'], ParentType, ContextType, RequireFields<Types.MutationLoginArgs, 'input'>>;
  refreshToken?: Resolver<ResolversTypes['AccessToken'], ParentType, ContextType, RequireFields<Types.MutationRefreshTokenArgs, 'input'>>;
  register?: Resolver<ResolversTypes['AccessToken'], ParentType, ContextType, RequireFields<Types.MutationRegisterArgs, 'input'>>;
  generateOTP?: Resolver<ResolversTypes['Int'], ParentType, ContextType, RequireFields<Types.MutationGenerateOtpArgs, 'input'>>;
  validateSecuredToken?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationValidateSecuredTokenArgs, 'input'>>;
  resetUserPasswordWithUrl?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationResetUserPasswordWithUrlArgs, 'input'>>;
  forgotPasswordWithOTP?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationForgotPasswordWithOtpArgs, 'input'>>;
  loginWithIdpOne?: Resolver<ResolversTypes['AccessToken'], ParentType, ContextType, RequireFields<Types.MutationLoginWithIdpOneArgs, 'ticket'>>;
  linkIdentity?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationLinkIdentityArgs, 'provider' | 'providerToken'>>;
  unlinkIdentity?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationUnlinkIdentityArgs, 'provider'>>;
  changePassword?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationChangePasswordArgs, 'input'>>;
  setPrimaryBillingAccount?: Resolver<ResolversTypes['TenantDto'], ParentType, ContextType, RequireFields<Types.MutationSetPrimaryBillingAccountArgs, 'billingAccount'>>;
  generateTwoFactor?: Resolver<ResolversTypes['TwoFactorInfo'], ParentType, ContextType>;
  bindTwoFactor?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationBindTwoFactorArgs, 'input'>>;
  verifyTwoFactor?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationVerifyTwoFactorArgs, 'code'>>;
  unbindTwoFactor?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType, RequireFields<Types.MutationUnbindTwoFactorArgs, 'input'>>;
  createTenant?: Resolver<ResolversTypes['TenantDto'], ParentType, ContextType, RequireFields<Types.MutationCreateTenantArgs, 'input'>>;
  updateTenant?: Resolver<ResolversTypes['TenantDto'], ParentType, ContextType, RequireFields<Types.MutationUpdateTenantArgs, 'input'>>;
  deleteTenant?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  switchTenant?: Resolver<ResolversTypes['TenantDto'], ParentType, ContextType, RequireFields<Types.MutationSwitchTenantArgs, 'id'>>;
  generateApiKey?: Resolver<ResolversTypes['GenerateApiKeyResult'], ParentType, ContextType>;
  upsertAvatarConfig?: Resolver<ResolversTypes['AvatarConfigDto'], ParentType, ContextType, RequireFields<Types.MutationUpsertAvatarConfigArgs, 'input'>>;
};

export type PartialResolvers<ContextType = PortsContext<Ports>> = {
  DateTime?: GraphQLScalarType;
  JSON?: GraphQLScalarType;
  JSONObject?: GraphQLScalarType;
  AccessToken?: AccessTokenResolvers<ContextType>;
  User?: UserResolvers<ContextType>;
  TwoFactorInfo?: TwoFactorInfoResolvers<ContextType>;
  TenantDto?: TenantDtoResolvers<ContextType>;
  GenerateApiKeyResult?: GenerateApiKeyResultResolvers<ContextType>;
  ApiUsageSummaryDto?: ApiUsageSummaryDtoResolvers<ContextType>;
  ApiUsageBreakdownItemDto?: ApiUsageBreakdownItemDtoResolvers<ContextType>;
  AvatarConfigDto?: AvatarConfigDtoResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
};


/** All that a subgraph resolves: every root field, and what a mapped type does not hold as the schema has it. */
export type Resolvers = PartialResolvers & {
  Query: Required<QueryResolvers>;
  Mutation: Required<MutationResolvers>;
  ApiUsageSummaryDto: Needed<ApiUsageSummaryDtoResolvers, Types.ApiUsageSummaryDto, ApiUsageSummaryDto>;
};

type Needed<Resolvers, Dto, Held> = Required<Pick<Resolvers, NotHeld<Dto, Held> & keyof Resolvers>>;
type NotHeld<Dto, Held> = {
  [Field in keyof Dto]-?: Field extends keyof Held
    ? Exclude<Held[Field], undefined> extends Dto[Field] ? never : Field
    : Field;
}[keyof Dto];
