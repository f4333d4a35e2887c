import type { Caller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { OwnerOf, OwnerOfOptions, SocketOwner } from '../credentials/authenticate.ts';
import type { CredentialStatus } from '../credentials/credential-status.ts';
import type { Credentials, Origin } from '../credentials/credentials.ts';
import { rateLimitedWarning } from './rate-limited-warning.ts';

export interface OpenSocket {
  /** An access token is verified only once; the socket then stays open as long as the sign-in is valid. */
  credentials: Credentials;
  origin: Origin;
  refuse(): void;
}

/** `unavailable`: the credential cannot be checked now, so the client may retry. */
export type Admission = 'admitted' | 'refused' | 'unavailable';

export interface OpenSockets {
  admit(socket: OpenSocket): Promise<Admission>;
  drop(socket: OpenSocket): void;
  /** Checks the sockets that a change affects; undefined means all. */
  recheck(changed: CredentialsChanged | undefined): void;
  stop(): void;
}

export interface OpenSocketsOptions {
  ownerOf: OwnerOf;
  credentialStatus: Pick<CredentialStatus, 'refresh'>;
  maxAgeMs: number;
  /** Maximum age in ms of a socket without a credential. Such a socket is useless, because every subscription requires a credential. */
  anonymousMaxAgeMs: number;
  log: Logger;
}

interface SocketEntry {
  socket: OpenSocket;
  openedAtMs: number;
  /** Undefined for a socket without credentials, and before the first check. */
  owner?: Caller | undefined;
  credential?: SharedCredential;
  /** Whether a change that may affect this socket arrived while it was being admitted. */
  isStale: boolean;
  removed: AbortController;
  closing?: NodeJS.Timeout;
}

/** Sockets with the same credential, which share one check at a time. */
interface SharedCredential {
  key: string;
  holders: Set<SocketEntry>;
  /** Set during a check. `repeat` is set if a change arrives during the check. */
  check?: { repeat: boolean } | undefined;
  removed: AbortController;
}

type CheckResult = { owner: SocketOwner | undefined } | 'refused' | 'unavailable';

/** Bounds how long a revoked socket stays open if an announcement is lost. */
const sweepMs = 500;

/** Delays the close after a session ends, so that its last events arrive. */
const closeDelayMs = 300;

export function openSockets({
  ownerOf,
  credentialStatus,
  maxAgeMs,
  anonymousMaxAgeMs,
  log,
}: OpenSocketsOptions): OpenSockets {
  const open = new Map<OpenSocket, SocketEntry>();
  const sharedCredentials = new Map<string, SharedCredential>();
  const warnUnavailable = rateLimitedWarning(log, 'socket credential check failed; will retry');

  async function checkOnce(
    { credentials, origin }: OpenSocket,
    options: Required<OwnerOfOptions>,
  ): Promise<CheckResult> {
    try {
      return { owner: await ownerOf(credentials, origin, options) };
    } catch (error) {
      if (isDomainError(error, 'unauthenticated') || isDomainError(error, 'forbidden')) return 'refused';
      // Only a clear refusal closes a socket. While identity is unavailable, the next sweep tries again.
      if (!options.signal.aborted) warnUnavailable(error);
      return 'unavailable';
    }
  }

  function remove(entry: SocketEntry): void {
    const { socket, credential } = entry;
    if (!open.delete(socket)) return;
    clearTimeout(entry.closing);
    entry.removed.abort();
    credential?.holders.delete(entry);
    if (credential?.holders.size !== 0) return;
    sharedCredentials.delete(credential.key);
    credential.removed.abort();
  }

  function refuse(entry: SocketEntry): void {
    remove(entry);
    entry.socket.refuse();
  }

  function shareCredential(entry: SocketEntry, owner: Caller): SharedCredential {
    const key = keyOf(entry, owner);
    const credential = sharedCredentials.get(key) ?? { key, holders: new Set(), removed: new AbortController() };
    sharedCredentials.set(key, credential);
    entry.credential = credential;
    credential.holders.add(entry);
    return credential;
  }

  function apply(result: CheckResult, entry: SocketEntry): void {
    if (result === 'unavailable' || !open.has(entry.socket)) return;
    const before = entry.owner?.tenantId ?? null;
    const owner = result === 'refused' ? undefined : result.owner;
    entry.owner = owner?.caller;
    // A switch to another tenant closes the sockets of the previous tenant.
    if (!owner || (!owner.ended && before !== null && before !== owner.caller.tenantId)) refuse(entry);
    else if (owner.ended) entry.closing ??= setTimeout(() => refuse(entry), closeDelayMs).unref();
  }

  async function checkCredential(credential: SharedCredential): Promise<void> {
    const { holders, removed } = credential;
    const check = { repeat: true };
    credential.check = check;
    try {
      while (check.repeat) {
        check.repeat = false;
        const asked = [...holders]; // sockets that join during the check have a newer result
        const [first] = asked;
        if (!first) return;
        const result = await checkOnce(first.socket, { purpose: 'openSocket', signal: removed.signal });
        for (const entry of asked) apply(result, entry);
      }
    } catch (error) {
      log.error({ err: error }, 'socket check failed');
    } finally {
      credential.check = undefined;
    }
  }

  function sweep(): void {
    const now = performance.now();
    for (const entry of open.values()) {
      const lifetimeMs = hasCredential(entry.socket) ? maxAgeMs : Math.min(anonymousMaxAgeMs, maxAgeMs);
      if (now - entry.openedAtMs >= lifetimeMs) refuse(entry);
    }
    const due = [...sharedCredentials.values()].filter(({ check }) => !check);
    credentialStatus.refresh(
      due.flatMap(({ holders: [first] }) => first?.owner ?? []),
      'open sockets',
    );
    for (const credential of due) void checkCredential(credential);
  }

  const timer = setInterval(() => {
    try {
      if (open.size > 0) sweep();
    } catch (error) {
      log.error({ err: error }, 'socket check failed');
    }
  }, sweepMs).unref();

  return {
    async admit(socket) {
      const entry: SocketEntry = {
        socket,
        openedAtMs: performance.now(),
        isStale: false,
        removed: new AbortController(),
      };
      open.set(socket, entry); // added before the check, so that no change is missed
      const options = { purpose: 'newSocket', signal: entry.removed.signal } as const;
      let result = await checkOnce(socket, options);
      if (entry.isStale && isValid(result)) {
        entry.owner = result.owner?.caller;
        entry.isStale = false;
        result = await checkOnce(socket, options);
      }
      if (!open.has(socket)) return 'unavailable';
      // An ended session closes its open socket after a delay, but admits no new one.
      if (!isValid(result) || result.owner?.ended) {
        remove(entry);
        return result === 'unavailable' ? 'unavailable' : 'refused';
      }
      entry.owner = result.owner?.caller;
      if (!entry.owner) return 'admitted';
      const credential = shareCredential(entry, entry.owner);
      if (entry.isStale) scheduleCheck(credential);
      return 'admitted';
    },
    drop(socket) {
      const entry = open.get(socket);
      if (entry) remove(entry);
    },
    recheck(changed) {
      const affected = new Set<SharedCredential>();
      for (const entry of open.values()) {
        if (!isAffected(changed, entry)) continue;
        if (entry.credential) affected.add(entry.credential);
        else entry.isStale = true;
      }
      for (const credential of affected) scheduleCheck(credential);
    },
    stop: () => clearInterval(timer),
  };

  function scheduleCheck(credential: SharedCredential): void {
    if (credential.check) credential.check.repeat = true;
    else void checkCredential(credential);
  }
}

function isValid(result: CheckResult): result is Exclude<CheckResult, string> {
  return typeof result !== 'string';
}

/**
 * Returns the key of the shared credential. All access tokens of a sign-in have the same key. Each session token has its own key, because
 * it expires individually.
 */
function keyOf({ socket: { credentials } }: SocketEntry, owner: Caller): string {
  const first = `${owner.kind} ${owner.kind === 'session' ? credentials.bearer : (owner.signInId ?? owner.apiKeyId)}`;
  return credentials.bearer && credentials.apiKey ? `${first} ${credentials.apiKey}` : first;
}

function hasCredential({ credentials }: OpenSocket): boolean {
  return Boolean(credentials.bearer ?? credentials.apiKey);
}

function isAffected(changed: CredentialsChanged | undefined, { socket, owner }: SocketEntry): boolean {
  if (!hasCredential(socket)) return false;
  if (!owner || !changed?.whose) return true;
  const { $case, value } = changed.whose;
  if ($case === 'signInId') return owner.signInId === value;
  if ($case === 'userId') return owner.userId === value;
  return $case === 'sessionId' ? owner.sessionId === value : owner.tenantId === value;
}
