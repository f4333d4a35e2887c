import { createHash } from 'node:crypto';
import { type Caller, serviceCaller } from '@parley/chassis/caller';
import { type DomainError, forbidden, isDomainError, unauthenticated } from '@parley/chassis/errors';
import type { CredentialKind } from '@parley/chassis/graph/access';
import type { RpcClient } from '@parley/chassis/rpc/client';
import { type SessionTokens, sessionTokenPrefix } from '@parley/chassis/session-token';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { type FieldRule, type FieldRules, ruleOf } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { CredentialCalls } from './credential-calls.ts';
import type { Presented } from './presented.ts';
import { noSession, type SessionKey, type Standing, type StandingAsker } from './standing.ts';

export interface Origin {
  ip: string;
  requestId: string;
}

/** The one way from what a client shows to who is asking, for HTTP and socket alike. */
export interface Authenticate {
  /**
   * The caller of an operation that selects these root fields. One refused field refuses the whole operation. Credentials are
   * looked at only when a field needs one.
   * @param begun a part of the operation has run: it is not refused for how many calls of its client wait.
   * @throws DomainError `unauthenticated` or `forbidden`; as `CredentialCalls`.
   */
  (fields: RootField[], presented: Presented, origin: Origin, begun?: boolean): Promise<Caller>;
}

export interface CredentialPorts {
  rules: FieldRules;
  accessTokens: AccessTokens;
  sessionTokens: Pick<SessionTokens, 'verify'>;
  standing: Standing;
  identity: () => RpcClient<typeof IdentityServiceDefinition>;
  calls: CredentialCalls;
}

export function createAuthenticate(ports: CredentialPorts): Authenticate {
  return async (fields, presented, origin, begun = false) => {
    const closed = fields.flatMap((field) => {
      const rule = ruleOf(ports.rules, field);
      if (!rule) throw unauthenticated(); // not in the supergraph: validation has refused it before
      return rule.by.length > 0 ? [rule] : [];
    });
    if (closed.length === 0) return { kind: 'anonymous', tenantId: null, ...origin };

    const [kind] = kindsShown(presented).filter((shown) => closed.every(({ by }) => by.includes(shown)));
    if (kind === undefined) throw unauthenticated();
    const shown = { presented, origin, asker: { ...origin, begun } };
    if (kind === 'JWT') return userCaller(ports, shown, closed);
    return kind === 'API_KEY' ? apiKeyCaller(ports, shown) : sessionCaller(ports, shown);
  };
}

/** Whom a socket belongs to. */
export interface SocketOwner {
  caller: Caller;
  /** Its session has ended: the socket may end as well, once what is still on its way has arrived. */
  over: boolean;
}

export interface OwnerOfOptions {
  /** Whether the socket is open already, or asks to be. */
  purpose: 'newSocket' | 'openSocket';
  /** Aborts when nobody wants to know any more. */
  signal?: AbortSignal;
}

/**
 * Who a socket belongs to, whichever fields it will ask for: every credential that it shows must be good. Undefined when it
 * shows none.
 * @throws DomainError as `Authenticate`; what the signal aborted with.
 */
export type OwnerOf = (
  presented: Presented,
  origin: Origin,
  options: OwnerOfOptions,
) => Promise<SocketOwner | undefined>;

export function createOwnerOf(ports: CredentialPorts): OwnerOf {
  /** Nothing that is open to limited sign-ins or suspended tenants. */
  const any: FieldRule[] = [{ by: [] }];

  async function ownerBy(kind: CredentialKind, shown: Shown): Promise<SocketOwner> {
    if (kind === 'JWT') return { caller: await userCaller(ports, shown, any), over: false };
    if (kind === 'API_KEY') return { caller: await apiKeyCaller(ports, shown), over: false };
    const caller = await sessionCaller(ports, shown);
    const status = await ports.standing.session(caller, shown.asker);
    return { caller, over: status !== 'ACTIVE' };
  }

  return async (presented, origin, options) => {
    const shown = { presented, origin, asker: { ...origin, ...options } };
    const [first, ...others] = await Promise.all(kindsShown(presented).map((kind) => ownerBy(kind, shown)));
    return first && { ...first, over: [first, ...others].some(({ over }) => over) };
  };
}

/** What is shown, and by whom. */
interface Shown {
  presented: Presented;
  origin: Origin;
  asker: StandingAsker;
}

function kindsShown({ bearer, apiKey }: Presented): CredentialKind[] {
  const kinds: CredentialKind[] = [];
  if (bearer) kinds.push(bearer.startsWith(sessionTokenPrefix) ? 'SESSION_TOKEN' : 'JWT');
  if (apiKey) kinds.push('API_KEY');
  return kinds;
}

async function userCaller(ports: CredentialPorts, shown: Shown, asked: FieldRule[]): Promise<Caller> {
  const { presented, origin } = shown;
  presented.verified ??= await ports.accessTokens.verify(presented.bearer ?? '');
  const { signInId } = presented.verified;
  const signIn = await ports.standing.signIn(signInId, shown.asker);
  if (signIn.userSuspended) throw forbidden('This account is suspended', 'USER_SUSPENDED');
  if (signIn.limitedReason && !asked.every(({ whileLimited }) => whileLimited)) {
    throw forbidden('This sign-in is not complete yet', signIn.limitedReason);
  }
  if (signIn.tenantSuspended && !asked.every(({ whileSuspended }) => whileSuspended)) throw tenantSuspended();
  return {
    kind: 'user',
    userId: signIn.userId,
    displayName: signIn.displayName,
    signInId,
    tenantId: signIn.tenantId ?? null,
    ...origin,
  };
}

/**
 * A token of a session that has ended still says whose it is: what may be done with an ended session is for the operation to
 * say. One of a session that is not there, or whose tenant is gone, is worth nothing.
 */
async function sessionCaller(ports: CredentialPorts, shown: Shown): Promise<Caller & SessionKey> {
  const { presented, origin } = shown;
  const claims = presented.session ?? ports.sessionTokens.verify(presented.bearer, 'session');
  const { tenantId, sessionId } = claims;
  if (presented.session && !(Date.now() < claims.expiresAt.getTime())) throw noSession();
  presented.session = claims;
  const [tenant] = await Promise.all([
    ports.standing.tenant(tenantId, shown.asker),
    ports.standing.session({ tenantId, sessionId }, shown.asker),
  ]);
  if (tenant.deleted) throw noSession();
  if (tenant.suspended) throw tenantSuspended();
  return { kind: 'session', tenantId, sessionId, ...origin };
}

async function apiKeyCaller(ports: CredentialPorts, shown: Shown): Promise<Caller> {
  const { presented, origin } = shown;
  const caller = serviceCaller('gateway', null, origin.requestId);
  const keySha256 = createHash('sha256')
    .update(presented.apiKey ?? '')
    .digest();
  try {
    const {
      apiKeyId,
      tenantId,
      tenantSuspended: suspended,
    } = await ports.calls.inTurn(shown.asker, () =>
      ports.identity().resolveApiKey({ keySha256 }, { caller, passOn: ['notFound'] }),
    );
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
