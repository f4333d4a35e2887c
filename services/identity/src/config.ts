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
      'URL of the mail server, `smtp://user:password@host:port`. `smtps://` uses TLS from the start; `smtp://` uses STARTTLS if the server offers it.',
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
      'URL of the HTTP gateway for text messages. Each message is a POST of JSON `{id, to, text}`, with `to` in E.164. The gateway answers 2xx.',
      { without: "`.txt` files in the data folder's `outbox`" },
    ),
    smsToken: setting('SMS_TOKEN', z.string().optional(), 'Bearer token for the gateway at `SMS_URL`.', {
      secret: true,
      without: 'none',
    }),
    dataFolder: dataFolderSetting,
  },
  idpOne: idpOneSettings,
  hashes: {
    atOnce: setting(
      'IDENTITY_HASHES_AT_ONCE',
      // zod's `default` is not used: the default depends on the number of cores, and the generated lists of settings must be the same
      // everywhere.
      positiveInt.optional().transform((count) => count ?? Math.max(1, Math.min(4, availableParallelism() - 1))),
      'Maximum number of passwords hashed at once in one process for people who are neither signed in nor at an address that their account has used. Each takes a thread (on Linux with low priority), 19 MiB and 5 to 25 ms of a core. Users who are signed in, or sign in from an address that they have used, have half as many slots in addition, which they share evenly.',
      { without: 'number of cores − 1, at least 1 and at most 4' },
    ),
    waiting: setting(
      'IDENTITY_HASH_QUEUE',
      positiveInt.default(100),
      "Maximum number of requests that wait for a password hash in one process; the extra slots of known users have a second queue of the same length. If a queue is full, the newest request of the network or user with most waiting requests is refused with `TOO_MANY_REQUESTS`. If nobody has at least two more than the new request's network or user, the new request is refused with `UNAVAILABLE`.",
    ),
    perUser: setting(
      'IDENTITY_HASHES_PER_USER',
      positiveInt.default(4),
      'Maximum number of concurrent requests of one signed-in user that need a password hash. One sign-in may have half as many. Further requests are refused with `TOO_MANY_REQUESTS`.',
    ),
    perAddress: setting(
      'IDENTITY_HASHES_PER_ADDRESS',
      positiveInt.default(40),
      'Maximum number of concurrent requests from one client address (IPv6: a /64) that need a password hash. Further requests are refused with `TOO_MANY_REQUESTS`. Sign-ins from unknown addresses are served round robin by IPv4 /24 or IPv6 /48.',
    ),
  },
  settings: {
    publicUrl: publicUrlSetting,
    accessTokenTtlS: setting(
      'IDENTITY_ACCESS_TOKEN_TTL_S',
      positiveInt.default(15 * 60),
      'Lifetime of an access token in seconds.',
    ),
    refreshTokenTtlS: setting(
      'IDENTITY_REFRESH_TOKEN_TTL_S',
      positiveInt.default(30 * 24 * 60 * 60),
      'Lifetime of a refresh token in seconds. Each exchange issues a new refresh token.',
    ),
    registration: setting(
      'REGISTRATION',
      z.enum(['open', 'otp', 'invite'], 'is none of open, otp and invite').default('open'),
      'Who may register. `open`: anybody. `otp`: anybody with a code, which is sent on request. `invite`: only people with an invitation of the operator.',
    ),
    resetUrl: setting(
      'RESET_URL',
      httpUrl.refine((url) => !url.includes('#'), 'has a fragment').optional(),
      'URL of the page where people set a new password. Links in mails are this URL with the parameter `token` added.',
      { without: '`/reset-password` at `PARLEY_PUBLIC_URL`', requiredInProduction: true },
    ),
    regions: setting('REGIONS', list.default([]), 'Region codes that a tenant may have, separated by commas.', {
      without: 'any code of up to 32 characters',
    }),
    planChanges: setting(
      'PLAN_CHANGES',
      z.enum(['self', 'operator'], 'is neither self nor operator').default('self'),
      "Who may raise a tenant's plan: the tenant's owner (`self`) or only the operator (`operator`). The owner may lower the plan in both cases.",
      { productionDefault: 'operator' },
    ),
    reauthMaxAgeS: setting(
      'REAUTH_MAX_AGE',
      positiveInt.optional().transform((seconds) => seconds ?? null),
      'Maximum age in seconds of a sign-in that changes how its user signs in, makes an API key or deletes a tenant. With an older sign-in these operations are refused with `FORBIDDEN` (`REAUTHENTICATE`); the sign-in itself stays valid.',
      { without: 'any age' },
    ),
    maxOwnedTenants: setting(
      'IDENTITY_MAX_OWNED_TENANTS',
      positiveInt.default(5),
      'Maximum number of tenants that one user owns. Deleted tenants do not count. A further tenant is refused with `BAD_REQUEST` (`TENANT_LIMIT`).',
    ),
    planLimits: setting(
      'PLAN_LIMITS_FILE',
      planLimitsFile,
      'JSON file with limits of plans, such as `{"DEV": {"monthlyLlmCapUsd": 25}}`. Other limits are `knowledgeBases`, `chunks` and `storageMb`. Limits that the file omits keep their defaults.',
      { without: 'built-in limits; the monthly caps are 10, 200 and 5,000 USD for DEV, PRO and ENTERPRISE' },
    ),
    idpOneMonthlyCeilingUsd: setting(
      'IDP_ONE_MONTHLY_CEILING_USD',
      usd.default(5_000),
      "Maximum amount that a tenant billed by IDP_ONE may spend on models in a calendar month (UTC). Replaces the cap of the tenant's plan once an operator has confirmed the billing.",
    ),
    platformMonthlyCeilingUsd: setting(
      'PLATFORM_MONTHLY_CEILING_USD',
      usd.optional().transform((amount) => amount ?? null),
      'Maximum amount that all tenants together may spend on models in a calendar month (UTC). Further model calls are refused with `UNAVAILABLE` (`PLATFORM_CEILING_REACHED`); a turn of a session then fails with `MODEL_UNAVAILABLE`, or with `MODEL_FAILED` after its first words. With a ceiling, model calls are admitted one after the other, over all tenants; the calls themselves still run at once.',
      { without: 'no ceiling' },
    ),
    prices: pricesSetting,
    ownCloudModel: setting(
      'CLOUD_HOSTED_MODELS_MODEL',
      z.string().optional(),
      "Default model of the provider `CLOUD_HOSTED_MODELS`. Must have the same value for identity and agent. A tenant's model override may name this model even if the model has no price.",
      { without: "a tenant's model override may name only models with a price" },
    ),
    spendLeaseMs: setting(
      'IDENTITY_SPEND_LEASE_MS',
      positiveInt.default(30_000),
      'Time after which a reserved model call is settled if its caller no longer renews the reservation. A call that the provider may have received costs its estimate, any other call costs 0.',
    ),
    idempotencyLeaseMs: setting(
      'IDENTITY_IDEMPOTENCY_LEASE_MS',
      leaseMs.default(30_000),
      'Time after which a request with an `Idempotency-Key` is abandoned if its gateway no longer renews the lease. A retry then runs; an earlier retry is refused with `CONFLICT`.',
    ),
    idempotencyBytesPerTenant: setting(
      'IDENTITY_IDEMPOTENCY_BYTES_PER_TENANT',
      byteCount.default(67_108_864),
      'Maximum size of all answers kept for retries with an `Idempotency-Key`, per tenant, or per caller without a tenant. Further answers are not kept: a retry is refused with `CONFLICT` (`ANSWER_NOT_KEPT`).',
    ),
    maxTenantsMadeIn30Days: setting(
      'IDENTITY_MAX_TENANTS_MADE_IN_30_DAYS',
      positiveInt.default(10),
      'Maximum number of tenants that one user makes within 30 days. Deleted tenants count. A further tenant is refused with `BAD_REQUEST` (`TENANT_LIMIT`).',
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
