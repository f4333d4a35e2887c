import type { SealedColumn } from '@parley/postgres/reseal';
import { idNoSealingContext } from './accounts/register.ts';
import { sealingContextOf } from './idempotency/claim-idempotency-key.ts';
import type { KeyScope } from './idempotency/idempotency-store.ts';
import { derivationKeyPlace, signingKeyPlace } from './keys/identity-keys.ts';
import { secretSealingContext } from './operators/tenant-secrets.ts';
import { fcmTokenPlace } from './sign-ins/begin-sign-in.ts';
import { offerPlace, secretPlace } from './two-factor/two-factor.ts';

/** All columns in which the identity service stores sealed values, except messages, which are deleted within a day. */
export const sealedColumns: SealedColumn[] = [
  {
    table: 'signing_keys',
    column: 'privateJwkSealed',
    key: ['kid'],
    placeOf: ({ kid }: { kid: string }) => signingKeyPlace(kid),
  },
  {
    table: 'derivation_keys',
    column: 'keySealed',
    key: ['purpose'],
    placeOf: ({ purpose }: { purpose: string }) => derivationKeyPlace(purpose),
  },
  {
    table: 'users',
    column: 'idNoSealed',
    key: ['id'],
    reads: ['referralCode'],
    placeOf: ({ referralCode }: { referralCode: string }) => idNoSealingContext(referralCode),
  },
  {
    table: 'users',
    column: 'twoFactorSecretSealed',
    key: ['id'],
    placeOf: ({ id }: { id: number }) => secretPlace(id),
  },
  {
    table: 'two_factor_offers',
    column: 'secretSealed',
    key: ['id'],
    reads: ['userId'],
    placeOf: ({ userId }: { userId: number }) => offerPlace(userId),
  },
  {
    table: 'sign_ins',
    column: 'fcmTokenSealed',
    key: ['id'],
    placeOf: ({ id }: { id: string }) => fcmTokenPlace(id),
  },
  {
    table: 'tenant_secrets',
    column: 'valueSealed',
    key: ['tenantId', 'name'],
    placeOf: ({ tenantId, name }: { tenantId: number; name: string }) => secretSealingContext(tenantId, name),
    // Tenants with secrets are found in the audit log, whose entries are never deleted. Most tenants have no secret,
    // and `tenant_secrets` can only be read for one tenant at a time.
    listTenants: ({ knex }) => knex('operator_audit').where({ action: 'set-secret' }).distinct().pluck('tenantId'),
  },
  {
    table: 'idempotency_keys',
    column: 'resultSealed',
    key: ['id'],
    reads: ['tenantId', 'caller', 'keySha256'],
    placeOf: (row: KeyScope) => sealingContextOf(row),
  },
];
