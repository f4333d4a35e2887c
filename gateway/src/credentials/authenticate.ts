import { createHash } from 'node:crypto';
import type { CredentialKind } from '@parley/graph/access';
import type { Caller } from '@parley/kernel/caller';
import { type DomainError, forbidden, isDomainError, unauthenticated } from '@parley/kernel/errors';
import { type SessionTokens, sessionTokenPrefix } from '@parley/kernel/secrets/session-token';
import { type FieldRule, type FieldRules, ruleOf } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { ApiKeyOwners } from './api-key-owners.ts';
import type { CredentialCalls } from './credential-calls.ts';
import { type CredentialStatus, noSession, type SessionKey, type StatusRequester } from './credential-status.ts';
import type { Credentials, Origin } from './credentials.ts';

export interface Authenticate {
  /**
   * Authorizes all fields or none. `begun` is as in `QueueOptions`.
   * @throws DomainError `unauthenticated` without a valid credential
   * @throws DomainError `forbidden` if the credential does not allow a field
   * @throws the errors of `CredentialCalls`
   */
  (fields: RootField[], credentials: Credentials, origin: Origin, begun?: boolean): Promise<Caller>;
}

export interface CredentialDeps {
  rules: FieldRules;
  accessTokens: AccessTokens;
  sessionTokens: Pick<SessionTokens, 'verify'>;
  credentialStatus: CredentialStatus;
  apiKeyOwner: ApiKeyOwners;
  calls: CredentialCalls;
}

export function createAuthenticate(deps: CredentialDeps): Authenticate {
  return async (fields, credentials, origin, begun = false) => {
    const protectedRules = fields.flatMap((field) => {
      const rule = ruleOf(deps.rules, field);
      if (!rule) throw unauthenticated(); // unknown fields fail validation first
      return rule.by.length > 0 ? [rule] : [];
    });
    if (protectedRules.length === 0) return { kind: 'anonymous', tenantId: null, ...origin };

    const [kind] = credentialKinds(credentials).filter((candidate) =>
      protectedRules.every(({ by }) => by.includes(candidate)),
    );
    if (kind === undefined) throw unacceptable(credentials, protectedRules);
    const request = { credentials, origin, requester: { ...origin, begun } };
    if (kind === 'JWT') return userCaller(deps, request, protectedRules);
    return kind === 'API_KEY' ? apiKeyCaller(deps, request) : sessionCaller(deps, request);
  };
}

export interface SocketOwner {
  caller: Caller;
  /** Whether the session has ended. The socket is then closed once the remaining events have been sent. */
  ended: boolean;
}

export interface OwnerOfOptions {
  purpose: 'newSocket' | 'openSocket';
  signal?: AbortSignal;
}

/**
 * Returns the owner of a socket, or undefined for a socket without credentials.
 * @throws the errors of `Authenticate` if any credential is invalid; the signal's reason if the signal is aborted
 */
export type OwnerOf = (
  credentials: Credentials,
  origin: Origin,
  options: OwnerOfOptions,
) => Promise<SocketOwner | undefined>;

export function createOwnerOf(deps: CredentialDeps): OwnerOf {
  /** A rule that allows every caller, except for limited sign-ins and suspended tenants. */
  const any: FieldRule[] = [{ by: [] }];

  async function ownerBy(kind: CredentialKind, request: CredentialRequest): Promise<SocketOwner> {
    if (kind === 'JWT') return { caller: await userCaller(deps, request, any), ended: false };
    if (kind === 'API_KEY') return { caller: await apiKeyCaller(deps, request), ended: false };
    const caller = await sessionCaller(deps, request);
    const status = await deps.credentialStatus.session(caller, request.requester);
    return { caller, ended: status !== 'ACTIVE' };
  }

  return async (credentials, origin, options) => {
    const request = { credentials, origin, requester: { ...origin, ...options } };
    const [first, ...others] = await Promise.all(credentialKinds(credentials).map((kind) => ownerBy(kind, request)));
    return first && { ...first, ended: [first, ...others].some(({ ended }) => ended) };
  };
}

