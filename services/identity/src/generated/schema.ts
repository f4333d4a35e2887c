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

/** A pair of tokens for one sign-in. Send the access token as `Authorization: Bearer …`. */
export type AccessToken = {
  __typename?: 'AccessToken';
  /** A JWT (ES256). */
  accessToken: Scalars['String']['output'];
  /** Seconds until the access token expires. */
  expiresIn: Scalars['Float']['output'];
  /** An opaque, single-use token. `refreshToken` exchanges it for its successor. */
  refreshToken: Scalars['String']['output'];
  /** Seconds until the refresh token expires. */
  refreshExpiresIn: Scalars['Float']['output'];
};

/** Whether a person may sign in. */
export type UserStatusType =
  /** May sign in. */
  | 'ACTIVE'
  /** May not sign in. Sign-ins and calls with a valid credential are FORBIDDEN (`USER_SUSPENDED`). */
  | 'SUSPENDED';

/** The signed-in person. */
export type User = {
  __typename?: 'User';
  /** The user's id. */
  id: Scalars['Int']['output'];
  /** The email address, trimmed and in lower case; unique among users that are not deleted. Null for an account without an email address. */
  email?: Maybe<Scalars['String']['output']>;
  /** The full name: at most 200 characters. */
  fullname: Scalars['String']['output'];
  /** The username; null until one is chosen. */
  username?: Maybe<Scalars['String']['output']>;
  /** Dial prefix of the phone number, as given at registration. */
  phoneCode?: Maybe<Scalars['String']['output']>;
  /** National part of the phone number, as given at registration, in ASCII digits. */
  phoneNumber?: Maybe<Scalars['String']['output']>;
  /** Number of an identity document, as given; stored encrypted. Null if none was given. */
  idNo?: Maybe<Scalars['String']['output']>;
  /** Kind of the identity document, as given at registration. */
  idType?: Maybe<Scalars['String']['output']>;
  /** The code that other people pass as `referralCode` when they register. */
  referralCode: Scalars['String']['output'];
  /** The status. A new account is ACTIVE. */
  status: UserStatusType;
  /** Whether a second factor is bound. */
  twoFactorEnabled: Scalars['Boolean']['output'];
  /** Time at which the account was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** A way to sign in. */
export type AuthProvider =
  /** Email or phone number, and a password. */
  | 'PASSWORD'
  /** The external identity provider. */
  | 'IDP_ONE'
  /** Not implemented: calls fail with NOT_IMPLEMENTED. */
  | 'RESERVED_PROVIDER_1'
  /** Not implemented: calls fail with NOT_IMPLEMENTED. */
  | 'RESERVED_PROVIDER_2';

/** Subscription plans, lowest first. A setting of the platform decides whether owners may upgrade themselves. */
export type TenantPlanEnum =
  /** The default plan of a new tenant. */
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
  /** A catalogue of hosted models; the only provider for which a model can be chosen (`llmModelOverride`). */
  | 'CLOUD_HOSTED_MODELS'
  /** The platform's own endpoint with one fixed model. */
  | 'HOSTED_SMALL_MODEL'
  /** A model vendor's own API. */
  | 'DIRECT_MODEL_API';

/** Credentials for a sign-in, with exactly one of email and phoneNumber. */
export type SignInInput = {
  /** The email address; compared without surrounding spaces and in lower case. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** The phone number: in E.164, or a national number that only one user has. */
  phoneNumber?: InputMaybe<Scalars['String']['input']>;
  /** The password. A wrong password and an unknown account get the same error, UNAUTHENTICATED. */
  password: Scalars['String']['input'];
};

/** Input of `refreshToken`. */
export type RefreshAccessTokenInput = {
  /** The latest refresh token of the sign-in. */
  refreshToken: Scalars['String']['input'];
};

/** A new user. CONFLICT if another user already has the email, phone number or identity document. */
export type RegisterInput = {
  /** The email address, at most 254 characters; stored trimmed and in lower case. */
  email: Scalars['String']['input'];
  /** The password: 8 to 128 characters, not the email, not a common password. */
  password: Scalars['String']['input'];
  /** The full name, at most 200 characters, not blank. The name of the first tenant contains it, too. */
  fullname: Scalars['String']['input'];
  /** Dial prefix, e.g. `+44`. */
  phoneCode: Scalars['String']['input'];
  /** National number; together with phoneCode it must be a possible number. */
  phoneNumber: Scalars['String']['input'];
  /** Push-notification token of the device; stored, never returned. */
  fcmToken?: InputMaybe<Scalars['String']['input']>;
  /** Number of an identity document, together with idType. Stored as given; compared in upper case and in Unicode form NFKC. */
  idNo?: InputMaybe<Scalars['String']['input']>;
  /** Kind of the identity document, at most 64 characters. Equal numbers of different kinds are different documents. */
  idType?: InputMaybe<Scalars['String']['input']>;
  /** Another user's referral code. */
  referralCode?: InputMaybe<Scalars['String']['input']>;
};

/** A code or link token that was sent to a user. */
export type ValidateSecuredTokenInput = {
  /** The code or token as received. */
  token: Scalars['String']['input'];
  /**
   * Email address or phone number to which the code was sent. Required for a code if `id` is missing: the newest code sent to this contact is
   * then checked.
   */
  contact?: InputMaybe<Scalars['String']['input']>;
  /** Id of the code, as returned by `generateOTP`. If `contact` is also given, both must belong to the same code. */
  id?: InputMaybe<Scalars['Float']['input']>;
};

/** Purpose of a code or link. It is valid for no other purpose. */
export type TokenPurpose =
  /** To verify a person who signs in. */
  | 'SIGN_IN'
  /** To register. Sent only to contacts without an account. */
  | 'SIGN_UP'
  /** To set a new password by `forgotPasswordWithOTP`. */
  | 'RESET_PASSWORD'
  /** To register by an invitation, which only the operator sends. */
  | 'INVITATION'
  /** To change the profile. */
  | 'UPDATE_PROFILE';

/** The recipient of a code: exactly one of email and phoneNumber. */
export type GenerateOtpInput = {
  /** The email address; compared without surrounding spaces and in lower case. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** The phone number: in E.164, or a national number that only one user has. */
  phoneNumber?: InputMaybe<Scalars['String']['input']>;
  /** The purpose of the code. For INVITATION nothing is sent. */
  purpose: TokenPurpose;
};

/** Input of `resetUserPasswordWithUrl`. */
export type ResetPasswordEmailInput = {
  /** Email address of the account; if it is omitted, nothing is sent. */
  email?: InputMaybe<Scalars['String']['input']>;
  /** The purpose. A link is sent only for RESET_PASSWORD. */
  purpose: TokenPurpose;
};

/** Input of `forgotPasswordWithOTP`. */
export type PasswordWithOtpInput = {
  /** The password: 8 to 128 characters, not the email, not a common password. */
  newPassword: Scalars['String']['input'];
  /** A code or link token of the purpose RESET_PASSWORD. */
  token: ValidateSecuredTokenInput;
};

/** Input of `changePassword`. */
export type PasswordInput = {
  /** The password: 8 to 128 characters, not the email, not a common password. */
  newPassword: Scalars['String']['input'];
};

/** A secret for an authenticator app. */
export type TwoFactorInfo = {
  __typename?: 'TwoFactorInfo';
  /** The secret in base32, for manual entry. */
  secret: Scalars['String']['output'];
  /** The secret as an otpauth URI (SHA-1, six digits, 30 seconds), to be shown as a QR code. */
  output: Scalars['String']['output'];
};

/** Input of `bindTwoFactor`. */
export type BindTwoFactorInput = {
  /** The secret that `generateTwoFactor` returned to this user within the last 10 minutes. */
  secret: Scalars['String']['input'];
  /** A current code of the secret. */
  code: Scalars['String']['input'];
};

/** Input of `unbindTwoFactor`. */
export type UnbindTwoFactorInput = {
  /** A current code of the bound secret. */
  code: Scalars['String']['input'];
};

/** A workspace. All data except users belongs to one tenant. */
export type TenantDto = {
  __typename?: 'TenantDto';
  /** The tenant's id. */
  id: Scalars['Int']['output'];
  /** The tenant's name: at most 255 characters, not necessarily unique. */
  name: Scalars['String']['output'];
  /** The plan. Default: DEV. */
  plan: TenantPlanEnum;
  /** True while the owner or the operator has suspended the tenant. */
  isSuspended: Scalars['Boolean']['output'];
  /** Provider of agents without an override; null: the platform's default. */
  llmProviderOverride?: Maybe<LlmProviderType>;
  /** The model; used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: Maybe<Scalars['String']['output']>;
  /** The system that bills the tenant. Default: PLATFORM; never inferred from how people sign in. */
  primaryBillingAccount: PrimaryBillingAccountEnum;
  /** Requested region of the tenant's data, a code of up to 32 characters. */
  region?: Maybe<Scalars['String']['output']>;
  /** Time at which the tenant was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
  /** Time of the deletion; null if the tenant is not deleted. */
  deletedAt?: Maybe<Scalars['DateTime']['output']>;
};

/** A new tenant. BAD_REQUEST (`TENANT_LIMIT`) for a user who owns too many tenants, or has created too many in 30 days (by default 5 and 10). */
export type CreateTenantInput = {
  /** The name: at most 255 characters, not blank. */
  name: Scalars['String']['input'];
  /** The plan. Default: DEV. */
  plan?: InputMaybe<TenantPlanEnum>;
  /** The region's code, at most 32 characters. If the operator has listed regions, it must be one of these. */
  region?: InputMaybe<Scalars['String']['input']>;
  /** Provider of agents without an override; default: the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** The model, at most 255 characters, not blank; used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
};

/** Changes of a tenant. Omitted fields are unchanged; null clears region and the overrides. */
export type UpdateTenantInput = {
  /** The name: at most 255 characters, not blank. */
  name?: InputMaybe<Scalars['String']['input']>;
  /** The plan; owner only. FORBIDDEN (`PLAN_CHANGE_BY_OPERATOR`) if only the operator may raise plans. */
  plan?: InputMaybe<TenantPlanEnum>;
  /** The region's code, at most 32 characters. If the operator has listed regions, it must be one of these. */
  region?: InputMaybe<Scalars['String']['input']>;
  /**
   * Whether the owner suspends the tenant; owner only. False is FORBIDDEN (`SUSPENDED_BY_OPERATOR`) while the operator has suspended the
   * tenant.
   */
  isSuspended?: InputMaybe<Scalars['Boolean']['input']>;
  /** Provider of agents without an override; null: the platform's. */
  llmProviderOverride?: InputMaybe<LlmProviderType>;
  /** The model, at most 255 characters, not blank; used only with CLOUD_HOSTED_MODELS. */
  llmModelOverride?: InputMaybe<Scalars['String']['input']>;
};

/** A new API key of the tenant in use. */
export type GenerateApiKeyResult = {
  __typename?: 'GenerateApiKeyResult';
  /** The key itself, which is returned only here. */
  key: Scalars['String']['output'];
  /** A notice that the key is shown only once and that the previous key no longer works. */
  warning: Scalars['String']['output'];
};

/** Model usage of the whole tenant: sessions, evaluations and direct calls. */
export type ApiUsageSummaryDto = {
  __typename?: 'ApiUsageSummaryDto';
  /** Cost in USD in this calendar month (UTC). */
  costThisMonthUsd: Scalars['Float']['output'];
  /**
   * Spend cap in USD; at the cap, model calls are refused until the month ends. It is the plan's cap, unless the operator has set another one
   * or IDP_ONE bills the tenant.
   */
  monthlySpendCapUsd: Scalars['Float']['output'];
  /** Calls since the tenant's creation, by model and operation; most calls first. */
  breakdown: Array<ApiUsageBreakdownItemDto>;
};

/** The calls of one model for one operation. */
export type ApiUsageBreakdownItemDto = {
  __typename?: 'ApiUsageBreakdownItemDto';
  /** The model that served the calls. */
  model: Scalars['String']['output'];
  /** Purpose of the calls: `generateText`, `startTextGeneration`, `session`, `evaluation`, `test` and the like. */
  operation: Scalars['String']['output'];
  /** Number of served calls; refused calls do not count. */
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

/** The tenant's avatar and voice defaults. An agent's own settings override them. */
export type AvatarConfigDto = {
  __typename?: 'AvatarConfigDto';
  /** The id of the defaults; a tenant has one set of defaults. */
  id: Scalars['Int']['output'];
  /** The gender. Default: FEMALE. */
  gender: AvatarGender;
  /** File name of a 3D model. `agentConfigOptions` suggests names; other names are accepted, too. */
  glbModel: Scalars['String']['output'];
  /** The quality of the voice. Default: STANDARD. */
  voiceTier: VoiceTier;
  /** Language of speech, e.g. `en-US`. */
  languageCode: Scalars['String']['output'];
  /** Speed of speech, 0.25 to 4; 1 is normal. */
  speakingRate: Scalars['Float']['output'];
  /** A URL that replaces the address of the live-talking module. */
  liveTalkingUrl?: Maybe<Scalars['String']['output']>;
  /** Time at which the tenant was created. */
  createdAt: Scalars['DateTime']['output'];
  /** Time of the last change. */
  updatedAt: Scalars['DateTime']['output'];
};

/** Changes of the defaults. Omitted fields are unchanged; null clears liveTalkingUrl. */
export type UpsertAvatarConfigInput = {
  /** The gender. Null is refused. */
  gender?: InputMaybe<AvatarGender>;
  /** File name of a 3D model, without a folder, at most 255 characters; `agentConfigOptions` suggests names. Null is refused. */
  glbModel?: InputMaybe<Scalars['String']['input']>;
  /** The quality of the voice. Null is refused. */
  voiceTier?: InputMaybe<VoiceTier>;
  /** BCP 47 language code such as `en-US`, at most 35 characters. Null is refused. */
  languageCode?: InputMaybe<Scalars['String']['input']>;
  /** Speed of speech, 0.25 to 4; 1 is normal. Null is refused. */
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
  /** The tenants that the user owns or is a member of, oldest first, without deleted ones. */
  myTenants: Array<TenantDto>;
  /** The tenant's spend on models, and its cap. */
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
   * Exchanges a refresh token for a new pair of tokens; the old refresh token becomes invalid. A client that lost the response may send the
   * old token again within 10 seconds, while its successor is unused, and receives the same successor. Any other reuse counts as theft and
   * ends the sign-in, in all browser tabs that share it. Therefore browser apps should refresh under a Web Lock, and read the stored token
   * again before they send it.
   */
  refreshToken: AccessToken;
  /** Creates a user and a tenant named <fullname>'s Workspace, and signs in. Consumes the token if a token is given or required. */
  register: AccessToken;
  /** Sends a code of six digits, valid for 10 minutes and one use. Returns the random id of the code, also for unknown contacts. */
  generateOTP: Scalars['Int']['output'];
  /**
   * Returns true for a valid code or link token, which stays valid. All invalid codes and tokens get the same BAD_REQUEST; five wrong attempts
   * lock a code.
   */
  validateSecuredToken: Scalars['Boolean']['output'];
  /** Mails a link that is valid for one new password within an hour. Returns true whether or not the email belongs to an account. */
  resetUserPasswordWithUrl: Scalars['Boolean']['output'];
  /** Sets a new password with a code or link that was sent to the user, and ends all sign-ins. The second factor is unchanged. */
  forgotPasswordWithOTP: Scalars['Boolean']['output'];
  /**
   * Signs in with a single-use ticket of the external identity provider, to the first of these accounts that exists:
   * - the account that is linked to the ticket's identity
   * - the account with the ticket's verified email, which is then linked
   * - a new account in the tenant of the person's company
   *
   * UNAUTHENTICATED if the ticket is refused. CONFLICT if the account is linked to another identity. BAD_REQUEST (`IDP_ONE_NOT_CONFIGURED`) if
   * no such provider is configured.
   */
  loginWithIdpOne: AccessToken;
  /**
   * Adds a login method. `providerToken` is a ticket of IDP_ONE; for PASSWORD it is a new password, and the account must not have one yet.
   * Also returns true if the account already has the login method. CONFLICT: the identity belongs to another account, or the account has
   * another identity.
   */
  linkIdentity: Scalars['Boolean']['output'];
  /** Removes a login method; also returns true if the account does not have it. BAD_REQUEST (`LAST_LOGIN_METHOD`) for the last login method. */
  unlinkIdentity: Scalars['Boolean']['output'];
  /** Sets a new password and ends every other sign-in. */
  changePassword: Scalars['Boolean']['output'];
  /**
   * Chooses the system that bills the current tenant; owner only. The plan's cap applies unless the operator has confirmed that IDP_ONE bills
   * the tenant.
   */
  setPrimaryBillingAccount: TenantDto;
  /** Returns a secret for a second factor, which can be bound for 10 minutes. Nothing changes before the secret is bound. */
  generateTwoFactor: TwoFactorInfo;
  /**
   * Binds a secret of `generateTwoFactor`. From then on, every other sign-in is FORBIDDEN (`TWO_FACTOR_REQUIRED`) until it calls
   * `verifyTwoFactor`. BAD_REQUEST (`TWO_FACTOR_BOUND`) if a secret is already bound.
   */
  bindTwoFactor: Scalars['Boolean']['output'];
  /**
   * Completes a sign-in of a user with a second factor; other users need not call it. A code is accepted once. A wrong code is BAD_REQUEST;
   * after five wrong codes, no code is accepted for 15 minutes. BAD_REQUEST (`TWO_FACTOR_NOT_BOUND`) if no secret is bound.
   */
  verifyTwoFactor: Scalars['Boolean']['output'];
  /** Removes the second factor. The rules for codes are those of `verifyTwoFactor`. */
  unbindTwoFactor: Scalars['Boolean']['output'];
  /** Creates a tenant that the caller owns, and switches this sign-in to it. */
  createTenant: TenantDto;
  /** Changes the tenant in use. */
  updateTenant: TenantDto;
  /** Deletes the tenant in use; owner only. */
  deleteTenant: Scalars['Boolean']['output'];
  /**
   * Switches this sign-in to another tenant of the user; NOT_FOUND if the user has no such tenant. New sign-ins begin in that tenant; other
   * existing sign-ins are unchanged.
   */
  switchTenant: TenantDto;
  /** Creates the tenant's API key; the previous key immediately stops working. Owner only. */
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
