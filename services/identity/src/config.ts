import { availableParallelism } from 'node:os';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { checkOperatorKey } from '@parley/kernel/settings/operator-key';
import { byteCount, httpUrl, leaseMs, list, loginUrl, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import {
  dataFolderSetting,
  fetchedUrl,
  idpOneSettings,
  operatorKeySetting,
  portSettings,
  publicUrlSetting,
  secretsKeysSetting,
} from '@parley/kernel/settings/shared-settings';
import { pricesSetting } from '@parley/metering/prices-setting';
import { z } from 'zod';
import { isUsd, notUsd, planLimitsFile } from './spend/plan-limits.ts';

const usd = z.string().transform(Number).refine(isUsd, notUsd).meta({ title: 'USD' });

const smtpUrl = loginUrl(/^smtps?$/, 'is not an smtp or smtps URL');

export const identitySettings = {
  secretsKeys: secretsKeysSetting,
  operatorKey: operatorKeySetting,
  delivery: {
    smtpUrl: setting(
      'SMTP_URL',
      smtpUrl.optional(),
      'The mail server, `smtp://user:password@host:port`; `smtps://` for TLS from the start, else STARTTLS where it is offered.',
      { secret: true, without: "`.eml` files in the data folder's `outbox`", requiredInProduction: true },
    ),
    mailFrom: setting(
      'MAIL_FROM',
      z.string().regex(/@/u, 'has no @').default('Parley <no-reply@localhost>'),
      'The sender of mail, as `Name <address>`.',
    ),
    smsUrl: setting(
      'SMS_URL',
      fetchedUrl.optional(),
      'The HTTP gateway for text messages: it gets a POST of JSON `{id, to, text}`, `to` in E.164, and answers 2xx.',
      { without: "`.txt` files in the data folder's `outbox`" },
    ),
    smsToken: setting('SMS_TOKEN', z.string().optional(), 'Its bearer token.', { secret: true, without: 'none' }),
    dataFolder: dataFolderSetting,
  },
  idpOne: idpOneSettings,
  hashes: {
    atOnce: setting(
      'IDENTITY_HASHES_AT_ONCE',
      // zod's `default` is not used: the default depends on the number of cores, and the generated lists of settings must be the same
      // everywhere.
      positiveInt.optional().transform((count) => count ?? Math.max(1, Math.min(4, availableParallelism() - 1))),
      'Passwords hashed at once, each in a thread with 19 MiB and 5 to 25 ms of a core, on Linux with low priority. Half as many more places are for whoever is signed in, or signs in from an address that the account has used; there accounts are served in turn.',
      { without: 'cores − 1, 1 to 4' },
    ),
    waiting: setting(
      'IDENTITY_HASH_QUEUE',
      positiveInt.default(100),
      'How many more may wait. Beyond it the caller with the most waiting is refused (`TOO_MANY_REQUESTS`), else sign-ins are `UNAVAILABLE`.',
    ),
    perUser: setting(
      'IDENTITY_HASHES_PER_USER',
      positiveInt.default(4),
      'Requests of one signed-in user under way that need a password hashed, of one sign-in half as many; more are `TOO_MANY_REQUESTS`.',
    ),
    perAddress: setting(
      'IDENTITY_HASHES_PER_ADDRESS',
      positiveInt.default(40),
      'The same of one client address (IPv6: a /64), signed in or not. IPv4 /24 and IPv6 /48 networks are served in turn.',
    ),
  },
  settings: {
    publicUrl: publicUrlSetting,
    accessTokenTtlS: setting(
      'IDENTITY_ACCESS_TOKEN_TTL_S',
      positiveInt.default(15 * 60),
      'Seconds that an access token is good for.',
    ),
    refreshTokenTtlS: setting(
      'IDENTITY_REFRESH_TOKEN_TTL_S',
      positiveInt.default(30 * 24 * 60 * 60),
      'Seconds that a refresh token is valid; each exchange issues a new token.',
    ),
    registration: setting(
      'REGISTRATION',
      z.enum(['open', 'otp', 'invite'], 'is none of open, otp and invite').default('open'),
      'Who may register: anybody, or only those with a code (`otp`, sent to whoever asks for one) or an invitation of the operator (`invite`).',
    ),
    resetUrl: setting(
      'RESET_URL',
      httpUrl.refine((url) => !url.includes('#'), 'has a fragment').optional(),
      'The page where people set a new password. Links of mails begin with it, and add the parameter `token`.',
      { without: '`/reset-password` at `PARLEY_PUBLIC_URL`', requiredInProduction: true },
    ),
    regions: setting('REGIONS', list.default([]), 'Regions that a tenant may name, separated by commas.', {
      without: 'any code up to 32 characters',
    }),
    planChanges: setting(
      'PLAN_CHANGES',
      z.enum(['self', 'operator'], 'is neither self nor operator').default('self'),
      "Who may raise a tenant's plan: its owner (`self`) or nobody but the operator. Lowering is free.",
      { productionDefault: 'operator' },
    ),
    reauthMaxAgeS: setting(
      'REAUTH_MAX_AGE',
      positiveInt.optional().transform((seconds) => seconds ?? null),
      'Seconds that a sign-in may be old that changes how its user signs in, makes an API key or deletes a tenant; an older one is `FORBIDDEN`, `REAUTHENTICATE`.',
      { without: 'any age' },
    ),
    maxOwnedTenants: setting(
      'IDENTITY_MAX_OWNED_TENANTS',
      positiveInt.default(5),
      'Live tenants that a user owns at most.',
    ),
    planLimits: setting(
      'PLAN_LIMITS_FILE',
      planLimitsFile,
      'A JSON file with limits of plans, such as `{"DEV": {"monthlyLlmCapUsd": 25}}`; also `knowledgeBases`, `chunks`, `storageMb`. What it leaves out stays as it is.',
      { without: '10, 200 and 5,000 USD for DEV, PRO, ENTERPRISE' },
    ),
    idpOneMonthlyCeilingUsd: setting(
      'IDP_ONE_MONTHLY_CEILING_USD',
      usd.default(5_000),
      "What a tenant that IDP_ONE bills may spend on models in a calendar month (UTC), in place of its plan's cap, once an operator has confirmed that billing.",
    ),
    platformMonthlyCeilingUsd: setting(
      'PLATFORM_MONTHLY_CEILING_USD',
      usd.optional().transform((amount) => amount ?? null),
      'What all tenants together may spend on models in a calendar month (UTC). Where it is set, calls of all tenants are admitted one after the other.',
      { without: 'no ceiling' },
    ),
    prices: pricesSetting,
    ownCloudModel: setting(
      'CLOUD_HOSTED_MODELS_MODEL',
      z.string().optional(),
      "The model of `CLOUD_HOSTED_MODELS` that agent is configured with, which a tenant's override may name even where it has no price.",
      { without: 'a tenant may name only models with a price' },
    ),
    spendLeaseMs: setting(
      'IDENTITY_SPEND_LEASE_MS',
      positiveInt.default(30_000),
      'After so long without a sign of its caller, a reserved model call is settled at its estimate, or at 0 where the provider was not asked.',
    ),
    idempotencyLeaseMs: setting(
      'IDENTITY_IDEMPOTENCY_LEASE_MS',
      leaseMs.default(30_000),
      'After so long without a sign of the gateway that works on a request with an `Idempotency-Key`, a retry runs; before, it is `CONFLICT`.',
    ),
    idempotencyBytesPerTenant: setting(
      'IDENTITY_IDEMPOTENCY_BYTES_PER_TENANT',
      byteCount.default(67_108_864),
      'Bytes of answers that are kept for retries with an `Idempotency-Key`, of one tenant, or of one caller without a tenant. In place of more, retries get `CONFLICT`, `ANSWER_NOT_KEPT`.',
    ),
    maxTenantsMadeIn30Days: setting(
      'IDENTITY_MAX_TENANTS_MADE_IN_30_DAYS',
      positiveInt.default(10),
      'Tenants that a user makes in 30 days at most, deleted ones too.',
    ),
  },
  ...portSettings('identity', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type IdentityConfig = ValuesOf<typeof identitySettings>;
export type IdentitySettings = IdentityConfig['settings'];

export function readIdentityConfig(env: Environment): IdentityConfig {
  const config = readSettings(env, identitySettings);
  checkOperatorKey(env, config.operatorKey);
  return config;
}