interface CredentialRequest {
  credentials: Credentials;
  origin: Origin;
  requester: StatusRequester;
}

const credentialNames: Record<CredentialKind, string> = {
  JWT: 'an access token',
  API_KEY: 'an API key',
  SESSION_TOKEN: 'an avatar token',
};

/** Returns the error for an unacceptable credential. The error names the accepted kinds of credentials. */
function unacceptable(credentials: Credentials, rules: FieldRule[]): DomainError {
  if (credentialKinds(credentials).length === 0) return unauthenticated();
  const kinds = (Object.keys(credentialNames) as CredentialKind[]).filter((kind) =>
    rules.every(({ by }) => by.includes(kind)),
  );
  if (kinds.length === 0) return unauthenticated('No one credential may use all of these operations together');
  return unauthenticated(`Sign in with ${kinds.map((kind) => credentialNames[kind]).join(' or ')}`);
}

function credentialKinds({ bearer, apiKey }: Credentials): CredentialKind[] {
  const kinds: CredentialKind[] = [];
  if (bearer) kinds.push(bearer.startsWith(sessionTokenPrefix) ? 'SESSION_TOKEN' : 'JWT');
  if (apiKey) kinds.push('API_KEY');
  return kinds;
}

async function userCaller(deps: CredentialDeps, request: CredentialRequest, rules: FieldRule[]): Promise<Caller> {
  const { credentials, origin } = request;
  credentials.verified ??= await deps.accessTokens.verify(credentials.bearer ?? '');
  const { signInId } = credentials.verified;
  const signIn = await deps.credentialStatus.signIn(signInId, request.requester);
  if (signIn.userSuspended) throw forbidden('This account is suspended', 'USER_SUSPENDED');
  if (signIn.limitedReason && !rules.every(({ whileLimited }) => whileLimited)) {
    throw forbidden('This sign-in is not complete yet', signIn.limitedReason);
  }
  if (signIn.tenantSuspended && !rules.every(({ whileSuspended }) => whileSuspended)) throw tenantSuspended();
  return {
    kind: 'user',
    userId: signIn.userId,
    displayName: signIn.displayName,
    signInId,
    tenantId: signIn.tenantId ?? null,
    ...origin,
  };
}

/** Accepts the token of an ended session: each operation decides what an ended session may still do. */
async function sessionCaller(deps: CredentialDeps, request: CredentialRequest): Promise<Caller & SessionKey> {
  const { credentials, origin } = request;
  const claims = credentials.session ?? deps.sessionTokens.verify(credentials.bearer, 'session');
  const { tenantId, sessionId } = claims;
  if (credentials.session && !(Date.now() < claims.expiresAt.getTime())) throw noSession();
  credentials.session = claims;
  const [tenant] = await Promise.all([
    deps.credentialStatus.tenant(tenantId, request.requester),
    deps.credentialStatus.session({ tenantId, sessionId }, request.requester),
  ]);
  if (tenant.deleted) throw noSession();
  if (tenant.suspended) throw tenantSuspended();
  return { kind: 'session', tenantId, sessionId, ...origin };
}

async function apiKeyCaller(deps: CredentialDeps, request: CredentialRequest): Promise<Caller> {
  const { credentials, origin } = request;
  const keySha256 = createHash('sha256')
    .update(credentials.apiKey ?? '')
    .digest();
  try {
    const {
      apiKeyId,
      tenantId,
      tenantSuspended: suspended,
    } = await deps.calls.queued(request.requester, () => deps.apiKeyOwner({ keySha256, requestId: origin.requestId }));
    if (suspended) throw tenantSuspended();
    return { kind: 'apiKey', apiKeyId, tenantId, ...origin };
  } catch (error) {
    if (isDomainError(error, 'notFound')) throw unauthenticated('Invalid API key');
    throw error;
  }
}

function tenantSuspended(): DomainError {
  return forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
}
