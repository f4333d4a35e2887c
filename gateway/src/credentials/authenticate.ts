import { createHash } from 'node:crypto';
import type { Caller } from '@parley/chassis/caller';
import { type DomainError, forbidden, isDomainError, unauthenticated } from '@parley/chassis/errors';
import type { RpcClient } from '@parley/chassis/rpc/client';
import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { CredentialKind, FieldRules } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';
import type { AccessTokens } from './access-tokens.ts';
import { openWhileLimited, openWhileSuspended } from './open-fields.ts';
import type { Presented } from './presented.ts';
import type { SignIns } from './sign-ins.ts';

export interface Origin {
  ip: string;
  requestId: string;
}

/** The one way from what a client shows to who is asking, for HTTP and socket alike. */
export interface Authenticate {
  /**
   * The caller of an operation that selects these root fields. One refused field refuses the whole operation. Credentials are
   * looked at only when a field needs one.
   * @throws DomainError `unauthenticated` or `forbidden`.
   */
  (fields: RootField[], presented: Presented, origin: Origin): Promise<Caller>;
}

export interface CredentialPorts {
  rules: FieldRules;
  accessTokens: AccessTokens;
  signIns: SignIns;
  identity: () => RpcClient<typeof IdentityServiceDefinition>;
}

export function createAuthenticate(ports: CredentialPorts): Authenticate {
  return async (fields, presented, origin) => {
    const needs = fields.flatMap(({ type, name }) => {
      const rule = ports.rules.get(`${type}.${name}`);
      if (!rule) throw unauthenticated(); // not in the supergraph: validation has refused it before
      return rule.by.length > 0 ? [rule.by] : [];
    });
    if (needs.length === 0) return { kind: 'anonymous', tenantId: null, ...origin };

    const shown = kindsShown(presented).filter((kind) => needs.every((by) => by.includes(kind)));
    if (shown.length === 0) throw unauthenticated();
    return asCaller(ports, shown[0] as CredentialKind, presented, origin, fields);
  };
}

/**
 * Who a socket belongs to, whichever fields it will ask for: every credential that it shows must be good. Undefined when it
 * shows none.
 * @throws DomainError as `Authenticate`.
 */
export function createOwnerOf(ports: CredentialPorts) {
  return async (presented: Presented, origin: Origin): Promise<Caller | undefined> => {
    const any: RootField[] = [{ type: 'Subscription', name: '' }];
    const shown = kindsShown(presented).map((kind) => asCaller(ports, kind, presented, origin, any));
    return (await Promise.all(shown))[0];
  };
}

function kindsShown({ bearer, apiKey }: Presented): CredentialKind[] {
  const kinds: CredentialKind[] = [];
  if (bearer) kinds.push(bearer.startsWith('pst1.') ? 'SESSION_TOKEN' : 'JWT');
  if (apiKey) kinds.push('API_KEY');
  return kinds;
}

function asCaller(
  ports: CredentialPorts,
  kind: CredentialKind,
  presented: Presented,
  origin: Origin,
  fields: RootField[],
): Promise<Caller> {
  if (kind === 'JWT') return userCaller(ports, presented, origin, fields);
  if (kind === 'API_KEY') return apiKeyCaller(ports, presented.apiKey ?? '', origin);
  // No operation hands out session tokens yet; whatever is shown is none of ours.
  return Promise.reject(unauthenticated('Invalid or expired avatar token'));
}

async function userCaller(
  ports: CredentialPorts,
  presented: Presented,
  origin: Origin,
  fields: RootField[],
): Promise<Caller> {
  presented.verified ??= await ports.accessTokens.verify(presented.bearer ?? '');
  const { signInId } = presented.verified;
  const signIn = await ports.signIns.resolve(signInId, origin.requestId);
  if (signIn.userSuspended) throw forbidden('This account is suspended', 'USER_SUSPENDED');
  if (signIn.limitedReason && !fields.every(openWhileLimited)) {
    throw forbidden('This sign-in is not complete yet', signIn.limitedReason);
  }
  if (signIn.tenantSuspended && !fields.every(openWhileSuspended)) throw tenantSuspended();
  return {
    kind: 'user',
    userId: signIn.userId,
    displayName: signIn.displayName,
    signInId,
    tenantId: signIn.tenantId ?? null,
    ...origin,
  };
}

async function apiKeyCaller(ports: CredentialPorts, key: string, origin: Origin): Promise<Caller> {
  const caller: Caller = { kind: 'service', service: 'gateway', tenantId: null, requestId: origin.requestId };
  const keySha256 = createHash('sha256').update(key).digest();
  try {
    const {
      apiKeyId,
      tenantId,
      tenantSuspended: suspended,
    } = await ports.identity().resolveApiKey({ keySha256 }, { caller, passOn: ['notFound'] });
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
