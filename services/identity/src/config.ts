import { availableParallelism } from 'node:os';
import { type Environment, httpUrl, list, port, positiveInt, readSettings } from '@parley/chassis/config';
import { secretKeys } from '@parley/chassis/secret-box';
import { z } from 'zod';
import type { PasswordLimits } from './passwords.ts';

/** Who may register: anybody, or whoever holds a code (`otp`) or an invitation (`invite`). */
export type RegistrationMode = 'open' | 'otp' | 'invite';

/** Who may raise a tenant's plan: its owner (`self`) or nobody but the operator. */
export type PlanChanges = 'self' | 'operator';

/** What the use cases need to know. */
export interface IdentitySettings {
  /** The address that clients know, without a slash at its end: issuer and audience of access tokens. */
  publicUrl: string;
  /** How long an access token is good for, in seconds. Default 900: 15 minutes. */
  accessTokenTtlS: number;
  /** How long a refresh token is good for, in seconds from its issue. Default 30 days. */
  refreshTokenTtlS: number;
  /** Default `open`. */
  registration: RegistrationMode;
  /** The regions to choose from; none: any code up to 32 characters. */
  regions: string[];
  /** Default `operator` in production, else `self`. */
  planChanges: PlanChanges;
  /** How old, in seconds, a sign-in may be that changes a password, makes an API key or deletes a tenant; null, the default: any. */
  reauthMaxAgeS: number | null;
  /** Live tenants that a user may own. Default 5. */
  maxOwnedTenants: number;
  /** Tenants that a user may make within 30 days, deleted ones counted. Default 10. */
  maxTenantsMadeIn30Days: number;
}

export interface IdentityConfig {
  /** Where other units reach it; 0, the default, is any free port. So for the others. */
  rpcPort: number;
  /** Where the gateway reaches its subgraph. */
  graphPort: number;
  /** Where liveness, readiness and metrics are asked for. */
  opsPort: number;
  /** The key ring at rest, the first one seals. */
  secretsKeys: Uint8Array[];
  /**
   * How many passwords are hashed at once (default: one less than there are processors, 1 to 4), how many may wait (100), and how
   * many requests of one signed-in user (4) and of one client address (40) that need one may be under way. More are refused.
   */
  hashes: PasswordLimits;
  settings: IdentitySettings;
}

/** Reads identity's settings; the README has what each means. @throws SettingsError naming all that is wrong. */
export function readIdentityConfig(env: Environment): IdentityConfig {
  const read = readSettings(env, {
    IDENTITY_RPC_PORT: port.default(0),
    IDENTITY_GRAPH_PORT: port.default(0),
    IDENTITY_OPS_PORT: port.default(0),
    IDENTITY_ACCESS_TOKEN_TTL_S: positiveInt.default(15 * 60),
    IDENTITY_REFRESH_TOKEN_TTL_S: positiveInt.default(30 * 24 * 60 * 60),
    IDENTITY_HASHES_AT_ONCE: positiveInt.default(Math.max(1, Math.min(4, availableParallelism() - 1))),
    IDENTITY_HASH_QUEUE: positiveInt.default(100),
    IDENTITY_HASHES_PER_USER: positiveInt.default(4),
    IDENTITY_HASHES_PER_ADDRESS: positiveInt.default(40),
    IDENTITY_MAX_OWNED_TENANTS: positiveInt.default(5),
    IDENTITY_MAX_TENANTS_MADE_IN_30_DAYS: positiveInt.default(10),
    PARLEY_PUBLIC_URL: httpUrl.default('http://localhost:4000'),
    SECRETS_KEYS: secretKeys,
    REGISTRATION: z.enum(['open', 'otp', 'invite'], 'is none of open, otp and invite').default('open'),
    REGIONS: list.default([]),
    REAUTH_MAX_AGE: positiveInt.optional(),
    PLAN_CHANGES: z
      .enum(['self', 'operator'], 'is neither self nor operator')
      .default(env.NODE_ENV === 'production' ? 'operator' : 'self'),
  });
  return {
    rpcPort: read.IDENTITY_RPC_PORT,
    graphPort: read.IDENTITY_GRAPH_PORT,
    opsPort: read.IDENTITY_OPS_PORT,
    secretsKeys: read.SECRETS_KEYS,
    hashes: {
      atOnce: read.IDENTITY_HASHES_AT_ONCE,
      waiting: read.IDENTITY_HASH_QUEUE,
      perUser: read.IDENTITY_HASHES_PER_USER,
      perAddress: read.IDENTITY_HASHES_PER_ADDRESS,
    },
    settings: {
      publicUrl: read.PARLEY_PUBLIC_URL.replace(/\/$/, ''),
      accessTokenTtlS: read.IDENTITY_ACCESS_TOKEN_TTL_S,
      refreshTokenTtlS: read.IDENTITY_REFRESH_TOKEN_TTL_S,
      registration: read.REGISTRATION,
      regions: read.REGIONS,
      reauthMaxAgeS: read.REAUTH_MAX_AGE ?? null,
      planChanges: read.PLAN_CHANGES,
      maxOwnedTenants: read.IDENTITY_MAX_OWNED_TENANTS,
      maxTenantsMadeIn30Days: read.IDENTITY_MAX_TENANTS_MADE_IN_30_DAYS,
    },
  };
}
