import { randomBytes } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import type { Environment } from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { atEdge, type Bound, bound } from '@parley/testing/bound';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { decodeJwt } from 'jose';
import { getAuthProfile } from '../../src/accounts/get-auth-profile.ts';
import { isRegisterable } from '../../src/accounts/is-registerable.ts';
import { linkIdentity } from '../../src/accounts/link-identity.ts';
import { register } from '../../src/accounts/register.ts';
import { unlinkIdentity } from '../../src/accounts/unlink-identity.ts';
import { generateApiKey } from '../../src/api-keys/generate-api-key.ts';
import { resolveApiKey, resolveApiKeys } from '../../src/api-keys/resolve-api-key.ts';
import { type IdentitySettings, readIdentityConfig } from '../../src/config.ts';
import { identityDeclaration } from '../../src/declaration.ts';
import type { RegisterInput } from '../../src/generated/schema.ts';
import { claimIdempotencyKey } from '../../src/idempotency/claim-idempotency-key.ts';
import { endIdempotencyKey } from '../../src/idempotency/end-idempotency-key.ts';
import { renewIdempotencyKey } from '../../src/idempotency/renew-idempotency-key.ts';
import { sweepIdempotencyKeys } from '../../src/idempotency/sweep-idempotency-keys.ts';
import { identitySchema } from '../../src/identity-schema.ts';
import { createIdpOne } from '../../src/idp-one/idp-one.ts';
import type { AccessToken } from '../../src/keys/access-token.ts';
import { getJwks } from '../../src/keys/get-jwks.ts';
import { identityKeys } from '../../src/keys/identity-keys.ts';
import { rotateSigningKey } from '../../src/keys/rotate-signing-key.ts';
import type { Message } from '../../src/messages/message.ts';
import { messageJobs, openMessage, type SendMessage } from '../../src/messages/send-message.ts';
import { changePassword } from '../../src/passwords/change-password.ts';
import { forgotPasswordWithOtp } from '../../src/passwords/forgot-password-with-otp.ts';
import { createPasswords } from '../../src/passwords/passwords.ts';
import { resetUserPasswordWithUrl } from '../../src/passwords/reset-user-password-with-url.ts';
import type { Ports } from '../../src/ports.ts';
import { generateOtp } from '../../src/secured-tokens/generate-otp.ts';
import { validateSecuredToken } from '../../src/secured-tokens/validate-secured-token.ts';
import { login } from '../../src/sign-ins/login.ts';
import { loginLock } from '../../src/sign-ins/login-lock.ts';
import { loginWithIdpOne } from '../../src/sign-ins/login-with-idp-one.ts';
import { refreshSignIn } from '../../src/sign-ins/refresh-sign-in.ts';
import { resolveSignIn, resolveSignIns } from '../../src/sign-ins/resolve-sign-in.ts';
import type { UserCaller } from '../../src/sign-ins/signed-in.ts';
import { apiUsageBreakdown, apiUsageSummary } from '../../src/spend/api-usage-summary.ts';
import { beginSpend } from '../../src/spend/begin-spend.ts';
import { createLedger } from '../../src/spend/ledger.ts';
import { meterSpend } from '../../src/spend/meter-spend.ts';
import { renewSpend } from '../../src/spend/renew-spend.ts';
import { reserveSpend } from '../../src/spend/reserve-spend.ts';
import { settleLapsedSpend } from '../../src/spend/settle-lapsed-spend.ts';
import { settleSpend } from '../../src/spend/settle-spend.ts';
import { createTenant } from '../../src/tenants/create-tenant.ts';
import { deleteTenant } from '../../src/tenants/delete-tenant.ts';
import { getAvatarConfig } from '../../src/tenants/get-avatar-config.ts';
import { getTenant } from '../../src/tenants/get-tenant.ts';
import { myTenant } from '../../src/tenants/my-tenant.ts';
import { myTenants } from '../../src/tenants/my-tenants.ts';
import { setPrimaryBillingAccount } from '../../src/tenants/set-primary-billing-account.ts';
import { switchTenant } from '../../src/tenants/switch-tenant.ts';
import { updateTenant } from '../../src/tenants/update-tenant.ts';
import { upsertAvatarConfig } from '../../src/tenants/upsert-avatar-config.ts';
import { bindTwoFactor } from '../../src/two-factor/bind-two-factor.ts';
import { generateTwoFactor } from '../../src/two-factor/generate-two-factor.ts';
import { unbindTwoFactor } from '../../src/two-factor/unbind-two-factor.ts';
import { verifyTwoFactor } from '../../src/two-factor/verify-two-factor.ts';

export const useCases = {
  register,
  login,
  refreshSignIn,
  isRegisterable,
  getAuthProfile,
  generateOtp,
  validateSecuredToken,
  resetUserPasswordWithUrl,
  forgotPasswordWithOtp,
  loginWithIdpOne,
  linkIdentity,
  unlinkIdentity,
  changePassword,
  generateTwoFactor,
  bindTwoFactor,
  verifyTwoFactor,
  unbindTwoFactor,
  myTenant,
  myTenants,
  switchTenant,
  createTenant,
  getJwks,
  resolveSignIn,
  resolveSignIns,
  resolveApiKey,
  resolveApiKeys,
  getTenant,
  rotateSigningKey,
  meterSpend,
  settleLapsedSpend,
  claimIdempotencyKey,
  renewIdempotencyKey,
  endIdempotencyKey,
  sweepIdempotencyKeys,
  ...atEdge({
    setPrimaryBillingAccount,
    updateTenant,
    deleteTenant,
    generateApiKey,
    getAvatarConfig,
    upsertAvatarConfig,
    reserveSpend,
    beginSpend,
    renewSpend,
    settleSpend,
    apiUsageSummary,
    apiUsageBreakdown,
  }),
};

