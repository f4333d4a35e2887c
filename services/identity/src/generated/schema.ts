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

/** A pair of tokens for one sign-in. Send the access token as `Authorization: Bearer …`. */
export type AccessToken = {
  __typename?: 'AccessToken';
  /** A JWT (ES256). */
  accessToken: Scalars['String']['output'];
  /** Seconds until the access token ends. */
  expiresIn: Scalars['Float']['output'];
  /** An opaque, single-use token. `refreshToken` exchanges it for its successor. */
  refreshToken: Scalars['String']['output'];
  /** Seconds until the refresh token ends. */
  refreshExpiresIn: Scalars['Float']['output'];
};

/** Whether a person may sign in. */
export type UserStatusType =
  /** May sign in. */
  | 'ACTIVE'
  /** May not: sign-ins and calls with the right credential are FORBIDDEN, `USER_SUSPENDED`. */
  | 'SUSPENDED';

/** The signed-in person. */
export type User = {
  __typename?: 'User';
  /** The user's id. */
  id: Scalars['Int']['output'];
  /** Trimmed and in lower case; unique among live users. Null for an account without one. */
  email?: Maybe<Scalars['String']['output']>;
  /** At most 200 characters. */
  fullname: Scalars['String']['output'];
  /** Null until one is chosen. */
  username?: Maybe<Scalars['String']['output']>;
  /** Dial prefix, as given at registration. */
  phoneCode?: Maybe<Scalars['String']['output']>;
  /** National digits, as given at registration, in ASCII. */
  phoneNumber?: Maybe<Scalars['String']['output']>;
  /** Number of an identity document, as given; stored encrypted. Null if none was given. */
  idNo?: Maybe<Scalars['String']['output']>;
  /** Kind of that document, as given at the registration. */
  idType?: Maybe<Scalars['String']['output']>;
  /** Others give it as `referralCode` when they register. */
  referralCode: Scalars['String']['output'];
  /** A new account is ACTIVE. */
  status: UserStatusType;
  /** Whether a second factor is bound. */
  twoFactorEnabled: Scalars['Boolean']['output'];
  /** When the account was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A way to sign in. */
export type AuthProvider =
  /** Email or phone number, and a password. */
  | 'PASSWORD'
  /** The external identity provider. */
  | 'IDP_ONE'
  /** NOT_IMPLEMENTED. */
  | 'RESERVED_PROVIDER_1'
  /** NOT_IMPLEMENTED. */
  | 'RESERVED_PROVIDER_2';

/** Subscription plans, lowest first. A setting of the platform decides whether owners may upgrade themselves. */
export type TenantPlanEnum =
  /** Every tenant starts here. */
  | 'DEV'
  | 'PRO'
  | 'ENTERPRISE';

/** The system that bills the tenant. */
export type PrimaryBillingAccountEnum =
  /** The external identity provider. */
  | 'IDP_ONE'
  /** This platform; the default. */
  | 'PLATFORM';

/** The provider that serves a model. */
export type LlmProviderType =
  /** A catalogue of hosted models; the only one that takes a model of choice (`llmModelOverride`). */
  | 'CLOUD_HOSTED_MODELS'
  /** The platform's own endpoint with one fixed model. */
  | 'HOSTED_SMALL_MODEL'
  /** A model vendor's own API. */
  | 'DIRECT_MODEL_API';

/** Exactly one of email and phoneNumber. */
export type SignInInput = {
  /** Compared trimmed and in lower case. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** E.164, or a national number that exactly one user has. */
  phoneNumber?: InputMaybe<Scalars['String']['input']>;
  /** A wrong one is answered just like an unknown account: UNAUTHENTICATED. */
  password: Scalars['String']['input'];
};

/** Input of `refreshToken`. */
export type RefreshAccessTokenInput = {
  /** The latest refresh token of the sign-in. */
  refreshToken: Scalars['String']['input'];
};

/** A new person. An email, phone or identity document that a live user has already is CONFLICT. */
export type RegisterInput = {
  /** At most 254 characters; kept trimmed and in lower case. */
  email: Scalars['String']['input'];
  /** 8 to 128 characters, not the email, not a common password. */
  password: Scalars['String']['input'];
  /** At most 200 characters, not blank; names the first workspace too. */
  fullname: Scalars['String']['input'];
  /** Dial prefix, e.g. `+44`. */
  phoneCode: Scalars['String']['input'];
  /** National number; together with phoneCode it must be a possible one. */
  phoneNumber: Scalars['String']['input'];
  /** Push-notification token of the device; stored, never returned. */
  fcmToken?: InputMaybe<Scalars['String']['input']>;
  /** Number of an identity document; goes with idType. Kept as given; compared whatever its case, width and digits. */
  idNo?: InputMaybe<Scalars['String']['input']>;
  /** Kind of that document, at most 64 characters. Equal numbers of different kinds are different documents. */
  idType?: InputMaybe<Scalars['String']['input']>;
  /** Another user's referral code. */
  referralCode?: InputMaybe<Scalars['String']['input']>;
};

/** A code or link token that was sent to a user. */
export type ValidateSecuredTokenInput = {
  /** The code or token as received. */
  token: Scalars['String']['input'];
  /** Email or phone that it was sent to. For a code without id it is needed, and the newest code sent there counts. */
  contact?: InputMaybe<Scalars['String']['input']>;
  /** Id of the code, as `generateOTP` answered it; with contact both must belong together. */
  id?: InputMaybe<Scalars['Float']['input']>;
};

/** Purpose of a code or link. It is valid for no other purpose. */
export type TokenPurpose =
  /** To prove who one is when signing in. */
  | 'SIGN_IN'
  /** Registration. Only sent to contacts without an account. */
  | 'SIGN_UP'
  /** To set a new password by `forgotPasswordWithOTP`. */
  | 'RESET_PASSWORD'
  /** To register by an invitation, which the operator alone sends. */
  | 'INVITATION'
  /** To change the profile. */
  | 'UPDATE_PROFILE';

/** Exactly one of email and phoneNumber. */
export type GenerateOtpInput = {
  /** Compared trimmed and in lower case. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** E.164, or a national number that exactly one user has. */
  phoneNumber?: InputMaybe<Scalars['String']['input']>;
  /** For INVITATION nothing is sent. */
  purpose: TokenPurpose;
};

/** Input of `resetUserPasswordWithUrl`. */
export type ResetPasswordEmailInput = {
  /** Email of the account; without it nothing is sent. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** Only for RESET_PASSWORD is a link sent. */
  purpose: TokenPurpose;
};

/** Input of `forgotPasswordWithOTP`. */
export type PasswordWithOtpInput = {
  /** 8 to 128 characters, not the email, not a common password. */
  newPassword: Scalars['String']['input'];
  /** A code or link token of the purpose RESET_PASSWORD. */
  token: ValidateSecuredTokenInput;
};

/** Input of `changePassword`. */
export type PasswordInput = {
  /** 8 to 128 characters, not the email, not a common password. */
  newPassword: Scalars['String']['input'];
};

/** A secret for an authenticator app. */
export type TwoFactorInfo = {
  __typename?: 'TwoFactorInfo';
  /** In base32, for people who type it in. */
  secret: Scalars['String']['output'];
  /** The same as an otpauth URI (SHA-1, six digits, 30 seconds), to be shown as a QR code. */
  output: Scalars['String']['output'];
};

/** Input of `bindTwoFactor`. */
export type BindTwoFactorInput = {
  /** The secret that `generateTwoFactor` returned to this user within the last 10 minutes. */
  secret: Scalars['String']['input'];
  /** A current code of that secret. */
  code: Scalars['String']['input'];
};

/** Input of `unbindTwoFactor`. */
export type UnbindTwoFactorInput = {
  /** A current code of the bound secret. */
  code: Scalars['String']['input'];
};

/** A workspace: everything but people belongs to one. */
export type TenantDto = {
  __typename?: 'TenantDto';
  /** The tenant's id. */
  id: Scalars['Int']['output'];
  /** At most 255 characters; need not be unique. */
  name: Scalars['String']['output'];
  /** DEV unless it was raised. */
  plan: TenantPlanEnum;
  /** True while the tenant's own switch or the operator's is on. */
  isSuspended: Scalars['Boolean']['output'];
  /** Provider of agents without an override; null: the platform's default. */
  llmProviderOverride?: Maybe<LlmProviderType>;
  /** Used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: Maybe<Scalars['String']['output']>;
  /** PLATFORM until it is chosen otherwise; never inferred from how people sign in. */
  primaryBillingAccount: PrimaryBillingAccountEnum;
  /** Requested region of the tenant's data, a code of up to 32 characters. */
  region?: Maybe<Scalars['String']['output']>;
  /** When the tenant was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
  /** Set once the tenant has been deleted. */
  deletedAt?: Maybe<Scalars['DateTime']['output']>;
};

/** A new tenant. BAD_REQUEST, `TENANT_LIMIT` for a user who owns too many or has made too many in 30 days (by default 5 and 10). */
export type CreateTenantInput = {
  /** At most 255 characters, not blank. */
  name: Scalars['String']['input'];
  /** Default DEV. */
  plan?: InputMaybe<TenantPlanEnum>;
  /** At most 32 characters; if the operator has listed regions, one of them. */
  region?: InputMaybe<Scalars['String']['input']>;
  /** Provider for its agents; default: the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** At most 255 characters, not blank. Used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
};

/** Omitted fields stay; null clears region and the overrides. */
export type UpdateTenantInput = {
  /** At most 255 characters, not blank. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** Owner only. A raise may be for the operator alone: FORBIDDEN, `PLAN_CHANGE_BY_OPERATOR`. */
  plan?: InputMaybe<TenantPlanEnum>;
  /** At most 32 characters; if the operator has listed regions, one of them. */
  region?: InputMaybe<Scalars['String']['input']>;
  /** The tenant's own switch; owner only. The operator's cannot be lifted: FORBIDDEN, `SUSPENDED_BY_OPERATOR`. */
  isSuspended?: InputMaybe<Scalars['Boolean']['input']>;
  /** Provider for its agents; null: the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** At most 255 characters, not blank. Used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
};

/** A new API key of the tenant in use. */
export type GenerateApiKeyResult = {
  __typename?: 'GenerateApiKeyResult';
  /** The key itself; shown here and never again. */
  key: Scalars['String']['output'];
  /** Says that the key is shown once and that the previous one no longer works. */
  warning: Scalars['String']['output'];
};

/** Model usage of the whole tenant: sessions, evaluations and direct calls. */
export type ApiUsageSummaryDto = {
  __typename?: 'ApiUsageSummaryDto';
  /** Cost in USD in this calendar month (UTC). */
  costThisMonthUsd: Scalars['Float']['output'];
  /** Spend cap in USD; at the cap, model calls are refused until the month ends. It is the plan's cap unless another was agreed. */
  monthlySpendCapUsd: Scalars['Float']['output'];
  /** Over the tenant's lifetime, most calls first. */
  breakdown: Array<ApiUsageBreakdownItemDto>;
};

/** The calls of one model for one operation. */
export type ApiUsageBreakdownItemDto = {
  __typename?: 'ApiUsageBreakdownItemDto';
  /** The model that served them. */
  model: Scalars['String']['output'];
  /** Purpose of the calls: `generateText`, `startTextGeneration`, `session`, `evaluation`, `test` and the like. */
  operation: Scalars['String']['output'];
  /** Calls that were served; refused ones do not count. */
  count: Scalars['Int']['output'];
};

/** Gender of avatar and voice. */
export type AvatarGender =
  | 'FEMALE'
  | 'MALE';

/** Quality of the synthesised voice, lowest first. */
export type VoiceTier =
  /** Plain synthesis; the default. */
  | 'STANDARD'
  /** A neural voice. */
  | 'WAVENET'
  /** A neural voice of the generation after WAVENET. */
  | 'NEURAL2';

/** The tenant's avatar and voice defaults; what an agent sets itself goes before them. */
export type AvatarConfigDto = {
  __typename?: 'AvatarConfigDto';
  /** The id of these defaults; a tenant has them once. */
  id: Scalars['Int']['output'];
  /** At first FEMALE. */
  gender: AvatarGender;
  /** File name of a 3D model; `agentConfigOptions` suggests some, and others are taken too. */
  glbModel: Scalars['String']['output'];
  /** At first STANDARD. */
  voiceTier: VoiceTier;
  /** Language of speech, e.g. `en-US`. */
  languageCode: Scalars['String']['output'];
  /** 1 is normal speed; 0.25 to 4. */
  speakingRate: Scalars['Float']['output'];
  /** Replaces the address of the live-talking module. */
  liveTalkingUrl?: Maybe<Scalars['String']['output']>;
  /** When the tenant was made. */
  createdAt: Scalars['DateTime']['output'];
  /** When it last changed. */
  updatedAt: Scalars['DateTime']['output'];
};

/** Omitted fields stay; null clears liveTalkingUrl. */
export type UpsertAvatarConfigInput = {
  /** Null is refused. */
  gender?: InputMaybe<AvatarGender>;
  /** File name without a folder, at most 255 characters; `agentConfigOptions` suggests some. Null is refused. */
  glbModel?: InputMaybe<Scalars['String']['input']>;
  /** Null is refused. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** BCP 47 language code such as `en-US`, at most 35 characters. Null is refused. */
  languageCode?: InputMaybe<Scalars['String']['input']>;
  /** 0.25 to 4; 1 is normal speed. Null is refused. */
  speakingRate?: InputMaybe<Scalars['Float']['input']>;
  /** An http, https, ws or wss URL without user name and password, at most 2,048 characters. */
  liveTalkingUrl?: InputMaybe<Scalars['String']['input']>;
};

export type Query = {
  __typename?: 'Query';
  /**
   * Whether a registration with these values is possible: {registerable, reasons}. Reasons are EMAIL_TAKEN, ID_NO_TAKEN, EMAIL_INVALID,
   * CLOSED.
   */
  isRegisterable: Scalars['JSONObject']['output'];
  /** The signed-in person. */
  getAuthProfile?: Maybe<User>;
  /** The tenant in use; null for a user without one. */
  myTenant?: Maybe<TenantDto>;
  /** The live tenants that the user owns or is a member of, oldest first. */
  myTenants: Array<TenantDto>;
  /** The tenant's cost of models, and its limit. */
  apiUsageSummary: ApiUsageSummaryDto;
  /** The tenant's avatar and voice defaults. */
  avatarConfig: AvatarConfigDto;
};


export type QueryIsRegisterableArgs = {
  email: Scalars['String']['input'];
  idNo?: InputMaybe<Scalars['String']['input']>;
};

export type Mutation = {
  __typename?: 'Mutation';
  /** Signs in with a password. */
  login: AccessToken;
  /**
   * Exchanges a refresh token for a new pair; the old one becomes invalid. For 10 seconds, while its successor is unused, the old one
   * returns the same successor again, for a client that lost the response. Any other reuse counts as theft and ends the sign-in, in all tabs
   * that share it. So browser apps should refresh under a Web Lock, after reading the stored token again.
   */
  refreshToken: AccessToken;
  /** Creates a user and a tenant named <fullname>'s Workspace, and signs in. Consumes the token, if one is given or required. */
  register: AccessToken;
  /** Sends a code of six digits, valid for 10 minutes and one use. Returns the random id of the code, also for unknown contacts. */
  generateOTP: Scalars['Int']['output'];
  /** Returns true for a valid code or link token, which stays valid. All others get the same BAD_REQUEST; five wrong codes lock a code. */
  validateSecuredToken: Scalars['Boolean']['output'];
  /** Mails a link for setting one new password within an hour. Returns true whether or not the email has an account. */
  resetUserPasswordWithUrl: Scalars['Boolean']['output'];
  /** Sets a new password with a code or link that was sent to the user, and ends all sign-ins. The second factor is unchanged. */
  forgotPasswordWithOTP: Scalars['Boolean']['output'];
  /**
   * Signs in with a single-use ticket of the external identity provider, at most 4,096 characters: to the account that is linked to its
   * identity; else to the account with its verified email, which is then linked; else to a new account in its company's tenant.
   * UNAUTHENTICATED if the ticket is refused; CONFLICT if the account is linked to another identity; BAD_REQUEST (`IDP_ONE_NOT_CONFIGURED`)
   * without such a provider.
   */
  loginWithIdpOne: AccessToken;
  /**
   * Adds a login method. `providerToken` is a ticket of IDP_ONE, or for PASSWORD the new password of an account that has none. Returns true
   * if the account already has it. CONFLICT: the identity belongs to another account, or the account has another identity.
   */
  linkIdentity: Scalars['Boolean']['output'];
  /** Removes a login method; true if the account has none of that kind. Removing the last one is BAD_REQUEST, `LAST_LOGIN_METHOD`. */
  unlinkIdentity: Scalars['Boolean']['output'];
  /** Sets a new password and ends every other sign-in. */
  changePassword: Scalars['Boolean']['output'];
  /** Chooses who bills the tenant in use; owner only. The plan's cap applies unless the operator has confirmed that IDP_ONE bills it. */
  setPrimaryBillingAccount: TenantDto;
  /** Offers the secret of a second factor, for 10 minutes. Nothing changes before it is bound. */
  generateTwoFactor: TwoFactorInfo;
  /**
   * Binds an offered secret: from then on each other sign-in is FORBIDDEN, `TWO_FACTOR_REQUIRED`, until `verifyTwoFactor`. BAD_REQUEST
   * while one is bound (`TWO_FACTOR_BOUND`).
   */
  bindTwoFactor: Scalars['Boolean']['output'];
  /**
   * Completes a sign-in of a user with a second factor; others need not call it. Each code is accepted once; a wrong one is
   * BAD_REQUEST, and after five no code is accepted for 15 minutes. Without a bound secret: BAD_REQUEST, `TWO_FACTOR_NOT_BOUND`.
   */
  verifyTwoFactor: Scalars['Boolean']['output'];
  /** Removes the second factor. Codes as in `verifyTwoFactor`. */
  unbindTwoFactor: Scalars['Boolean']['output'];
  /** Makes a tenant that the caller owns, and turns this sign-in to it. */
  createTenant: TenantDto;
  /** Changes the tenant in use. */
  updateTenant: TenantDto;
  /** Deletes the tenant in use; owner only. */
  deleteTenant: Scalars['Boolean']['output'];
  /**
   * Switches this sign-in to another live tenant of the user; NOT_FOUND otherwise. New sign-ins begin in that tenant; other existing ones
   * are unchanged.
   */
  switchTenant: TenantDto;
  /** Makes the tenant's API key; the previous one stops working at once. Owner only. */
  generateApiKey: GenerateApiKeyResult;
  /** Changes the tenant's avatar and voice defaults. */
  upsertAvatarConfig: AvatarConfigDto;
};


export type MutationLoginArgs = {
  input: SignInInput;
};


export type MutationRefreshTokenArgs = {
  input: RefreshAccessTokenInput;
};


export type MutationRegisterArgs = {
  input: RegisterInput;
  token?: InputMaybe<ValidateSecuredTokenInput>;
};


export type MutationGenerateOtpArgs = {
  input: GenerateOtpInput;
};


export type MutationValidateSecuredTokenArgs = {
  input: ValidateSecuredTokenInput;
};


export type MutationResetUserPasswordWithUrlArgs = {
  input: ResetPasswordEmailInput;
};


export type MutationForgotPasswordWithOtpArgs = {
  input: PasswordWithOtpInput;
};


export type MutationLoginWithIdpOneArgs = {
  ticket: Scalars['String']['input'];
};


export type MutationLinkIdentityArgs = {
  provider: AuthProvider;
  providerToken: Scalars['String']['input'];
};


export type MutationUnlinkIdentityArgs = {
  provider: AuthProvider;
};


export type MutationChangePasswordArgs = {
  input: PasswordInput;
};


export type MutationSetPrimaryBillingAccountArgs = {
  billingAccount: PrimaryBillingAccountEnum;
};


export type MutationBindTwoFactorArgs = {
  input: BindTwoFactorInput;
};


export type MutationVerifyTwoFactorArgs = {
  code: Scalars['String']['input'];
};


export type MutationUnbindTwoFactorArgs = {
  input: UnbindTwoFactorInput;
};


export type MutationCreateTenantArgs = {
  input: CreateTenantInput;
};


export type MutationUpdateTenantArgs = {
  input: UpdateTenantInput;
};


export type MutationSwitchTenantArgs = {
  id: Scalars['Int']['input'];
};


export type MutationUpsertAvatarConfigArgs = {
  input: UpsertAvatarConfigInput;
};
