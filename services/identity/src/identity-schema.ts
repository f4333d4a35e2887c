import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { people } from './migrations/001-people.ts';
import { keys } from './migrations/002-keys.ts';
import { avatarConfigs } from './migrations/003-avatar-configs.ts';
import { phoneDigits } from './migrations/004-phone-digits.ts';
import { usage } from './migrations/005-usage.ts';
import { emailProof } from './migrations/006-email-proof.ts';
import { codes } from './migrations/007-codes.ts';
import { twoFactor } from './migrations/008-two-factor.ts';
import { identities } from './migrations/009-identities.ts';
import { operators } from './migrations/010-operators.ts';
import { idempotency } from './migrations/011-idempotency.ts';
import { ownerNotices } from './migrations/012-owner-notices.ts';
import { idempotencyUsage } from './migrations/013-idempotency-usage.ts';
import { tenantQuotas } from './migrations/014-tenant-quotas.ts';
import { emailForms } from './migrations/015-email-forms.ts';

export const identitySchema: SchemaDeclaration = {
  name: 'identity',
  tables: {
    users: 'people',
    tenants: 'people',
    memberships: 'people',
    sign_ins: 'people',
    two_factor_offers: 'people',
    refresh_tokens: 'people',
    api_keys: 'people',
    signing_keys: 'people',
    derivation_keys: 'people',
    secured_tokens: 'people',
    seen_tickets: 'people',
    avatar_configs: 'tenant',
    usage_calls: 'tenant',
    usage_months: 'tenant',
    usage_counts: 'tenant',
    usage_reservations: 'internal',
    platform_months: 'internal',
    tenant_plans: 'internal',
    tenant_secrets: 'tenant',
    operator_audit: 'people',
    idempotency_keys: 'people',
    idempotency_usage: 'people',
  },
  migrations: [
    people,
    keys,
    avatarConfigs,
    phoneDigits,
    usage,
    emailProof,
    codes,
    twoFactor,
    identities,
    operators,
    idempotency,
    ownerNotices,
    idempotencyUsage,
    tenantQuotas,
    emailForms,
  ],
};
