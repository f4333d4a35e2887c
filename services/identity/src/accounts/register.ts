import type { CallerRequest } from '@parley/kernel/caller-request';
import { isUniqueViolation } from '@parley/kernel/database-errors';
import { conflict, type DomainError, invalid } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type { SharedDb } from '@parley/postgres/database/types';
import type { IdentitySettings } from '../config.ts';
import type {
  MutationRegisterArgs,
  RegisterInput,
  TokenPurpose,
  ValidateSecuredTokenInput,
} from '../generated/schema.ts';
import { type AccessToken, issueTokens } from '../keys/access-token.ts';
import type { Contact } from '../messages/message.ts';
import { type Requester, requesterOf } from '../passwords/passwords.ts';
import type { Ports } from '../ports.ts';
import { invalidToken, presentedToken } from '../secured-tokens/secured-token.ts';
import type { AttemptedToken } from '../secured-tokens/secured-token-store.ts';
import { withSecuredToken } from '../secured-tokens/use-secured-token.ts';
import { beginSignIn } from '../sign-ins/begin-sign-in.ts';
import { provisionTenant, tenantDefaults } from '../tenants/provision-tenant.ts';
import { contactIndex } from './contact.ts';
import { readPhone } from './phone-number.ts';
import { newReferralCode, normalReferralCode } from './referral-code.ts';
import { normalIdNo, type Registration, registration } from './registration.ts';
import { type NewUser, userStore } from './user-store.ts';

const tokenPurposes = {
  open: ['SIGN_UP', 'INVITATION'],
  otp: ['SIGN_UP'],
  invite: ['INVITATION'],
} satisfies Record<IdentitySettings['registration'], TokenPurpose[]>;

/** Registers a person. Of concurrent registrations with the same email, phone or identity document, the unique indexes accept one. */
export async function register(
  ports: Ports,
  request: CallerRequest,
  { input, token }: MutationRegisterArgs,
): Promise<AccessToken> {
  const person = parseInput(registration, input);
  const given = token ? withNumberOf(person, input, parseInput(presentedToken, token, 'token')) : null;
  if (given === null && ports.settings.registration !== 'open') throw invalidToken();

  const requester = requesterOf(request);
  using _admission = await ports.passwords.admit(requester);
  const user = await newUserOf(ports, person, requester);
  const store = (db: SharedDb, used?: AttemptedToken) =>
    storeUser(ports, db, { caller: request.caller, person, user, used });
  const use = await tokenUseOf(ports, person, request.signal);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const signIn = given
        ? await withSecuredToken(ports, given, use, store)
        : await ports.database.transactShared((db) => store(db));
      return await issueTokens(ports, signIn);
    } catch (error) {
      if (isUniqueViolation(error, 'users_referral_code') && attempt < 5) continue; // a collision: another user has the same random code
      throw takenError(error) ?? error;
    }
  }
}

type UserWithoutCode = Omit<NewUser, 'referralCode' | 'referrerId' | 'idNoSealed'>;

async function newUserOf(
  { keys, passwords }: Ports,
  input: Registration,
  requester: Requester,
): Promise<UserWithoutCode> {
  const { idType } = input;
  const idNo = input.idNo === null ? null : normalIdNo(input.idNo);
  return {
    email: input.email,
    fullname: input.fullname,
    phone: input.phone,
    passwordHash: await passwords.hash(input.password, requester),
    idType,
    idNoIndex: idNo === null ? null : await keys.hmac('id-no-index', JSON.stringify([idNo])),
    idDocumentIndex: idNo === null ? null : await keys.hmac('id-no-index', JSON.stringify([idType, idNo])),
  };
}

/** If the token's contact is the phone number of this registration, in any spelling, replaces the contact by the number in E.164. */
function withNumberOf({ phone }: Registration, { phoneCode }: RegisterInput, token: ValidateSecuredTokenInput) {
  const isSameNumber = readPhone(phoneCode, token.contact ?? '')?.e164 === phone.e164;
  return isSameNumber ? { ...token, contact: phone.e164 } : token;
}

/** Accepts only a token that was sent to the email or the phone number of this registration. */
async function tokenUseOf({ keys, settings }: Ports, { email, phone }: Registration, signal: AbortSignal) {
  const contacts: Contact[] = [{ email }, { phone: phone.e164 }];
  return {
    purposes: tokenPurposes[settings.registration],
    contactIndexes: await Promise.all(contacts.map((contact) => contactIndex(keys, contact))),
    spends: true,
    signal,
  };
}

interface Newcomer {
  caller: CallerRequest['caller'];
  person: Registration;
  user: UserWithoutCode;
  used: AttemptedToken | undefined;
}

async function storeUser(ports: Ports, db: SharedDb, { caller, person, user, used }: Newcomer) {
  const referralCode = newReferralCode();
  const userId = await userStore(db).insert({
    ...user,
    referralCode,
    referrerId: await referrerOf(userStore(db), person.referralCode),
    idNoSealed: person.idNo === null ? null : ports.box.seal(person.idNo, idNoSealingContext(referralCode)),
  });
  if (used?.channel === 'EMAIL') await userStore(db).emailProved(userId);
  const name = `${person.fullname}'s Workspace`;
  const tenant = await provisionTenant(db, { ...tenantDefaults, name }, userId);
  return beginSignIn(ports, db, {
    userId,
    tenantId: tenant.id,
    limitedReason: null,
    ip: caller.ip ?? null,
    fcmToken: person.fcmToken,
  });
}

/**
 * Returns the context that binds a sealed identity number to its user. The referral code is unique, never changes, and is known before the
 * insert.
 */
export function idNoSealingContext(referralCode: string): string {
  return `identity.users.id_no:${referralCode}`;
}

async function referrerOf(users: ReturnType<typeof userStore>, code: string | null): Promise<number | null> {
  if (code === null) return null;
  const referrer = await users.findByReferralCode(normalReferralCode(code));
  if (referrer === undefined) throw invalid({ path: 'input.referralCode', message: 'is nobody’s' });
  return referrer;
}

function takenError(error: unknown): DomainError | undefined {
  const taken = (path: string, what: string) =>
    conflict(`This ${what} is already registered`, undefined, [{ path, message: 'is already registered' }]);
  if (isUniqueViolation(error, 'users_email_live')) return taken('input.email', 'email');
  if (isUniqueViolation(error, 'users_phone_live')) return taken('input.phoneNumber', 'phone number');
  if (isUniqueViolation(error, 'users_id_document_live')) return taken('input.idNo', 'identity document');
  return undefined;
}