/** The use cases, bound to their dependencies. */
export type App = Bound<typeof useCases>;

export const secretsKey = randomBytes(32);
export const anonymous: Caller = { kind: 'anonymous', tenantId: null, ip: '192.0.2.1', requestId: 'test' };
export const mesh: Caller = { kind: 'service', service: 'test', tenantId: null, requestId: 'test' };

/** The use cases of the identity service without servers, on a schema that only this test uses. */
export interface IdentityApp {
  app: App;
  ports: Ports;
  database: Database;
  /** All announcements so far. */
  announced: CredentialsChanged['whose'][];
  /** All messages so far, oldest first. */
  messages(): Promise<Message[]>;
  /** Advances all clocks. The database's clock changes with the next transaction. */
  advance(ms: number): void;
  /** A second replica with its own connection pool and caches. */
  replica(): Promise<App>;
}

export async function identityApp(
  t: ExecutionContext,
  settings: Partial<IdentitySettings> = {},
  env: Environment = {},
): Promise<IdentityApp> {
  const { idpOne } = readIdentityConfig({ SECRETS_KEYS: secretsKey.toString('base64'), ...env });
  let offsetMs = 0;
  const clockOffsetMs = () => offsetMs;
  const database = await testSchema(t, identitySchema, { clockOffsetMs });
  const keyValue = memoryKeyValue({ now: () => performance.now() + offsetMs });
  const announced: CredentialsChanged['whose'][] = [];
  const portsOn = (on: Database): Ports => {
    for (const { name, types } of identityDeclaration.publishes ?? []) on.registry.topics.set(name, types);
    const box = createSecretBox([secretsKey]);
    const ownSettings = { ...defaultSettings(), ...settings };
    const passwords = createPasswords({ atOnce: 2, waiting: 100, perUser: 4, perAddress: 40 });
    t.teardown(() => passwords.close());
    const ports: Ports = {
      database: wholeRowsDatabase(on),
      box,
      log,
      carriers: { send: async () => undefined, close: () => undefined },
      passwords,
      loginLock: loginLock(keyValue),
      idpOne: idpOne && createIdpOne(idpOne, log),
      keys: identityKeys(on, box),
      ledger: createLedger(on, ownSettings),
      announce: async (whose) => void announced.push(whose),
      clock: () => new Date(Date.now() + offsetMs),
      settings: ownSettings,
    };
    for (const declare of messageJobs) declare(ports).runner({ database: on, log }); // job runners do not start, so messages stay queued
    return ports;
  };
  const ports = portsOn(database);
  await ports.keys.start();
  return {
    app: bound(useCases, ports),
    ports,
    database,
    announced,
    messages: () => queuedMessages(ports),
    advance: (ms) => {
      offsetMs += ms;
    },
    async replica() {
      const other = portsOn(await replicaOf(t, database, identitySchema, { clockOffsetMs }));
      await other.keys.start();
      return bound(useCases, other);
    },
  };
}

export function defaultSettings(): IdentitySettings {
  return readIdentityConfig({ SECRETS_KEYS: secretsKey.toString('base64') }).settings;
}

const log = createLogger('test', { LOG_LEVEL: 'silent' });

/** Returns the messages in the queue, oldest first. */
async function queuedMessages({ database, box }: Ports): Promise<Message[]> {
  const rows = await database.transactShared<{ payload: SendMessage }[]>(({ knex }) =>
    knex('jobs').whereLike('kind', 'identity.send-%').orderBy('id').select('payload'),
  );
  return rows.flatMap(({ payload }) => openMessage(box, payload) ?? []);
}

let registrations = 0;

/** Creates a valid registration, unique among all tests. */
export function newRegistration(overrides: Partial<RegisterInput> = {}): RegisterInput {
  registrations += 1;
  return {
    email: `person${registrations}@example.test`,
    password: 'correct horse battery',
    fullname: `Person ${registrations}`,
    phoneCode: '+44',
    phoneNumber: `7911${String(100_000 + registrations)}`,
    ...overrides,
  };
}

/** Registers a user and returns the caller that the gateway would send. */
export async function signUp(app: App, overrides: Partial<RegisterInput> = {}) {
  const input = newRegistration(overrides);
  const tokens = await app.register(anonymous, { input });
  const caller = await callerOf(app, tokens);
  if (caller.tenantId === null) throw new Error('a registered user has a tenant');
  return { input, tokens, caller: { ...caller, tenantId: caller.tenantId } };
}

/** Returns the caller that the gateway would derive from an access token. */
export async function callerOf(app: App, { accessToken }: AccessToken): Promise<UserCaller> {
  const signInId = String(decodeJwt(accessToken).sid);
  const { userId, displayName, tenantId } = await app.resolveSignIn(signInId);
  return { kind: 'user', userId, displayName, signInId, tenantId, requestId: 'test', ip: '192.0.2.1' };
}

/** Adds a user to a tenant, as an operator does, and switches the given sign-in to that tenant. */
export async function addMember(
  { app, database }: Pick<IdentityApp, 'app' | 'database'>,
  member: UserCaller,
  tenantId: number,
) {
  await database.transactShared(({ knex }) =>
    knex('memberships').insert({ user_id: member.userId, tenant_id: tenantId, role: 'MEMBER' }),
  );
  return switched(app, member, tenantId);
}

/** Switches the sign-in to another tenant. Returns the caller that the gateway would then send. */
export async function switched<C extends UserCaller>(app: App, caller: C, tenantId: number) {
  await app.switchTenant(caller, { id: tenantId });
  return { ...caller, tenantId };
}
