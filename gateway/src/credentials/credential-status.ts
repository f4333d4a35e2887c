import { type Caller, serviceCaller } from '@parley/kernel/caller';
import { isDomainError, unauthenticated } from '@parley/kernel/errors';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type {
  GetTenantResponse,
  IdentityServiceDefinition,
  ResolveSignInResponse,
} from '@parley/protos/parley/identity/v1/identity';
import type { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { RpcClient } from '@parley/rpc/client';
import { type AnswerCache, answerCache } from './answer-cache.ts';
import type { CredentialCalls, Requester } from './credential-calls.ts';
import type { Origin } from './credentials.ts';

/** The current status of sign-ins, sessions and tenants, at most a second old. */
export interface CredentialStatus {
  /**
   * Returns the status of a sign-in.
   * @throws DomainError `unauthenticated` if it is revoked or unknown; the errors of `CredentialCalls`
   */
  signIn(signInId: string, requester: StatusRequester): Promise<ResolveSignInResponse>;
  /**
   * Returns the status of a session, as the contract's `SessionStatus`.
   * @throws the same DomainErrors as `tenant`.
   */
  session(session: SessionKey, requester: StatusRequester): Promise<string>;
  /** Returns the status of a tenant. @throws DomainError `unauthenticated` if it is unknown; the errors of `CredentialCalls` */
  tenant(tenantId: number, requester: StatusRequester): Promise<TenantStatus>;
  /** Requests the status of all these callers again, in batches. */
  refresh(callers: Iterable<Caller>, requestId: string): void;
  /** Drops the cached status that a change affects. If the change is undefined, drops everything. */
  invalidate(changed: CredentialsChanged | undefined): void;
}

export interface SessionKey {
  tenantId: number;
  sessionId: number;
}

export type StatusRequester = Requester & Pick<Origin, 'requestId'>;

export type TenantStatus = Pick<GetTenantResponse, 'suspended' | 'deleted'>;

export interface CredentialStatusDeps {
  identity: () => RpcClient<typeof IdentityServiceDefinition>;
  session: () => RpcClient<typeof SessionServiceDefinition>;
  calls: CredentialCalls;
}

const maxBatchSize = 1_000;

export function createCredentialStatus({ identity, session, calls }: CredentialStatusDeps): CredentialStatus {
  const signIns = answerCache<ResolveSignInResponse>();
  const sessions = answerCache<string>();
  const tenants = answerCache<TenantStatus>();

  async function askSignIn(signInId: string, requestId: string): Promise<ResolveSignInResponse> {
    const caller = serviceCaller('gateway', null, requestId);
    try {
      return await identity().resolveSignIn({ signInId }, { caller, expectedErrors: ['notFound'] });
    } catch (error) {
      if (isDomainError(error, 'notFound')) throw noSignIn();
      throw error;
    }
  }

  async function askSignIns(signInIds: string[], requestId: string): Promise<Map<string, ResolveSignInResponse>> {
    const caller = serviceCaller('gateway', null, requestId);
    const answer = await identity().resolveSignIns({ signInIds }, { caller });
    return new Map(answer.signIns.flatMap(({ signInId, state }) => (state ? [[signInId, state]] : [])));
  }

  async function askSessions(tenantId: number, sessionIds: number[], requestId: string): Promise<Map<string, string>> {
    const caller = serviceCaller('gateway', tenantId, requestId);
    const answer = await session().resolveSessions({ sessionIds }, { caller });
    return new Map(answer.sessions.map(({ sessionId, status }) => [keyOf({ tenantId, sessionId }), status]));
  }

  async function askTenant(tenantId: number, requestId: string): Promise<TenantStatus> {
    const caller = serviceCaller('gateway', null, requestId);
    try {
      return await identity().getTenant({ tenantId }, { caller, expectedErrors: ['notFound'] });
    } catch (error) {
      if (isDomainError(error, 'notFound')) throw noSession();
      throw error;
    }
  }

  /** Only lookups that miss the cache are queued. Each client waits in its own queue, even if several clients need the same answer. */
  function known<Value>(
    answers: AnswerCache<Value>,
    key: string,
    requester: Requester,
    ask: () => Promise<Value>,
  ): Promise<Value> {
    return answers.find(key) ?? calls.queued(requester, () => answers.get(key, ask));
  }

  return {
    signIn: (signInId, requester) =>
      known(signIns, signInId, requester, () => askSignIn(signInId, requester.requestId)),
    session: (key, requester) =>
      known(sessions, keyOf(key), requester, async () => {
        const status = (await askSessions(key.tenantId, [key.sessionId], requester.requestId)).get(keyOf(key));
        if (status === undefined) throw noSession();
        return status;
      }),
    tenant: (tenantId, requester) =>
      known(tenants, String(tenantId), requester, () => askTenant(tenantId, requester.requestId)),

    refresh(callers, requestId) {
      const signInIds = new Set<string>();
      const sessionIds = new Map<number, Set<number>>();
      for (const { kind, signInId, tenantId, sessionId } of callers) {
        if (kind === 'user' && signInId !== undefined) signInIds.add(signInId);
        if (kind !== 'session' || tenantId === null || sessionId === undefined) continue;
        const ofTenant = sessionIds.get(tenantId) ?? new Set();
        sessionIds.set(tenantId, ofTenant.add(sessionId));
      }
      for (const ids of chunks(signInIds)) {
        setAll(signIns, ids, askSignIns(ids, requestId), noSignIn);
      }
      for (const [tenantId, ids] of sessionIds) {
        tenants.set(String(tenantId), askTenant(tenantId, requestId));
        for (const some of chunks(ids)) {
          const keys = some.map((sessionId) => keyOf({ tenantId, sessionId }));
          setAll(sessions, keys, askSessions(tenantId, some, requestId), noSession);
        }
      }
    },

    invalidate(changed) {
      if (!changed?.whose) {
        signIns.invalidate();
        sessions.invalidate();
        tenants.invalidate();
        return;
      }
      const { $case, value } = changed.whose;
      if ($case === 'signInId') signIns.invalidate((_signIn, signInId) => signInId === value);
      else if ($case === 'userId') signIns.invalidate(({ userId }) => userId === value);
      else if ($case === 'sessionId') sessions.invalidate((_status, key) => key.endsWith(`:${value}`));
      else {
        signIns.invalidate(({ tenantId }) => tenantId === value);
        sessions.invalidate((_status, key) => key.startsWith(`${value}:`));
        tenants.invalidate((_tenant, tenantId) => tenantId === String(value));
      }
    },
  };
}

/** Returns the same error for every defect of a session token, so that the error reveals nothing. */
export function noSession() {
  return unauthenticated('Invalid or expired avatar token');
}

function noSignIn() {
  return unauthenticated('Invalid or expired access token');
}

function keyOf({ tenantId, sessionId }: SessionKey): string {
  return `${tenantId}:${sessionId}`;
}

function chunks<T>(items: Iterable<T>): T[][] {
  const all = [...items];
  return Array.from({ length: Math.ceil(all.length / maxBatchSize) }, (_, n) =>
    all.slice(n * maxBatchSize, (n + 1) * maxBatchSize),
  );
}

function setAll<Value>(
  into: AnswerCache<Value>,
  keys: string[],
  asked: Promise<Map<string, Value>>,
  absent: () => Error,
): void {
  for (const key of keys) {
    into.set(
      key,
      asked.then((answers) => {
        const answer = answers.get(key);
        if (answer === undefined) throw absent();
        return answer;
      }),
    );
  }
}
